// The runner itself: that it reads its files, and that it fails when it should.
#include "tests/statements/runner.h"
#include "tests/statements/replay.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/statements/test_file.h"

namespace berth::test {
namespace {

namespace fs = std::filesystem;
const std::string kHeader = "# name: n\n# purpose: p\n# group: g\n\n";

TEST(TestFile, ReadsEveryDirective) {
  const Result<TestFile> file =
      parse_test_file(kHeader +
                          "statement ok\nCREATE POOL a\n\n"
                          "statement error\nCREATE\n POOL a\n----\nexists\n\n"
                          "query rowsort\nSELECT 1\n----\n1\n<empty>\n\n"
                          "loop i 1 3\nforeach x a b\noutput contains\nHELP ${x}\n----\n\nendloop\nendloop\n"
                          "round 2\nadvance 30m\nrestart\nseed 7\n",
                      false);
  ASSERT_TRUE(file.ok()) << file.status().message();
  ASSERT_EQ(file->steps.size(), 8U);
  EXPECT_EQ(file->group, "g");
  EXPECT_EQ(file->steps[1].text, "CREATE\n POOL a");
  EXPECT_EQ(file->steps[1].expected, std::vector<std::string>{"exists"});
  EXPECT_TRUE(file->steps[2].sorted);
  EXPECT_EQ(file->steps[2].expected, (std::vector<std::string>{"1", ""}));
  EXPECT_EQ(file->steps[3].words.size(), 3U);
  EXPECT_TRUE(file->steps[3].body[0].body[0].contains);
  EXPECT_EQ(file->steps[4].text, "2");
  EXPECT_EQ(file->steps[7].type, TestStep::Type::kSeed);
}

TEST(TestFile, TellsTheLineThatIsWrong) {
  struct WrongFile {
    std::string text;
    const char* message;
  };
  const WrongFile cases[] = {{"statement ok\n", "line 1: expected '# name: ...'"},
                             {kHeader + "statment ok\nA\n", "line 5: unknown directive 'statment ok'"},
                             {kHeader + "query\n\n", "line 5: there is no statement"},
                             {kHeader + "loop i 1 2\nround\n", "line 5: this loop does not end"},
                             {kHeader + "endloop\n", "line 5: endloop without a loop"},
                             {kHeader + "loop i 1\nendloop\n", "line 5: a loop is 'loop i FIRST LAST'"}};
  for (const WrongFile& test : cases) EXPECT_EQ(parse_test_file(test.text, false).status().message(), test.message);
}

class RunnerTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("berth_runner_" + std::to_string(getpid())) / "g";
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_.parent_path()); }

  std::string write(const std::string& text) const {
    const std::string file = folder_ / "a.test";
    std::ofstream(file) << kHeader << text;
    return file;
  }
  FileOutcome run(const std::string& text, const TestMode& mode = {"default", false, {}}) const {
    return run_test_file(write(text), mode, false);
  }

  fs::path folder_;
};

TEST_F(RunnerTest, PassesWhatHolds) {
  const std::string text =
      "statement ok\n.mode csv\n\n"
      "statement error\nHLEP\n----\nunknown statement 'HLEP'\ndid you mean 'HELP'?\n\n"
      "query\n.mode\n----\n\n"
      "output contains\nHELP HELP\n----\nHELP [<words> ...]\n\n"
      "loop i 1 3\nstatement ok\n.width ${i}\n\nendloop\n"
      "restart\nstatement ok\nHELP\n";
  for (const TestMode& mode :
       {TestMode{"default", false, {}}, TestMode{"reopen", true, {}}, TestMode{"then", false, "HELP"}}) {
    const FileOutcome outcome = run(text, mode);
    EXPECT_TRUE(outcome.failures.empty()) << mode.name << ": " << outcome.failures.front();
  }
}

TEST_F(RunnerTest, FailsWhatDoesNotHold) {
  const char* cases[] = {"statement ok\nHLEP\n",
                         "statement error\nHELP\n",
                         "statement error\nHLEP\n----\nanother sentence\n",
                         "statement ok\n.mode\n----\nmode: json\n",
                         "statement findings\nHELP\n",
                         "output contains\nHELP\n----\nno such line\n",
                         "output\nHELP HELP\n----\nHELP\n",
                         "round x\n",
                         "advance soon\n",
                         "include missing.inc\n",
                         "require miracles\n"};
  for (const char* text : cases) {
    const FileOutcome outcome = run(text);
    ASSERT_EQ(outcome.failures.size(), 1U) << text;
    EXPECT_NE(outcome.failures[0].find("a.test:5: "), std::string::npos) << outcome.failures[0];
  }
}

TEST_F(RunnerTest, SkipsWithAReason) {
  const FileOutcome outcome =
      run("skip reopen because it talks about one session\n\nstatement ok\nHLEP\n", {"reopen", true, {}});
  EXPECT_EQ(outcome.skipped, "because it talks about one session");
  EXPECT_TRUE(outcome.failures.empty());
}

TEST_F(RunnerTest, ApproveWritesTheAnswers) {
  const std::string file = write("output\n.help .tables\n----\nold\n\nstatement ok\nHELP\n");
  run_test_file(file, {"default", false, {}}, true);
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  EXPECT_NE(text.str().find("----\n.tables\n  Lists the tables and views that SELECT reads.\n<empty>\n"),
            std::string::npos)
      << text.str();
  EXPECT_NE(text.str().find("\n\nstatement ok\nHELP\n"), std::string::npos) << text.str();
  EXPECT_TRUE(run_test_file(file, {"default", false, {}}, false).failures.empty());
}

TEST_F(RunnerTest, TheGroupIsTheFolder) {
  const std::string file = write("statement ok\nHELP\n");
  std::ofstream(file) << "# name: n\n# purpose: p\n# group: other\nstatement ok\nHELP\n";
  EXPECT_EQ(run_test_file(file, {"default", false, {}}, false).failures.size(), 1U);
}

TEST_F(RunnerTest, Modes) {
  const std::string file = folder_ / "x.mode";
  std::ofstream(file) << "# why\nreopen = true\nthen = CHECK\n";
  const Result<TestMode> mode = read_mode(file);
  ASSERT_TRUE(mode.ok());
  EXPECT_EQ(mode->name, "x");
  EXPECT_TRUE(mode->reopen_after_statement);
  EXPECT_EQ(mode->then, "CHECK");
  std::ofstream(file) << "reopn = true\n";
  EXPECT_FALSE(read_mode(file).ok());
}

TEST(ReplayTest, KnowsWhichStatementsPlan) {
  EXPECT_TRUE(plans_a_round("RUN SCHEDULE"));
  EXPECT_TRUE(plans_a_round("plan schedule WITH (score = fgd)"));
  EXPECT_FALSE(plans_a_round("SHOW JOBS"));
  EXPECT_FALSE(plans_a_round("RUN"));
}

}  // namespace
}  // namespace berth::test
