// The real program in scripts and pipes: what goes where, and how it ends.
#include "tests/terminal/program_test.h"

namespace berth::test {
namespace {

class BatchTest : public ProgramTest {};

TEST_F(BatchTest, DataGoToStandardOutputTheRestToStandardError) {
  const Ended data = run("berth --mode csv -c \"VALUES (1); HLEP\" 2>/dev/null");
  EXPECT_EQ(data.output, "column1\n1\n");
  EXPECT_EQ(data.code, 1);
  EXPECT_EQ(run("berth -c HLEP 2>&1 >/dev/null").output,
            "error: unknown statement 'HLEP'\n  HLEP\n  ^~~~\n  did you mean 'HELP'?\n");
}

TEST_F(BatchTest, JsonIsAnArrayOfObjects) {
  EXPECT_EQ(run("berth --json -c \"VALUES (1, NULL), (2, 3.0)\"").output,
            "[\n{\"column1\": 1, \"column2\": null},\n{\"column1\": 2, \"column2\": 3.0}\n]\n");
}

TEST_F(BatchTest, JsonIsOneValueAStatementThatAnswers) {
  EXPECT_EQ(run("berth --json -c \"CREATE QUEUE nlp\" 2>/dev/null").output, "");
  EXPECT_EQ(run("berth --json -c \"SELECT name FROM jobs\"").output, "[]\n");
  EXPECT_EQ(run("berth --json -c \"VALUES (1); VALUES (2)\"").output,
            "[\n{\"column1\": 1}\n]\n[\n{\"column1\": 2}\n]\n");
  const std::string queue = run("berth --json -c \"SHOW QUEUES\" 2>/dev/null").output;
  EXPECT_TRUE(queue.starts_with("{\"queues\": [\n{\"queue\": \"nlp\"")) << queue;
  EXPECT_TRUE(queue.ends_with("],\n\"standings\": []}\n")) << queue;
  EXPECT_EQ(run("berth --json -c \"SHOW LOANS\"").output, "{\"loans\": [],\n\"returns\": []}\n");
  const std::string tables = run("berth --json -c \"PLAN DROP QUEUE nlp\" 2>/dev/null").output;
  EXPECT_TRUE(tables.starts_with("{\"plan\": [\n{")) << tables;
}

TEST_F(BatchTest, JsonOfAPlanThatChangesNothingIsEmptyTables) {
  EXPECT_EQ(run("berth --json -c \"PLAN CREATE QUEUE nlp\" 2>/dev/null").output,
            "{\"plan\": [\n{\"plan\": 1, \"statement\": \"CREATE QUEUE nlp\", \"starts_jobs\": 0, "
            "\"starts_jobs_without_it\": 0}\n],\n\"nodes\": [],\n\"jobs\": [],\n\"borrowing\": []}\n");
}

TEST_F(BatchTest, JsonOfALogIsOneValue) {
  run("berth -c \"IMPORT NODES FROM LOCAL WITH (node = n1); CREATE QUEUE q; SUBMIT JOB a IN QUEUE q WITH (cpu = 0.1, "
      "memory = 64MiB, command = \\\"echo hello; sleep 1\\\"); RUN ALL\" 2>/dev/null");
  EXPECT_EQ(run("berth --json -c \"SHOW LOG OF JOB a FOLLOW\"").output, "[\n{\"log\": \"hello\\n\"}\n]\n");
  EXPECT_EQ(run("berth --json -c \"SHOW LOG OF JOB a\"").output, "[\n{\"log\": \"hello\\n\"}\n]\n");
  EXPECT_EQ(run("berth --json -c \"SHOW LOG OF JOB a ERRORS\"").output, "[]\n");
  EXPECT_EQ(run("berth -c \"SHOW LOG OF JOB a\"").output, "hello\n");
}

TEST_F(BatchTest, OnlyTheOwnerReadsExportedJobs) {
  run("berth -c \"CREATE QUEUE q; SUBMIT JOB a IN QUEUE q WITH (command = true, env = \\\"KEY=secret\\\", "
      "allow_infeasible = true)\" 2>/dev/null");
  run("touch old.csv; chmod 644 old.csv; umask 022; berth -c \"EXPORT JOBS TO \\\"jobs.csv\\\"; EXPORT JOBS TO "
      "\\\"jobs.csv.gz\\\"; EXPORT JOBS TO \\\"old.csv\\\" WITH (replace = true); EXPORT NODES TO \\\"nodes.csv\\\"\" "
      "2>/dev/null");
  EXPECT_EQ(run("stat -c %a:%n jobs.csv jobs.csv.gz old.csv nodes.csv").output,
            "600:jobs.csv\n600:jobs.csv.gz\n600:old.csv\n644:nodes.csv\n");
}

// A pipe gets the value itself; EXPORT writes for spreadsheets, too.
TEST_F(BatchTest, CsvCellsAreAsTheyAre) {
  EXPECT_EQ(run("berth --mode csv -c \"SELECT char(61, 49, 43, 49) AS a\"").output, "a\n=1+1\n");
}

// What was written last may be in the log alone.
TEST_F(BatchTest, ADatabaseThatWasMovedWithoutItsLogIsRefused) {
  run("berth -c \"CREATE EXECUTOR here TYPE local WITH (node = n1); CREATE QUEUE q\"; mv test.db moved.db; mv "
      "test.db.executors moved.db.executors; echo frames >test.db-wal");
  const Ended refused = run("berth --db moved.db -c \"SHOW QUEUES\" 2>&1");
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.output.find("test.db-wal' was left behind when the database was moved"), std::string::npos)
      << refused.output;
  EXPECT_EQ(run("rm test.db-wal; berth --db moved.db --mode csv -c \"SELECT name FROM queues\"").output, "name\nq\n");
}

// The log of a killed process, and a backup from before in the place of its file: rows of two states.
TEST_F(BatchTest, ABackupIsNotMixedWithTheLogOfAKilledProcess) {
  run("berth -c \"CREATE QUEUE a\"; cp test.db bak.db; berth -c \"CREATE QUEUE b; CREATE POOL p\"");
  run("(echo \"CREATE QUEUE c;\"; sleep 5) | timeout -s KILL 4 " BERTH_PROGRAM " -; cp bak.db test.db");
  const Ended refused = run("berth -c \"SHOW QUEUES\" 2>&1");
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.output.find("is the log of another file"), std::string::npos) << refused.output;
  EXPECT_EQ(run("rm test.db-wal test.db-shm; berth --mode csv -c \"SELECT name FROM queues\"").output, "name\na\n");
}

