// berth --script as cron runs it: what goes where, how it ends, and what is left of one that is killed.
#include "tests/terminal/program_test.h"

namespace berth::test {
namespace {

class ScriptProgramTest : public ProgramTest {
 protected:
  // Waits until the script has written "begun" into begun.txt.
  static std::string until_begun() {
    return "for i in {1..600}; do grep -q begun begun.txt 2>/dev/null && break; sleep 0.05; done; ";
  }
  std::string queues() const {
    return run("berth --mode csv -c \"SELECT group_concat(name) AS names FROM queues\" 2>&1; "
               "berth -c CHECK >/dev/null 2>&1 || echo broken")
        .output;
  }
};

TEST_F(ScriptProgramTest, DataGoToStandardOutputTheRestToStandardError) {
  write("a.lua",
        "print('args', berth.args[1], berth.args.days)\n"
        "berth.log('for people')\n"
        "berth.show(berth.query('SELECT 1 AS one'))\n");
  EXPECT_EQ(run("berth --mode csv --script a.lua --db days=3 2>/dev/null").output, "args\t--db\t3\none\n1\n");
  EXPECT_EQ(run("berth --json --script a.lua x 2>/dev/null").output, "args\tx\tnil\n[\n{\"one\": 1}\n]\n");
  EXPECT_EQ(run("berth --script a.lua 2>&1 >/dev/null").output, "for people\n");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "days=3"));
}

TEST_F(ScriptProgramTest, ExitCodes) {
  write("done.lua", "berth.exec('CREATE QUEUE a')");
  write("failed.lua", "print('before')\nberth.exec('CREATE QUEUE a')");
  write("findings.lua", "berth.finding('look')");
  EXPECT_EQ(run("berth --script done.lua").code, 0);
  const Ended failed = run("berth --script failed.lua 2>&1");
  EXPECT_EQ(failed.code, 1);
  EXPECT_EQ(failed.output, "before\nerror: failed.lua:2: queue 'a' exists already\n");
  EXPECT_EQ(run("berth --script 2>/dev/null").code, 2);
  EXPECT_EQ(run("berth --script missing.lua 2>/dev/null").code, 1);
  EXPECT_EQ(run("berth --script findings.lua 2>/dev/null").code, 4);
  EXPECT_EQ(run("berth --read-only --script done.lua 2>/dev/null").code, 1);
}

// Another machine runs a round: 3, as of the statement itself, unless the script catches it.
TEST_F(ScriptProgramTest, BusyIsBusy) {
  write("round.lua", "berth.exec('RUN SCHEDULE')");
  write("caught.lua", "print(pcall(berth.exec, 'RUN SCHEDULE'))");
  run("berth -c \"VALUES (1)\"");
  run("sqlite3 test.db \"INSERT INTO leases (name, holder, host, pid, acquired_at, expires_at, token) VALUES "
      "(\\\"round\\\", \\\"ann\\\", \\\"elsewhere\\\", 1, 0, 4102444800, "
      "7)\"");
  const Ended busy = run("berth --script round.lua 2>&1");
  EXPECT_EQ(busy.code, 3) << busy.output;
  EXPECT_NE(busy.output.find("round.lua:1: a round is being run by ann"), std::string::npos) << busy.output;
  EXPECT_EQ(run("berth --script caught.lua").code, 0);
}

TEST_F(ScriptProgramTest, ATransactionKeepsOthersOutUntilItEnds) {
  write("long.lua",
        "berth.transaction(function()\n"
        "  berth.exec('CREATE QUEUE mine')\n"
        "  print('begun')\n"
        "  while true do end\n"
        "end)\n");
  const Ended ended = run(
      "berth -c \"VALUES (1)\" >/dev/null; (berth --timeout 20s --script long.lua > begun.txt 2>&1 &) ; " +
      until_begun() +
      "berth -c \"SELECT count(*) AS n FROM queues\" --mode csv; berth -c \"CREATE QUEUE theirs\" 2>&1; echo code $?");
  EXPECT_NE(ended.output.find("n\n0\n"), std::string::npos) << ended.output;
  EXPECT_NE(ended.output.find("another process is writing"), std::string::npos) << ended.output;
  EXPECT_NE(ended.output.find("code 3"), std::string::npos) << ended.output;
}

TEST_F(ScriptProgramTest, OneThatIsKilledLeavesWholeStatementsAndWholeTransactions) {
  write("killed.lua",
        "berth.exec('CREATE QUEUE alone')\n"
        "berth.transaction(function() berth.exec('CREATE QUEUE both') berth.exec('CREATE QUEUE two UNDER both') end)\n"
        "berth.transaction(function()\n"
        "  berth.exec('CREATE QUEUE never')\n"
        "  berth.exec('DROP QUEUE alone')\n"
        "  print('begun')\n"
        "  while true do end\n"
        "end)\n");
  run("true; " BERTH_PROGRAM " --timeout 60s --script killed.lua > begun.txt & pid=$!; " + until_begun() +
      "kill -9 $pid; wait $pid 2>/dev/null");
  EXPECT_EQ(queues(), "names\n\"alone,both,two\"\n");
}

// At the commit of the transaction, and right after it: two changes, so four names or none.
TEST_F(ScriptProgramTest, KilledAtTheCommit) {
  write("killed.lua",
        "berth.transaction(function() berth.exec('CREATE QUEUE both') berth.exec('CREATE QUEUE two UNDER both') end)");
  run("berth -c \"VALUES (1)\"");
  run("BERTH_FAILPOINT=before_commit " BERTH_WITH_FAILPOINTS " --script killed.lua 2>/dev/null");
  EXPECT_EQ(queues(), "names\n\n");
  run("BERTH_FAILPOINT=after_commit " BERTH_WITH_FAILPOINTS " --script killed.lua 2>/dev/null");
  EXPECT_EQ(queues(), "names\n\"both,two\"\n");
  // The program that people use has no such places.
  EXPECT_EQ(run("BERTH_FAILPOINT=before_commit " BERTH_PROGRAM " -c \"CREATE POOL kept\" 2>/dev/null").code, 0);
}

TEST_F(ScriptProgramTest, InterruptEndsAScript) {
  write("endless.lua", "berth.transaction(function() berth.exec('CREATE QUEUE a') while true do pcall(error) end end)");
  const Ended ended = run(interrupted_soon() + BERTH_PROGRAM " --script endless.lua 2>&1");
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.output, "error: endless.lua:1: interrupted\n");
  EXPECT_EQ(queues(), "names\n\n");
}

TEST_F(ScriptProgramTest, AClosedOutputIsAnError) {
  write("prints.lua", "for i = 1, 1e6 do print(i) end");
  EXPECT_EQ(run("berth --script prints.lua > /dev/full 2>/dev/null").code, 1);
  EXPECT_EQ(run("set -o pipefail; berth --script prints.lua 2>/dev/null | head -1").output, "1\n");
}

}  // namespace
}  // namespace berth::test
