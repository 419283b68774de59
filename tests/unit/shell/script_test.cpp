#include "shell/script.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "shell/commands.h"
#include "shell/printer.h"
#include "tests/unit/shell/text_file.h"

namespace berth {
namespace {

using test::TextFile;

// A table with statements that succeed, fail, are busy or find something.
Result<Output> succeed(Session&, const Arguments& arguments) {
  ResultTable table{"", {{"said"}}, {{arguments.text("word")}}};
  return Output(std::move(table));
}
Result<Output> fail_here(Session&, const Arguments& arguments) {
  return arguments.fail("word", Code::kNotFound, "no such word");
}
Result<Output> be_busy(Session&, const Arguments&) { return Status(Code::kBusy, "somebody holds it"); }
Result<Output> find_something(Session&, const Arguments&) {
  Output output = Output::note("look here");
  output.findings = true;
  return output;
}
Result<Output> stop(Session& session, const Arguments&) {
  session.quit = true;
  return Output();
}
constexpr CommandRow kRows[] = {
    {.family = "t", .syntax = "SAY <word:new_name>", .handler = succeed, .summary = "Says.", .example = "SAY a"},
    {.family = "t", .syntax = "FAIL <word:new_name>", .handler = fail_here, .summary = "Fails.", .example = "FAIL a"},
    {.family = "t", .syntax = "BUSY", .handler = be_busy, .summary = "Is busy.", .example = "BUSY"},
    {.family = "t", .syntax = "FIND", .handler = find_something, .summary = "Finds.", .example = "FIND"},
    {.family = "t",
     .syntax = "QUIT",
     .effect = Effect::kTerminal,
     .handler = stop,
     .summary = "Quits.",
     .example = "QUIT"},
    {.family = "t",
     .syntax = "DROP",
     .effect = Effect::kChanges,
     .handler = stop,
     .summary = "Drops.",
     .example = "DROP",
     .ask = ask_always},
};

class ScriptTest : public testing::Test {
 protected:
  void SetUp() override {
    session_.display.mode = OutputMode::kCsv;
    session_.commands = &table_;
    session_.printer = &printer_;
  }
  ExitCode run(std::string_view text) { return run_script(session_, text, ""); }

  TextFile data_;
  TextFile messages_;
  std::span<const CommandRow> families_[1] = {kRows};
  CommandTable table_ = *CommandTable::build(families_);
  Printer printer_{data_.stream(), messages_.stream()};
  Session session_;
};

TEST_F(ScriptTest, RunsStatementsInOrderAlsoTheLastWithoutSemicolon) {
  EXPECT_EQ(run("SAY a; SAY b;\nSAY c"), ExitCode::kDone);
  EXPECT_EQ(data_.text(), "said\na\nsaid\nb\nsaid\nc\n");
  EXPECT_EQ(messages_.text(), "");
}

TEST_F(ScriptTest, StopsAtTheFirstErrorAndTellsItsLine) {
  EXPECT_EQ(run("SAY a;\n\nFAIL b; SAY c;"), ExitCode::kFailed);
  EXPECT_EQ(data_.text(), "said\na\n");
  EXPECT_EQ(messages_.text(), "error: no such word (line 3)\n  FAIL b; SAY c;\n       ^\n");
}

TEST_F(ScriptTest, KeepsGoingWhenToldButRemembersTheFailure) {
  session_.keep_going = true;
  EXPECT_EQ(run("BUSY; SAY a; FAIL b; SAY c"), ExitCode::kBusy);
  EXPECT_EQ(data_.text(), "said\na\nsaid\nc\n");
}

TEST_F(ScriptTest, ExitCodes) {
  EXPECT_EQ(run("BUSY"), ExitCode::kBusy);
  EXPECT_EQ(run("FIND; SAY a"), ExitCode::kFindings);
  EXPECT_EQ(run("FIND; FAIL a"), ExitCode::kFailed);
  EXPECT_EQ(run("SAY 'a"), ExitCode::kFailed);
  EXPECT_EQ(run(""), ExitCode::kDone);
  EXPECT_EQ(run("-- nothing"), ExitCode::kDone);
}

TEST_F(ScriptTest, QuitEndsIt) {
  EXPECT_EQ(run("SAY a; QUIT; SAY b"), ExitCode::kDone);
  EXPECT_EQ(data_.text(), "said\na\n");
}

TEST_F(ScriptTest, StatementsRunAsSoonAsTheyAreComplete) {
  Script script(session_, "", true);
  script.feed("SAY a; SA");
  EXPECT_EQ(data_.text(), "");  // a line is awaited: it might go on
  script.feed("Y b;\nFAIL\n");
  EXPECT_EQ(data_.text(), "said\na\nsaid\nb\n");
  script.feed("\n c;\n");
  EXPECT_TRUE(script.stopped());
  EXPECT_EQ(script.finish(), ExitCode::kFailed);
  EXPECT_EQ(messages_.text(), "error: no such word (line 4)\n   c;\n   ^\n");
}

TEST_F(ScriptTest, AsksBeforeDestructiveStatements) {
  std::string asked;
  session_.confirm = [&](std::string_view question) {
    asked = question;
    return false;
  };
  EXPECT_EQ(run("DROP"), ExitCode::kFailed);
  EXPECT_EQ(asked, "DROP: go ahead?");
  EXPECT_FALSE(session_.quit);
  session_.confirm = nullptr;
  EXPECT_EQ(run("DROP"), ExitCode::kDone);
  EXPECT_TRUE(session_.quit);
}

TEST_F(ScriptTest, FilesAreNamedInErrors) {
  const std::string file =
      std::filesystem::temp_directory_path() / ("berth_script_" + std::to_string(getpid()) + ".sql");
  std::ofstream(file) << "SAY a;\nFAIL x;\n";
  const Result<ExitCode> code = run_script_file(session_, file);
  std::filesystem::remove(file);
  ASSERT_TRUE(code.ok());
  EXPECT_EQ(*code, ExitCode::kFailed);
  EXPECT_TRUE(messages_.text().starts_with("error: no such word (" + file + ", line 2)\n")) << messages_.text();
  EXPECT_EQ(run_script_file(session_, file).status().code(), Code::kUnavailable);
  EXPECT_EQ(run_script_file(session_, "/").status().code(), Code::kUnavailable);
}

TEST_F(ScriptTest, WritingToAFullDeviceFails) {
  std::FILE* full = std::fopen("/dev/full", "w");
  if (full == nullptr) GTEST_SKIP() << "no /dev/full here";
  Printer printer(full, messages_.stream());
  session_.printer = &printer;
  EXPECT_EQ(run("SAY a"), ExitCode::kFailed);
  EXPECT_NE(messages_.text().find("cannot write to standard output"), std::string::npos);
  std::fclose(full);
}

}  // namespace
}  // namespace berth