// What came between shows in no promise of the tables, and the log says that it is younger.
TEST_F(BatchTest, ALogKnowsItsFile) {
  const std::string session = "(echo \"CREATE QUEUE c;\"; sleep 5) | timeout -s KILL 4 " BERTH_PROGRAM " -; ";
  run("berth -c \"CREATE QUEUE a\"; cp test.db bak.db; berth -c \"SET min_runtime = 77s\"; " + session +
      "cp test.db same.db; cp bak.db test.db; touch -d \"+1 hour\" test.db-wal");
  EXPECT_NE(run("berth -c \"SHOW QUEUES\" 2>&1").output.find("is the log of another file"), std::string::npos);
  // Nothing has been lost.
  EXPECT_EQ(run("mv same.db test.db; berth --mode csv -c \"SELECT name FROM queues; CHECK\" 2>&1").output,
            "name\na\nc\nall 72 promises hold\npromise,object,finding\n");
}

// Who opens the file while the session lives whose file was replaced.
TEST_F(BatchTest, NobodyJoinsTheLogOfAReplacedFile) {
  run("berth -c \"CREATE QUEUE a\"; cp test.db bak.db; berth -c \"SET min_runtime = 77s\"");
  const Ended joined =
      run("true; (echo \"CREATE QUEUE c;\"; sleep 4) | berth - & sleep 2; mv bak.db test.db; "
          "berth -c \"SHOW QUEUES\" 2>&1; wait");
  EXPECT_NE(joined.output.find("is the log of another file"), std::string::npos) << joined.output;
  EXPECT_NE(joined.output.find("end the processes that have it open"), std::string::npos) << joined.output;
}

TEST_F(BatchTest, AFailedRunLeavesNoEmptyDatabase) {
  for (const char* statement : {"SET foo = 1", "IMPORT NODES FROM \\\"nofile.csv\\\"", "CREATE POOL \\\"\\\""}) {
    EXPECT_EQ(run("berth --db new.db -c \"" + std::string(statement) + "\" 2>&1").code, 1) << statement;
    EXPECT_EQ(run("ls | grep new.db").output, "") << statement;
  }
  // What was put into it stays, also what came before the failure.
  EXPECT_EQ(run("berth --db new.db -c \"CREATE POOL a; SET foo = 1\" 2>/dev/null").code, 1);
  EXPECT_EQ(run("berth --mode csv --db new.db -c \"SELECT name FROM pools\"").output, "name\na\n");
  // One that was there before stays, too.
  EXPECT_EQ(run("berth -c \"SET foo = 1\" 2>/dev/null").code, 1);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "test.db"));
}

