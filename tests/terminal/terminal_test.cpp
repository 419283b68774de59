// What a person at a terminal sees.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/terminal/pseudo_terminal.h"

namespace berth {
namespace {

using test::PseudoTerminal;

class TerminalTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("berth_terminal_" + std::to_string(getpid()) + "_" +
                                                        testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
    environment_ = {{"XDG_STATE_HOME", folder_.string()},
                    {"TERM", "xterm-256color"},
                    {"LC_ALL", "C.UTF-8"},
                    {"PAGER", "cat"},
                    {"NO_COLOR", ""},
                    {"INPUTRC", "/dev/null"}};
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  PseudoTerminal start(PseudoTerminal::Size size = {}) const {
    return PseudoTerminal(BERTH_PROGRAM, {"--db", (folder_ / "test.db").string()}, environment_, size);
  }

  std::filesystem::path folder_;
  PseudoTerminal::Environment environment_;
};

std::string read_text(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

TEST_F(TerminalTest, PromptsRunsAndLeavesOnControlD) {
  PseudoTerminal shell = start();
  shell.expect("Berth ");
  shell.expect("berth> ");
  shell.type("VALUES (41 + 1, 'größe');\n");
  shell.expect("42");
  shell.expect("größe");
  shell.expect("berth> ");
  shell.type("\x04");
  EXPECT_EQ(shell.wait_for_end(), 0);
}

TEST_F(TerminalTest, QuitLeaves) {
  PseudoTerminal shell = start();
  shell.expect("berth> ");
  shell.type(".quit\n");
  EXPECT_EQ(shell.wait_for_end(), 0);
}

TEST_F(TerminalTest, StatementsSpanLines) {
  PseudoTerminal shell = start();
  shell.expect("berth> ");
  shell.type("VALUES (\n");
  shell.expect("  ...> ");
  shell.type("'a;b', 40 +\n");
  shell.expect("  ...> ");
  shell.type("2); VALUES (7 * 7);\n");
  shell.expect("a;b");
  shell.expect("42");
  shell.expect("49");
  shell.expect("berth> ");
}

TEST_F(TerminalTest, ErrorsPointAtTheWord) {
  PseudoTerminal shell = start();
  shell.expect("berth> ");
  shell.type("HELP CRAETE;\n");
  shell.expect("error: no statement begins with 'CRAETE'");
  shell.expect("  HELP CRAETE;\n       ^~~~~~\n  did you mean 'CREATE'?");
  shell.expect("berth> ");
}

TEST_F(TerminalTest, WhatATaskWroteMovesNoCursor) {
  PseudoTerminal shell = start();
  shell.expect("berth> ");
  shell.type(
      "CREATE NODE TYPE box WITH (cpu = 8, memory = 64GiB); CREATE NODE n1 TYPE box; CREATE QUEUE q; "
      "CREATE EXECUTOR here TYPE local WITH (node = n1, limits = none);\n");
  shell.expect("executor here created");
  shell.type("SUBMIT JOB x IN QUEUE q WITH (cpu = 1, command = 'printf \"one\\033]0;owned\\007two\"'); RUN ALL;\n");
  shell.expect("1 job started");
  for (int tries = 0; tries < 20 && shell.raw().find("finished/") == std::string::npos; ++tries) {
    usleep(200'000);
    shell.type("RUN SYNC; SELECT state || '/' AS now FROM jobs;\n");
    shell.expect("now");
    shell.expect("berth> ");
  }
  shell.type("SHOW LOG OF JOB x;\n");
  shell.expect("one");
  shell.expect("two");
  shell.expect("berth> ");
  EXPECT_EQ(shell.raw().find("\x1b]0;owned"), std::string::npos);
  EXPECT_NE(shell.raw().find("]0;owned"), std::string::npos);
}

TEST_F(TerminalTest, TabCompletesKeywords) {
  PseudoTerminal shell = start();
  shell.expect("berth> ");
  shell.type("hel\t");
  shell.expect("help ");
  shell.type("creat\t");
  shell.expect("create ");
  shell.type("pool;\n");
  shell.expect("CREATE POOL");
  shell.expect("berth> ");
}

TEST_F(TerminalTest, TabListsWhatMayCome) {
  PseudoTerminal shell = start();
  shell.expect("berth> ");
  shell.type(".mode \t\t");
  shell.expect("csv");
  shell.expect("markdown");
  shell.expect("berth> .mode ");
  shell.type("cs\t\n");
  shell.expect(".mode csv");
  shell.expect("berth> ");
  shell.type(".timer \t");
  shell.expect("false");
}

TEST_F(TerminalTest, TabCompletesNamesAndColumns) {
  PseudoTerminal shell = start();
  shell.expect("berth> ");
  shell.type("CREATE POOL training;\n");
  shell.expect("berth> ");
  shell.type("DROP POOL tr\t");
  shell.expect("DROP POOL training ");
  shell.type("\x15SELECT na\t FROM poo\t;\n");
  shell.expect("SELECT name");
  shell.expect("training");
  shell.expect("berth> ");
}

TEST_F(TerminalTest, ControlCDropsTypedInput) {
  PseudoTerminal shell = start();
  shell.expect("berth> ");
  shell.type("VALUES (\n");
  shell.expect("  ...> ");
  shell.type("1 + \x03");
  shell.expect("^C");
  shell.expect("berth> ");
  shell.type("VALUES (6 * 7);\n");
  shell.expect("42");
  shell.expect("berth> ");
}

TEST_F(TerminalTest, ControlCCancelsTheStatementNotTheShell) {
  PseudoTerminal shell = start();
  shell.expect("berth> ");
  shell.type("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n;\n");
  EXPECT_TRUE(shell.stays_without("berth> "));
  shell.type("\x03");
  shell.expect("error: interrupted");
  shell.expect("berth> ");
  shell.type("VALUES (6 * 7);\n");
  shell.expect("42");
}

TEST_F(TerminalTest, HistoryIsKeptPrivately) {
  {
    PseudoTerminal shell = start();
    shell.expect("berth> ");
    shell.type("VALUES (\n11 * 11);\n");
    shell.expect("121");
    shell.expect("berth> ");
    shell.type("\x04");
    EXPECT_EQ(shell.wait_for_end(), 0);
  }
  const std::filesystem::path file = folder_ / "berth" / "history";
  EXPECT_EQ(read_text(file), "VALUES ( 11 * 11);\n");
  struct stat facts = {};
  ASSERT_EQ(stat(file.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
  PseudoTerminal shell = start();
  shell.expect("berth> ");
  shell.type("\x1b[A\n");
  shell.expect("VALUES ( 11 * 11);");
  shell.expect("121");
}

TEST_F(TerminalTest, HistoryKeepsTheLinesOfStringsAndComments) {
  for (int run = 0; run < 2; ++run) {
    PseudoTerminal shell = start();
    shell.expect("berth> ");
    shell.type(run == 0 ? "SELECT length('a\nb') -- two lines\n+ 10;\n" : "\x1b[A\n");
    shell.expect("13");
    shell.expect("berth> ");
    shell.type("\x04");
    EXPECT_EQ(shell.wait_for_end(), 0);
  }
}

TEST_F(TerminalTest, HelpAndQuitNeedNoSemicolon) {
  PseudoTerminal shell = start();
  shell.expect("berth> ");
  shell.type("help create pool\n");
  shell.expect("CREATE POOL <name>");
  shell.expect("berth> ");
  shell.type("Quit\n");
  EXPECT_EQ(shell.wait_for_end(), 0);
}

TEST_F(TerminalTest, TabListsTheChoicesOfASetting) {
  PseudoTerminal shell = start();
  shell.expect("berth> ");
  shell.type("SET backfill = \t\t");
  shell.expect("conservative");
  shell.expect("none");
}

TEST_F(TerminalTest, WorksWithoutAPlaceForTheHistory) {
  environment_["XDG_STATE_HOME"] = "/proc/nowhere";
  PseudoTerminal shell = start();
  shell.expect("berth> ");
  shell.type("VALUES (6 * 7);\n");
  shell.expect("42");
  shell.expect("berth> ");
  shell.type("\x04");
  EXPECT_EQ(shell.wait_for_end(), 0);
}

TEST_F(TerminalTest, DestructiveStatementsAskFirst) {
  PseudoTerminal shell = start();
  shell.expect("berth> ");
  shell.type("CREATE POOL keep;\n");
  shell.expect("berth> ");
  shell.type("DROP POOL keep;\n");
  shell.expect("[y/N] ");
  shell.type("n\n");
  shell.expect("not done");
  shell.expect("berth> ");
  shell.type("DROP POOL keep;\n");
  shell.expect("[y/N] ");
  shell.type("yes\n");
  shell.expect("berth> ");
  shell.type("DROP POOL keep;\n");
  shell.expect("[y/N] ");
  shell.type("y\n");
  shell.expect("error: ");
  shell.expect("keep");
}

TEST_F(TerminalTest, ColourOnATerminalOnly) {
  {
    PseudoTerminal shell = start();
    shell.expect("berth> ");
    shell.type("VALUES (1);\n");
    shell.expect("─");
    shell.expect("berth> ");
    EXPECT_NE(shell.raw().find("\x1b[1mcolumn1"), std::string::npos) << shell.raw();
  }
  environment_["NO_COLOR"] = "1";
  PseudoTerminal shell = start();
  shell.expect("berth> ");
  shell.type("VALUES (1); HLEP;\n");
  shell.expect("error:");
  shell.expect("berth> ");
  EXPECT_EQ(shell.raw().find("\x1b[1m"), std::string::npos);
  EXPECT_EQ(shell.raw().find("\x1b[1;31m"), std::string::npos);
}

TEST_F(TerminalTest, LongAnswersGoThroughThePager) {
  const std::filesystem::path paged = folder_ / "paged.txt";
  environment_["PAGER"] = "cat > " + paged.string();
  PseudoTerminal shell = start({80, 10});
  shell.expect("berth> ");
  shell.type("VALUES ('short');\n");
  shell.expect("short\nberth> ");
  shell.type("HELP;\n");
  shell.expect("berth> ");
  EXPECT_NE(read_text(paged).find("HELP"), std::string::npos);
  EXPECT_EQ(read_text(paged).find("short"), std::string::npos);
}

TEST_F(TerminalTest, TablesFitTheScreen) {
  PseudoTerminal shell = start({40, 30});
  shell.expect("berth> ");
  shell.type("VALUES (1, printf('%.*c', 100, 'x'));\n");
  shell.expect("…");
  shell.expect("berth> ");
  EXPECT_EQ(shell.raw().find(std::string(41, 'x')), std::string::npos);
}

TEST_F(TerminalTest, DataCannotMoveTheCursor) {
  PseudoTerminal shell = start();
  shell.expect("berth> ");
  shell.type("VALUES (char(27) || '[2J' || char(7) || 'end');\n");
  shell.expect("\\x1b[2J\\x07end");
  EXPECT_EQ(shell.raw().find("\x1b[2Jend"), std::string::npos);
}

// Neither what a job printed nor CSV, also where the terminal does not say how wide it is.
TEST_F(TerminalTest, LogsCannotMoveTheCursor) {
  const std::string file = (folder_ / "log.db").string();
  const auto batch = [&](const std::vector<std::string>& arguments, PseudoTerminal::Size size,
                         const std::string& text) {
    std::vector<std::string> words = {"--db", file};
    words.insert(words.end(), arguments.begin(), arguments.end());
    PseudoTerminal program(BERTH_PROGRAM, words, environment_, size);
    if (!text.empty()) program.expect(text);
    EXPECT_EQ(program.wait_for_end(), 0);
    return program.raw();
  };
  batch({"-c",
         "IMPORT NODES FROM LOCAL WITH (node = 'n1'); CREATE QUEUE q; SUBMIT JOB a IN QUEUE q WITH (cpu = 0.1, memory "
         "= 64MiB, command = 'printf \"\\033]0;pwn\\007\\033[2Jhello\"'); RUN ALL; SHOW LOG OF JOB a FOLLOW"},
        {0, 0}, "\\x1b]0;pwn\\x07\\x1b[2Jhello");
  for (const PseudoTerminal::Size size : {PseudoTerminal::Size{0, 0}, PseudoTerminal::Size{80, 24}}) {
    for (const char* statement : {"SHOW LOG OF JOB a", "SHOW LOG OF JOB a FOLLOW"}) {
      const std::string raw = batch({"-c", statement}, size, "hello");
      EXPECT_EQ(raw.find("\x1b[2J"), std::string::npos) << raw;
      EXPECT_EQ(raw.find("\x1b]0;"), std::string::npos) << raw;
    }
    const std::string csv = batch({"--mode", "csv", "-c", "VALUES (char(27) || '[2Jend')"}, size, "end");
    EXPECT_EQ(csv.find("\x1b[2J"), std::string::npos) << csv;
  }
}

TEST_F(TerminalTest, TabCompletesValuesOfSettings) {
  PseudoTerminal shell = start();
  shell.expect("berth> ");
  shell.type("SET order_policy = fi\t;\n");
  shell.expect("SET order_policy = fifo");
  shell.expect("berth> ");
  shell.type("SET score_policy = best\t;\n");
  shell.expect("SET score_policy = best_fit");
  shell.expect("berth> ");
  shell.type("SET order_policy = \t\t");
  shell.expect("las");
}

TEST_F(TerminalTest, PromptsStayOutOfRedirectedData) {
  const std::filesystem::path data = folder_ / "data.txt";
  const std::string command =
      std::string(BERTH_PROGRAM) + " --mode csv --db " + (folder_ / "test.db").string() + " > " + data.string();
  PseudoTerminal shell("/bin/bash", {"-c", command}, environment_);
  shell.expect("berth> ");
  shell.type("VALUES (6 * 7);\n");
  shell.expect("berth> ");
  shell.type("\x04");
  EXPECT_EQ(shell.wait_for_end(), 0);
  EXPECT_EQ(read_text(data), "column1\n42\n");
}

TEST_F(TerminalTest, AsciiWhereTheLocaleIsNotUtf8) {
  environment_["LC_ALL"] = "C";
  PseudoTerminal shell = start();
  shell.expect("berth> ");
  shell.type("VALUES (1);\n");
  shell.expect("-------");
  shell.expect("berth> ");
}

}  // namespace
}  // namespace berth
