// Promises about the real command table: what every row must have, and that no two rows take the same statement.
#include <gtest/gtest.h>

#include <cctype>

#include "shell/families.h"
#include "shell/help.h"
#include "shell/render.h"

namespace berth {
namespace {

TEST(CommandTable, EveryRowIsComplete) {
  const Result<CommandTable> table = CommandTable::build(all_families());
  ASSERT_TRUE(table.ok()) << table.status().message();
  for (const CommandRow* row : table->rows()) {
    SCOPED_TRACE(row->syntax);
    EXPECT_NE(row->handler, nullptr);
    EXPECT_FALSE(row->family.empty());
    ASSERT_FALSE(row->summary.empty());
    EXPECT_EQ(row->summary.back(), '.');
    EXPECT_TRUE(std::isupper(static_cast<unsigned char>(row->summary.front())));
    EXPECT_EQ(row->example.find(';'), std::string_view::npos) << "an example is one statement without `;`";
    for (const OptionRow& option : row->options) {
      EXPECT_FALSE(option.sentence.empty()) << option.name;
      if (!option.sentence.empty()) {
        EXPECT_EQ(option.sentence.back(), '.') << option.name;
      }
    }
  }
}

TEST(CommandTable, EveryExampleIsTakenByItsRow) {
  for (const CommandRow* row : command_table().rows()) {
    const Result<CommandTable::Call> call = command_table().parse(row->example);
    ASSERT_TRUE(call.ok()) << row->example << ": " << call.status().message();
    EXPECT_EQ(call->row->syntax, row->syntax) << row->example;
  }
}

TEST(CommandTable, HelpListsEachFamilyOnce) {
  const std::string text = "\n" + render(help_overview(command_table(), 100), Display{});
  for (const CommandRow* row : command_table().listed_rows()) {
    const std::string line = "\n" + std::string(row->family) + "\n";
    const std::size_t first = text.find(line);
    ASSERT_NE(first, std::string::npos) << row->family;
    EXPECT_EQ(text.find(line, first + 1), std::string::npos) << row->family;
  }
}

TEST(CommandTable, NoTwoRowsTakeTheSameStatement) {
  const int count = static_cast<int>(command_table().rows().size());
  for (int a = 0; a < count; ++a) {
    for (int b = a + 1; b < count; ++b) {
      EXPECT_FALSE(command_table().grammar().rows_overlap(a, b))
          << command_table().rows()[static_cast<std::size_t>(a)]->syntax << "\n"
          << command_table().rows()[static_cast<std::size_t>(b)]->syntax;
    }
  }
}

TEST(CommandTable, EveryRowHasHelp) {
  Session session;
  for (const CommandRow* row : command_table().rows()) {
    const std::string first(row->example.substr(0, row->example.find(' ')));
    const Result<Output> output = execute(session, "HELP " + first);
    ASSERT_TRUE(output.ok()) << row->example << ": " << output.status().message();
    EXPECT_FALSE(output->parts.empty());
  }
}

TEST(CommandTable, KindsAreWordedForSentences) {
  for (const KindRow& kind : all_kinds()) {
    EXPECT_FALSE(kind.expected.empty()) << kind.name;
    EXPECT_FALSE(kind.sentence.empty()) << kind.name;
    EXPECT_EQ(find_kind(kind.name), &kind) << "twice: " << kind.name;
  }
}

TEST(CommandTable, AReadOnlySessionRefusesChanges) {
  for (const CommandRow* row : command_table().rows()) {
    if (row->effect != Effect::kChanges) continue;
    Session session;
    session.read_only = true;
    const Result<Output> output = execute(session, row->example);
    ASSERT_FALSE(output.ok()) << row->example;
    EXPECT_EQ(output.status().code(), Code::kConflict) << row->example;
  }
}

}  // namespace
}  // namespace berth