TEST_F(BatchTest, AFileRunsAsTyped) {
  write("a.sql", ".mode csv\n-- first\nVALUES (1);\nVALUES (2)");
  EXPECT_EQ(run("berth a.sql").output, "column1\n1\ncolumn1\n2\n");
  EXPECT_EQ(run("berth - < a.sql").output, "column1\n1\ncolumn1\n2\n");
  EXPECT_EQ(run("berth < a.sql").output, "column1\n1\ncolumn1\n2\n");
  EXPECT_EQ(run("berth -c \".read a.sql\"").output, "column1\n1\ncolumn1\n2\n");
}

TEST_F(BatchTest, WhatHasNoBoundOfItsOwnGetsOne) {
  const Ended memory = run("berth -c \"SELECT length(randomblob(900000000))\" 2>&1");
  EXPECT_NE(memory.output.find("a text, a blob or a row is longer than 8 MiB"), std::string::npos) << memory.output;
  const Ended endless = run("head -c 9000000 /dev/zero | tr \"\\\\0\" x | berth - 2>&1");
  EXPECT_EQ(endless.code, 1);
  EXPECT_NE(endless.output.find("a statement has more than 8,388,608 bytes"), std::string::npos) << endless.output;
  // A name of 64 KiB is compared with nothing.
  const Ended name =
      run("(printf \"DROP POOL \"; head -c 65536 /dev/zero | tr \"\\\\0\" x) > a.sql; time timeout 5 " BERTH_PROGRAM
          " a.sql 2>&1");
  EXPECT_EQ(name.code, 1);
  EXPECT_NE(name.output.find("no pool"), std::string::npos) << name.output.substr(0, 300);
}

TEST_F(BatchTest, AFileWithoutEndIsNoFileOfStatements) {
  const Ended endless = run("berth /dev/zero 2>&1");
  EXPECT_EQ(endless.code, 1);
  EXPECT_NE(endless.output.find("a statement has more than 8,388,608 bytes"), std::string::npos) << endless.output;
  const Ended script = run("berth -c \"RUN SCRIPT \\\"/dev/zero\\\"\" 2>&1");
  EXPECT_EQ(script.code, 1);
  EXPECT_NE(script.output.find("has more than 16777216 bytes"), std::string::npos) << script.output;
  // Nobody ever writes to it.
  const Ended pipe = run("mkfifo never && (sleep 20 > never & berth --timeout 1s never 2>&1; kill $!)");
  EXPECT_NE(pipe.output.find("stopped by --timeout 1s"), std::string::npos) << pipe.output;
  EXPECT_NE(run("berth --timeout 1s never 2>&1").code, 0);
}

// Which file this is cannot be told without a descriptor: that is no reason to take it for a copy.
TEST_F(BatchTest, WithoutDescriptorsNothingIsTakenForACopy) {
  run("berth -c \"IMPORT NODES FROM LOCAL WITH (node = n1); CREATE QUEUE q; SUBMIT JOB a IN QUEUE q WITH (cpu = 0.1, "
      "memory = 64MiB, command = true); RUN ALL\" 2>/dev/null");
  for (int most = 4; most <= 14; ++most) {
    const Ended ended = run("(ulimit -n " + std::to_string(most) + "; exec " BERTH_PROGRAM " -c \"RUN ALL\" 2>&1)");
    EXPECT_EQ(ended.output.find("is a copy of"), std::string::npos) << most << ": " << ended.output;
    EXPECT_EQ(ended.output.find("ADOPT"), std::string::npos) << most << ": " << ended.output;
  }
}

TEST_F(BatchTest, WithoutMemoryItSaysSo) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take more memory than any limit";
#endif
  run("berth -c \"CREATE QUEUE q\" 2>/dev/null");
  // With less the program is not even loaded whole.
  for (int most = 18000; most <= 26000; most += 200) {
    const Ended ended = run("(ulimit -v " + std::to_string(most) + "; exec " BERTH_PROGRAM " -c \"SHOW JOBS\" 2>&1)");
    EXPECT_EQ(ended.output.find("terminate"), std::string::npos) << most << ": " << ended.output;
  }
}

