#include "shell/command_line.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

using Words = std::vector<std::string>;

TEST(CommandLine, ReadsOptionsAndInputs) {
  const Result<CommandLine> line = read_command_line(
      {"--db", "x.db", "--mode=csv", "--read-only", "--keep-going", "-c", "SHOW NODES", "file.sql", "-"});
  ASSERT_TRUE(line.ok()) << line.status().message();
  EXPECT_EQ(line->database, "x.db");
  EXPECT_EQ(line->mode, OutputMode::kCsv);
  EXPECT_TRUE(line->read_only);
  EXPECT_TRUE(line->keep_going);
  ASSERT_EQ(line->inputs.size(), 3U);
  EXPECT_EQ(line->inputs[0].text, "SHOW NODES");
  EXPECT_EQ(line->inputs[1].kind, CommandLine::InputKind::kFile);
  EXPECT_EQ(line->inputs[2].kind, CommandLine::InputKind::kStandardInput);
}

TEST(CommandLine, AScriptTakesAllThatFollows) {
  const Result<CommandLine> line =
      read_command_line({"-c", "SHOW NODES", "--script", "night.lua", "--db", "days=30", "-"});
  ASSERT_TRUE(line.ok()) << line.status().message();
  ASSERT_EQ(line->inputs.size(), 2U);
  EXPECT_EQ(line->inputs[1].kind, CommandLine::InputKind::kScript);
  EXPECT_EQ(line->inputs[1].text, "night.lua");
  EXPECT_EQ(line->inputs[1].arguments, (Words{"--db", "days=30", "-"}));
  EXPECT_EQ(line->database, "");
}

TEST(CommandLine, Defaults) {
  const Result<CommandLine> line = read_command_line({});
  ASSERT_TRUE(line.ok());
  EXPECT_TRUE(line->inputs.empty());
  EXPECT_EQ(line->mode, OutputMode::kTable);
  EXPECT_EQ(read_command_line({"--json"})->mode, OutputMode::kJson);
  EXPECT_EQ(read_command_line({"--", "-x.sql"})->inputs[0].text, "-x.sql");
}

TEST(CommandLine, RefusesWhatItDoesNotKnow) {
  struct Refused {
    Words arguments;
    const char* message;
    const char* hint;
  };
  const Refused cases[] = {
      {{"--jsn"}, "unknown option '--jsn'", "did you mean '--json'?"},
      {{"-x"}, "unknown option '-x'", "berth --help lists the options"},
      {{"--db"}, "option '--db' needs a value", ""},
      {{"--db="}, "option '--db' needs a value", ""},
      {{"-c"}, "option '-c' needs a value", ""},
      {{"--script"}, "option '--script' needs a value", ""},
      {{"--json=yes"}, "option '--json' takes no value", ""},
      {{"--mode", "xml"}, "unknown output mode 'xml'", "modes: table, csv, json, jsonl, markdown, line"}};
  for (const Refused& test : cases) {
    const Result<CommandLine> line = read_command_line(test.arguments);
    ASSERT_FALSE(line.ok()) << test.message;
    EXPECT_EQ(line.status().message(), test.message);
    EXPECT_EQ(line.status().hint(), test.hint);
  }
}

TEST(CommandLine, UsageNamesEveryOption) {
  for (const char* option : {"--db", "--mode", "--json", "--read-only", "--keep-going", "--timeout", "--script", "-c",
                             "--help", "--version"}) {
    EXPECT_NE(usage_text().find(option), std::string_view::npos) << option;
  }
}

TEST(CommandLine, ATimeoutIsADuration) {
  const Result<CommandLine> line = read_command_line({"--timeout", "5m", "-c", "RUN ALL"});
  ASSERT_TRUE(line.ok());
  EXPECT_EQ(line->timeout, Seconds(300));
  for (const char* wrong : {"soon", "0s", ""}) EXPECT_FALSE(read_command_line({"--timeout", wrong}).ok()) << wrong;
}

TEST(CommandLine, AnEmptyScriptIsAScript) {
  const Result<CommandLine> line = read_command_line({"-c", ""});
  ASSERT_TRUE(line.ok());
  ASSERT_EQ(line->inputs.size(), 1U);
  EXPECT_EQ(line->inputs[0].text, "");
  EXPECT_FALSE(read_command_line({"-c"}).ok());
}

}  // namespace
}  // namespace berth
