#include "shell/printer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "shell/commands.h"
#include "shell/pager.h"
#include "tests/unit/shell/text_file.h"

namespace berth {
namespace {

using test::TextFile;

std::string read_text(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

TEST(Printer, DataAndNotesGoApart) {
  TextFile data;
  TextFile messages;
  Printer printer(data.stream(), messages.stream());
  Output output(ResultTable{"", {{"a"}}, {{1}}});
  output.add_note("done");
  Display display;
  display.mode = OutputMode::kCsv;
  ASSERT_TRUE(printer.show(output, display).ok());
  EXPECT_EQ(data.text(), "a\n1\n");
  EXPECT_EQ(messages.text(), "done\n");
}

TEST(Printer, NotesMoveNoCursor) {
  TextFile data;
  TextFile messages;
  Printer printer(data.stream(), messages.stream());
  ASSERT_TRUE(printer.show(Output::note("queue 'a\x1b[2J\u200b' dropped\nand more"), Display()).ok());
  EXPECT_EQ(messages.text(), "queue 'a\\x1b[2J\\u200b' dropped\nand more\n");
}

// A row too long would be read beyond the columns, one too short beyond itself: no mode gets either.
TEST(Printer, ATableWithRowsOfAnotherLengthIsAnError) {
  for (const std::vector<Cell>& row : {std::vector<Cell>{1}, {1, 2, 3}, {}}) {
    for (const OutputMode mode : {OutputMode::kTable, OutputMode::kCsv, OutputMode::kJson, OutputMode::kJsonl,
                                  OutputMode::kMarkdown, OutputMode::kLine}) {
      TextFile data;
      TextFile messages;
      Printer printer(data.stream(), messages.stream());
      Display display;
      display.mode = mode;
      const Output output(ResultTable{"", {{"a"}, {"b"}}, {{1, 2}, row}});
      EXPECT_EQ(printer.show(output, display).code(), Code::kInternal);
      EXPECT_EQ(data.text(), "");
    }
  }
}

TEST(Printer, RedirectsDataToAFileWithoutColourOrWidth) {
  const std::string file =
      std::filesystem::temp_directory_path() / ("berth_printer_" + std::to_string(getpid()) + ".txt");
  TextFile data;
  TextFile messages;
  Printer printer(data.stream(), messages.stream());
  Display display;
  display.color = true;
  display.width = 10;
  const Output output(ResultTable{"", {{"a"}}, {{std::string(20, 'x')}}});
  ASSERT_TRUE(printer.redirect(file).ok());
  ASSERT_TRUE(printer.show(output, display).ok());
  ASSERT_TRUE(printer.redirect("stdout").ok());
  EXPECT_EQ(read_text(file), "a\n────────────────────\nxxxxxxxxxxxxxxxxxxxx\n");
  std::filesystem::remove(file);
  EXPECT_EQ(data.text(), "");
  EXPECT_EQ(printer.redirect("/nonexistent/x").code(), Code::kUnavailable);
}

TEST(Printer, DotCommandsSetTheSession) {
  TextFile data;
  TextFile messages;
  Printer printer(data.stream(), messages.stream());
  Session session;
  session.printer = &printer;
  EXPECT_TRUE(execute(session, ".mode jsonl").ok());
  EXPECT_EQ(session.display.mode, OutputMode::kJsonl);
  EXPECT_TRUE(execute(session, ".timer on").ok());
  EXPECT_TRUE(session.display.timer);
  EXPECT_TRUE(execute(session, ".width 5 0 7").ok());
  EXPECT_EQ(session.display.column_widths, (std::vector<int>{5, 0, 7}));
  EXPECT_FALSE(execute(session, ".width -1").ok());
  EXPECT_TRUE(execute(session, ".nullvalue 'a b'").ok());
  EXPECT_EQ(session.display.null_text, "a b");
  EXPECT_TRUE(execute(session, ".width").ok());
  EXPECT_TRUE(session.display.column_widths.empty());
  EXPECT_TRUE(execute(session, ".quit").ok());
  EXPECT_TRUE(session.quit);
}

TEST(Printer, FilesThatReadThemselvesEnd) {
  const std::string file = std::filesystem::temp_directory_path() / ("berth_loop_" + std::to_string(getpid()) + ".sql");
  std::ofstream(file) << ".read " << file << "\n";
  TextFile data;
  TextFile messages;
  Printer printer(data.stream(), messages.stream());
  Session session;
  session.printer = &printer;
  const Result<Output> output = execute(session, ".read " + file);
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->failed, Code::kConflict);
  const std::size_t told = messages.text().find("error:");
  EXPECT_NE(messages.text().find("nested more than 16 deep"), std::string::npos);
  EXPECT_EQ(messages.text().find("error:", told + 1), std::string::npos) << "told once: " << messages.text();
  EXPECT_EQ(session.read_depth, 0);
  std::filesystem::remove(file);
}

TEST(Pager, IsForTextLongerThanTheScreen) {
  EXPECT_FALSE(needs_pager("a\nb\n", 80, 0));
  EXPECT_FALSE(needs_pager("a\nb\n", 80, 3));
  EXPECT_TRUE(needs_pager("a\nb\n", 80, 2));
  EXPECT_TRUE(needs_pager(std::string(200, 'x') + "\n", 80, 3));
  EXPECT_FALSE(needs_pager("\x1b[1m" + std::string(70, 'x') + "\x1b[0m\n", 72, 2));
}

}  // namespace
}  // namespace berth