TEST_F(BatchTest, ACopySaysSoWhateverIsAsked) {
  run("berth -c \"IMPORT NODES FROM LOCAL WITH (node = n1); CREATE QUEUE q; SUBMIT JOB a IN QUEUE q WITH (cpu = 0.1, "
      "memory = 64MiB, command = \\\"echo hello; sleep 20\\\"); RUN ALL\" 2>/dev/null; cp test.db copy.db");
  const std::string copy = "timeout 20 " BERTH_PROGRAM " --db copy.db ";
  const Ended loop = run(copy + "-c \"RUN ALL EVERY 1s\" 2>&1");
  EXPECT_EQ(loop.code, 1) << loop.output;
  EXPECT_NE(loop.output.find("is a copy of"), std::string::npos) << loop.output;
  const Ended log = run(copy + "-c \"SHOW LOG OF JOB a\" 2>&1");
  EXPECT_NE(log.output.find("is a copy of"), std::string::npos) << log.output;
  const Ended cancelled = run(copy + "-c \"CANCEL JOB a\" 2>&1");
  EXPECT_NE(cancelled.output.find("1 running job not stopped: this database is a copy of"), std::string::npos)
      << cancelled.output;
  EXPECT_EQ(run("berth -c \"CANCEL JOB a; RUN ALL\" 2>/dev/null").code, 0);
}

TEST_F(BatchTest, AByteOrderMarkIsSkipped) {
  write("a.sql", "\xEF\xBB\xBF.mode csv\nVALUES (1);\n");
  EXPECT_EQ(run("berth a.sql").output, "column1\n1\n");
  EXPECT_EQ(run("berth < a.sql").output, "column1\n1\n");
  write("a.lua", "\xEF\xBB\xBFprint('hello')\n");
  EXPECT_EQ(run("berth --script a.lua").output, "hello\n");
}

TEST_F(BatchTest, AForbiddenFileIsToldAsSuch) {
  run("berth -c \"CREATE POOL a\" && chmod 755 . && chmod 444 test.db");
  // Root may do everything.
  const std::string as_nobody = geteuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups " : "";
  const Ended forbidden = run(as_nobody + BERTH_PROGRAM " -c \"CREATE POOL b\" 2>&1");
  if (forbidden.output.find("setpriv") != std::string::npos) GTEST_SKIP() << forbidden.output;
  EXPECT_NE(forbidden.output.find("Permission denied"), std::string::npos) << forbidden.output;
}

TEST_F(BatchTest, ErrorsNameFileAndLineAndStopTheRun) {
  write("a.sql", "VALUES (1);\n\nHLEP;\nVALUES (2);\n");
  const Ended stopped = run("berth --mode csv a.sql 2>&1");
  EXPECT_EQ(stopped.code, 1);
  EXPECT_EQ(stopped.output,
            "column1\n1\nerror: unknown statement 'HLEP' (a.sql, line 3)\n  HLEP;\n  ^~~~\n  did you mean 'HELP'?\n");
  const Ended all = run("berth --mode csv --keep-going a.sql 2>/dev/null");
  EXPECT_EQ(all.code, 1);
  EXPECT_EQ(all.output, "column1\n1\ncolumn1\n2\n");
}

TEST_F(BatchTest, SqlErrorsPointAtTheWord) {
  const Ended ended = run("berth -c \"SELECT nam FROM nodes\" 2>&1");
  EXPECT_EQ(ended.code, 1);
  EXPECT_NE(ended.output.find("  SELECT nam FROM nodes\n         ^"), std::string::npos) << ended.output;
}

TEST_F(BatchTest, WrongUsage) {
  const Ended ended = run("berth --jsn 2>&1");
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.output, "error: unknown option '--jsn'\n  did you mean '--json'?\n");
}

TEST_F(BatchTest, ReadOnlyRefusesChangesAndLeavesNoFile) {
  const Ended changed = run("berth -c \"CREATE POOL a\" 2>/dev/null; berth --read-only -c \"CREATE POOL b\" 2>&1");
  EXPECT_EQ(changed.code, 1);
  EXPECT_NE(changed.output.find("read-only"), std::string::npos) << changed.output;
  EXPECT_NE(run("berth --db missing.db --read-only -c \"VALUES (1)\" 2>&1").code, 0);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "missing.db"));
}

TEST_F(BatchTest, StatementsFromAPipeRunAsTheyCome) {
  const Ended ended =
      run("(echo \"VALUES (1);\"; sleep 1; echo \"VALUES (2);\") | berth --mode csv | (read a; read b; echo \"$a $b\"; "
          "cat >/dev/null)");
  EXPECT_EQ(ended.output, "column1 1\n");
}

TEST_F(BatchTest, AClosedOutputIsAnError) {
  EXPECT_EQ(run("berth -c \"VALUES (1)\" >&- 2>/dev/null").code, 1);
  EXPECT_EQ(run("berth -c \"VALUES (1)\" > /dev/full 2>/dev/null").code, 1);
  EXPECT_EQ(run("set -o pipefail; (sleep 1; echo \"VALUES (1);\") | berth 2>err.txt | true; test ${PIPESTATUS[1]} = 1 "
                "&& cat err.txt")
                .code,
            0);
}

TEST_F(BatchTest, InterruptEndsABatchRun) {
  const std::string endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
  const Ended ended = run(interrupted_soon() + BERTH_PROGRAM " -c \"" + endless + "; VALUES (77)\" 2>&1");
  EXPECT_NE(ended.code, 0);
  EXPECT_NE(ended.output.find("interrupted"), std::string::npos) << ended.output;
  EXPECT_EQ(ended.output.find("77"), std::string::npos) << ended.output;
}

TEST_F(BatchTest, NoColourOutsideATerminal) {
  EXPECT_EQ(run("TERM=xterm berth -c \"VALUES (1); HLEP\" 2>&1").output.find('\x1b'), std::string::npos);
}

TEST_F(BatchTest, HelpAndVersion) {
  EXPECT_EQ(run("berth --db absent.db --help").output.substr(0, 8), "berth - ");
  EXPECT_EQ(run("berth --db absent.db --version").output.substr(0, 6), "berth ");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "absent.db"));
}

// A slip in a crontab makes no empty database.
TEST_F(BatchTest, ABatchMakesADatabaseOnlyToBeginOne) {
  for (const char* statement :
       {"RUN ALL", "RUN SCHEDULE", "SHOW JOBS", "SELECT 1", "CHECK", "PLAN CREATE POOL a", ".tables"}) {
    const Ended ended = run("berth --db tset.db -c \"" + std::string(statement) + "\" 2>&1");
    EXPECT_EQ(ended.code, 1) << statement;
    EXPECT_NE(ended.output.find("there is no database"), std::string::npos) << ended.output;
    EXPECT_NE(ended.output.find("did you mean \047test.db\047?"), std::string::npos) << ended.output;
  }
  EXPECT_EQ(run("echo \"RUN ALL;\" | berth --db tset.db 2>/dev/null").code, 1);
  EXPECT_EQ(run("berth --db tset.db -c \"HELP; HELP RUN ALL\" > /dev/null 2>&1").code, 0);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "tset.db"));
  EXPECT_EQ(run("berth --db tset.db -c \"HELP; CREATE POOL a; CREATE QUEUE q; RUN ALL\" > /dev/null 2>&1").code, 0);
  EXPECT_EQ(run("berth --mode csv --db tset.db -c \"SELECT name FROM pools\"").output, "name\na\n");
  EXPECT_NE(run("cd .. && berth --db nowhere/x.db -c \"RUN ALL\" 2>&1").code, 0);
}

// What a copy that failed leaves behind is no database either.
TEST_F(BatchTest, AnEmptyFileIsNoDatabase) {
  const Ended ended = run(": > copy.db; berth --db copy.db -c \"RUN ALL\" 2>&1");
  EXPECT_EQ(ended.code, 1);
  EXPECT_NE(ended.output.find("\047copy.db\047 is an empty file"), std::string::npos) << ended.output;
  EXPECT_EQ(std::filesystem::file_size(folder_ / "copy.db"), 0u);
  EXPECT_EQ(run("berth --db copy.db -c \"CREATE POOL a\" 2>/dev/null").code, 0);
  EXPECT_EQ(run("berth --mode csv --db copy.db -c \"SELECT name FROM pools\"").output, "name\na\n");
}

}  // namespace
}  // namespace berth::test
