#include "engine/exec/slurm_outcome.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "engine/exec/process.h"
#include "engine/exec/slurm_absence.h"
#include "engine/exec/slurm_records.h"
#include "engine/exec/slurm_script.h"
#include "tests/builders.h"

namespace berth {
namespace {

using test::must;

SlurmJob job_in(SlurmState state, const std::string& nodes = "n1") {
  SlurmJob job;
  job.id = 12;
  job.shown = "12";
  job.state = state;
  job.state_word = "STATE";
  job.reason = "Resources";
  job.nodes = nodes;
  job.submitted = Seconds(1000);
  job.started = Seconds(1010);
  job.ended = Seconds(1020);
  return job;
}

struct World {
  SlurmTaskFacts facts;
  SlurmJob job;
  std::map<std::pair<std::int32_t, std::int32_t>, SlurmTaskRecord> records;

  World() {
    facts.now = Seconds(2000);
    facts.pending_limit = Seconds(60);
  }
  World& with(SlurmJob row) {
    job = std::move(row);
    facts.job = &job;
    return *this;
  }
  World& with_record(std::string_view text) {
    read_slurm_record(text, "n1", records);
    facts.record = &records.at({0, 0});
    facts.claim = "12.0";
    return *this;
  }
  TaskObservation judge() const { return judge_slurm_task({{1, 1, 0, 0}, {1, 1, 0}, "", "n1"}, facts); }
};

// Slurm sends CONT before it ends a step, and when it wakes what was suspended.
TEST(SlurmOutcome, AStepThatWasWokenEndsByItself) {
  World world;
  world.facts.is_step = true;
  world.facts.slurm_kill_wait = Seconds(30);
  world.with_record("start 0 0 1000 77\ntold 0 0 1100\nexit 0 0 1105 0\nend 0 0 1105 0 1\n");
  EXPECT_EQ(world.judge().phase, TaskPhase::kVanished) << "its pilot has ended, too";
  world.facts.has_pilot = true;
  world.facts.listed = Seconds(1106);
  EXPECT_EQ(world.judge().phase, TaskPhase::kRunning) << "the pilot may be about to end";
  world.facts.listed = Seconds(1120);
  EXPECT_TRUE(world.judge().phase == TaskPhase::kEnded && world.judge().succeeded());
  world.with_record("start 0 0 1000 77\ntold 0 0 1100\nexit 0 0 1105 1\nend 0 0 1105 1 1\n");
  EXPECT_EQ(world.judge().phase, TaskPhase::kVanished) << "somebody may have ended the step";
  world.records.clear();
  world.facts.listed = Seconds(1320);
  world.with_record("start 0 0 1000 77\ntold 0 0 1100\nexit 0 0 1300 1\nend 0 0 1300 1 1\n");
  EXPECT_TRUE(world.judge().phase == TaskPhase::kEnded && world.judge().exit_code == 1) << "Slurm would have killed it";
}

TEST(SlurmOutcome, TheScriptsOwnWordsComeFirst) {
  World world;
  world.with(job_in(SlurmState::kRunning)).with_record("start 0 0 1011 77\nend 0 0 1015 3 12 2048\n");
  const TaskObservation seen = world.judge();
  EXPECT_EQ(seen.phase, TaskPhase::kEnded);
  EXPECT_EQ(seen.exit_code, 3);
  EXPECT_EQ(seen.started, Seconds(1011));
  EXPECT_EQ(seen.ended, Seconds(1015));
  EXPECT_EQ(seen.use.cpu_seconds, 12);
  EXPECT_EQ(seen.use.memory_peak, MiB(2048));
  EXPECT_EQ(World().with_record("start 0 0 1011 77\nend 0 0 1015 137 1 \n").judge().signal, 9);
  EXPECT_TRUE(World().with_record("start 0 0 1 7\nlate 0 0 5\nend 0 0 6 143 1\n").judge().is_out_of_time);
  EXPECT_TRUE(World()
                  .with(job_in(SlurmState::kOutOfMemory))
                  .with_record("start 0 0 1 7\nend 0 0 6 137 1\n")
                  .judge()
                  .is_out_of_memory);
  // A line that was torn where there was no room says nothing, also when others follow.
  for (const std::string torn : {"end 0 0 6", "end 0 0 6 13", "end 0"}) {
    const std::string record = "start 0 0 1 7\n" + torn + "\ntold 0 0 9\n";
    EXPECT_EQ(World().with(job_in(SlurmState::kRunning)).with_record(record).judge().phase, TaskPhase::kRunning)
        << torn;
  }
  // A line that is still being written says nothing yet.
  EXPECT_EQ(World().with(job_in(SlurmState::kRunning)).with_record("start 0 0 1 7\nend 0 0 6 13").judge().phase,
            TaskPhase::kRunning);
}

TEST(SlurmOutcome, AnExitCodeIsNoSignal) {
  const TaskObservation exited = World().with_record("start 0 0 1 7\nexit 0 0 6 130\nend 0 0 6 130 1\n").judge();
  EXPECT_EQ(exited.exit_code, 130);
  EXPECT_EQ(exited.signal, 0);
  const TaskObservation told = World().with_record("start 0 0 1 7\nsignal 0 0 5 10\nend 0 0 6 138 1\n").judge();
  EXPECT_EQ(told.signal, 10);
  EXPECT_TRUE(told.was_told);
  EXPECT_FALSE(exited.was_told);
}

// The script writes a line before it tells a task anything. Where no such line precedes the end, nobody told the task.
TEST(SlurmOutcome, WhatEndedBeforeItsScriptHeardOfAStopIsUntold) {
  const auto is_untold = [](SlurmState state, const std::string& record) {
    return World().with(job_in(state)).with_record("start 0 0 1 7\n" + record).judge().is_untold;
  };
  EXPECT_TRUE(is_untold(SlurmState::kCompleted, "end 0 0 6 0 1\n"));
  EXPECT_TRUE(is_untold(SlurmState::kCompleted, "end 0 0 6 0 1\nstop 0 0 7 15\n"));
  EXPECT_FALSE(is_untold(SlurmState::kCompleted, "signal 0 0 5 10\nend 0 0 6 0 1\n"));
  EXPECT_FALSE(is_untold(SlurmState::kCompleted, "told 0 0 5\nend 0 0 6 0 1\n"));
  EXPECT_FALSE(is_untold(SlurmState::kCancelled, "end 0 0 6 0 1\n"));
}

// What a task made of the death of its node is not its failure.
TEST(SlurmOutcome, ANodeThatFailedIsALoss) {
  for (const SlurmState state : {SlurmState::kNodeFailed, SlurmState::kPreempted}) {
    const auto judged = [&](const std::string& code) {
      return World().with(job_in(state)).with_record("start 0 0 1 7\nend 0 0 6 " + code + " 1\n").judge();
    };
    EXPECT_EQ(judged("143").phase, TaskPhase::kVanished);
    EXPECT_EQ(judged("143").detail, "Slurm says STATE of job 12");
    EXPECT_EQ(judged("1").phase, TaskPhase::kVanished);
    EXPECT_TRUE(judged("0").succeeded());
  }
}

// Where Slurm kills the script alone, its guard ends what it left.
TEST(SlurmOutcome, WhatItsGuardIsEndingStillRuns) {
  const auto phase = [&](SlurmState state, const std::string& record, Seconds now) {
    World world;
    world.facts.now = now;
    world.facts.kill_wait = Seconds(300);
    world.facts.slurm_kill_wait = Seconds(30);
    return world.with(job_in(state)).with_record(record).judge().phase;
  };
  const std::string left = "start 0 0 1011 7\nleft 0 0 1500\nstop 0 0 1500 TERM\n";
  for (const SlurmState state :
       {SlurmState::kFailed, SlurmState::kCancelled, SlurmState::kTimeout, SlurmState::kNodeFailed}) {
    EXPECT_EQ(phase(state, left, Seconds(1819)), TaskPhase::kRunning);
    EXPECT_NE(phase(state, left, Seconds(1820)), TaskPhase::kRunning);
    EXPECT_EQ(phase(state, left + "end 0 0 1600 143 1\n", Seconds(1610)),
              phase(state, left + "end 0 0 1600 143 1\n", Seconds(5000)));
  }
  // The guard has not written it down yet: the end of a cancelled job is the moment when it was cancelled.
  EXPECT_EQ(phase(SlurmState::kCancelled, "start 0 0 1011 7\ntold 0 0 1020\n", Seconds(1060)), TaskPhase::kRunning);
}

// Slurm calls a node failed that somebody sets down, and ends what runs there with its usual patience.
TEST(SlurmOutcome, ANodeThatFailedMayLive) {
  World world;
  SlurmJob job = job_in(SlurmState::kNodeFailed);
  job.ended = Seconds(1000);
  world.facts.slurm_kill_wait = Seconds(30);
  const auto phase = [&](Seconds now) {
    World then = world;
    then.facts.now = now;
    return then.with(job).with_record("start 0 0 900 7\n").judge().phase;
  };
  EXPECT_EQ(phase(Seconds(1049)), TaskPhase::kRunning);
  EXPECT_EQ(phase(Seconds(1050)), TaskPhase::kVanished);
}

// Slurm sends CONT before TERM; what a task makes of it, though it exits 0, is no end of its own.
TEST(SlurmOutcome, WhatSlurmToldToEndHasNotSucceeded) {
  const std::string told = "start 0 0 1 7\ntold 0 0 5\nexit 0 0 6 0\nend 0 0 6 0 1\n";
  const auto judged = [&](SlurmState state, const std::string& record) {
    SlurmJob job = job_in(state);
    job.started = Seconds(1);
    return World().with(std::move(job)).with_record(record).judge();
  };
  EXPECT_EQ(judged(SlurmState::kPreempted, told).phase, TaskPhase::kVanished);
  EXPECT_EQ(judged(SlurmState::kNodeFailed, told).phase, TaskPhase::kVanished);
  EXPECT_EQ(judged(SlurmState::kCancelled, told).signal, 15);
  EXPECT_TRUE(judged(SlurmState::kTimeout, told).is_out_of_time);
  EXPECT_EQ(judged(SlurmState::kEnding, told).phase, TaskPhase::kRunning);  // it has not said why yet
  const std::string before = "start 0 0 1 7\nexit 0 0 4 0\nend 0 0 4 0 1\ntold 0 0 5\n";
  EXPECT_TRUE(judged(SlurmState::kPreempted, before).succeeded());
  const std::string quick = "start 0 0 1 7\nend 0 0 4 143 1\ntold 0 0 5\n";  // noted a moment late
  EXPECT_EQ(judged(SlurmState::kPreempted, quick).phase, TaskPhase::kVanished);
  const std::string ours = "start 0 0 1 7\nstop 0 0 4 TERM\ntold 0 0 5\nexit 0 0 6 0\nend 0 0 6 0 1\n";
  EXPECT_TRUE(judged(SlurmState::kCancelled, ours).was_told);
  EXPECT_EQ(judged(SlurmState::kCancelled, ours).signal, 0);
  const std::string left = "start 0 0 1 7\nleft 0 0 5\nstop 0 0 5 TERM\nexit 0 0 6 0\nend 0 0 6 0 1\n";
  EXPECT_EQ(judged(SlurmState::kFailed, left).phase, TaskPhase::kVanished);
}

// Where somebody kills the script of a launch on several nodes, Slurm ends its steps and says FAILED.
TEST(SlurmOutcome, WhoseScriptWasKilledIsLost) {
  const auto judged = [](SlurmState state, bool has_ended_whole, const std::string& end, Seconds now = Seconds(2000)) {
    World world;
    world.facts.now = now;
    world.facts.has_ended_whole = has_ended_whole;
    world.facts.slurm_kill_wait = Seconds(30);
    SlurmJob job = job_in(state);
    job.started = Seconds(1);
    job.ended = Seconds(1005);
    return world.with(std::move(job)).with_record("start 0 0 1 7\ntold 0 0 1005\n" + end).judge();
  };
  const std::string saved = "exit 0 0 1006 0\nend 0 0 1006 0 1\n";
  const std::string killed = "end 0 0 1006 143 1\n";
  for (const std::string& end : {saved, killed}) {
    EXPECT_EQ(judged(SlurmState::kFailed, false, end).phase, TaskPhase::kVanished);
    EXPECT_EQ(judged(SlurmState::kFailed, false, end).detail, "Slurm says STATE of job 12");
    EXPECT_EQ(judged(SlurmState::kFailed, false, end, Seconds(1010)).phase, TaskPhase::kRunning)
        << "its folder may be behind";
    EXPECT_TRUE(judged(SlurmState::kOutOfMemory, false, end).is_out_of_memory);
    EXPECT_EQ(judged(SlurmState::kFailed, true, end).phase, TaskPhase::kEnded) << "it was suspended and woken";
  }
  EXPECT_TRUE(judged(SlurmState::kCompleted, true, saved).succeeded());
  EXPECT_EQ(judged(SlurmState::kFailed, false, "exit 0 0 1300 1\nend 0 0 1300 1 1\n").phase, TaskPhase::kEnded)
      << "Slurm would have killed it";
}

// It was preempted or cancelled, and Slurm has forgotten it since: accounting may say why.
TEST(SlurmOutcome, WhatSlurmToldToEndAndForgotIsLost) {
  World world;
  world.with_record("start 0 0 1 7\ntold 0 0 5\nexit 0 0 6 0\nend 0 0 6 0 1\n");
  EXPECT_EQ(world.judge().phase, TaskPhase::kRunning) << "one listing proves nothing";
  world.facts.is_gone = true;
  EXPECT_EQ(world.judge().phase, TaskPhase::kVanished);
  world.facts.is_current = false;
  EXPECT_EQ(world.judge().phase, TaskPhase::kRunning) << "it was listed before its claim";
  World late;
  late.with_record("start 0 0 1 7\ntold 0 0 5\nexit 0 0 7200 0\nend 0 0 7200 0 1\n");
  late.facts.is_gone = true;
  EXPECT_TRUE(late.judge().succeeded()) << "it was suspended and woken";
  World ours;
  ours.with_record("start 0 0 1 7\nstop 0 0 4 TERM\ntold 0 0 5\nexit 0 0 6 0\nend 0 0 6 0 1\n");
  EXPECT_TRUE(ours.judge().was_told);
}

// A signal for an eviction that was withdrawn lasts for its grace. What others tell the task later is theirs.
TEST(SlurmOutcome, ASignalThatIsOverDoesNotHideWhatOthersDid) {
  const std::string begun = "start 0 0 1011 7\nsignal 0 0 1100 10 1160\n";
  const std::string ended = "exit 0 0 1505 0\nend 0 0 1505 0 1\n";
  const auto judge = [&](SlurmState state, const std::string& told) {
    return World().with(job_in(state)).with_record(begun + told + ended).judge();
  };
  EXPECT_EQ(judge(SlurmState::kPreempted, "told 0 0 1500\n").phase, TaskPhase::kVanished);
  EXPECT_EQ(judge(SlurmState::kNodeFailed, "told 0 0 1500\n").phase, TaskPhase::kVanished);
  EXPECT_EQ(judge(SlurmState::kCancelled, "told 0 0 1500\n").signal, 15);
  EXPECT_EQ(judge(SlurmState::kRunning, "told 0 0 1500\n").phase, TaskPhase::kRunning) << "Slurm will say why";
  EXPECT_TRUE(judge(SlurmState::kCompleted, "told 0 0 1101\n").succeeded()) << "our own word, heard twice";
  EXPECT_TRUE(judge(SlurmState::kRunning, "").succeeded());
}

TEST(SlurmOutcome, WhatSlurmRequeuedIsLost) {
  const std::string told = "start 0 0 1011 7\ntold 0 0 1500\nexit 0 0 1505 0\nend 0 0 1505 0 1\n";
  const std::string untold = "start 0 0 1011 7\nexit 0 0 1505 0\nend 0 0 1505 0 1\n";
  SlurmJob again = job_in(SlurmState::kCompleted);
  again.started = Seconds(1620);
  EXPECT_EQ(World().with(job_in(SlurmState::kPending)).with_record(told).judge().phase, TaskPhase::kVanished);
  EXPECT_EQ(World().with(again).with_record(told).judge().phase, TaskPhase::kVanished);
  EXPECT_TRUE(World().with(job_in(SlurmState::kCompleted)).with_record(told).judge().succeeded());
  EXPECT_TRUE(World().with(job_in(SlurmState::kPending)).with_record(untold).judge().succeeded()) << "done before";
  World early;
  early.facts.is_current = false;
  EXPECT_EQ(early.with(job_in(SlurmState::kPending)).with_record(told).judge().phase, TaskPhase::kRunning);
}

// Its guard may yet be ending what it started, whatever it said before it died.
TEST(SlurmOutcome, AScriptThatDiedWithAWordMayHaveLeftATask) {
  World world;
  world.with(job_in(SlurmState::kFailed)).with_record("start 0 0 1011 77\n");
  world.facts.complaint = "trap: line 2: unexpected EOF";
  world.facts.now = Seconds(1025);
  EXPECT_EQ(world.judge().phase, TaskPhase::kRunning);
  world.facts.now = Seconds(1041);
  EXPECT_EQ(world.judge().phase, TaskPhase::kVanished);
}

// Slurm cancels what is suspended without waking its script, and says that it ended when it was suspended.
TEST(SlurmOutcome, ASuspendedJobThatWasAskedToEndWasTold) {
  World world;
  world.with(job_in(SlurmState::kCancelled)).with_record("start 0 0 1011 77\n");
  EXPECT_FALSE(world.judge().was_told);
  world.facts.is_asked_to_end = true;
  EXPECT_EQ(world.judge().phase, TaskPhase::kEnded);
  EXPECT_TRUE(world.judge().was_told);
}

// As of a job whose prolog failed, or that its node could not take: it never ran.
TEST(SlurmOutcome, WhatSlurmCancelledBeforeItBeganIsLost) {
  World world;
  world.with(job_in(SlurmState::kCancelled));
  world.facts.now = world.job.ended + Seconds(5);
  EXPECT_EQ(world.judge().phase, TaskPhase::kRunning) << "its record may yet show";
  world.facts.now = world.job.ended + Seconds(30);
  EXPECT_EQ(world.judge().phase, TaskPhase::kVanished);
  EXPECT_EQ(world.judge().begin, TaskBegin::kLost);
  world.with(job_in(SlurmState::kCancelled, ""));
  EXPECT_EQ(world.judge().phase, TaskPhase::kVanished) << "it waited in Slurm's own queue";
  EXPECT_EQ(world.judge().begin, TaskBegin::kUnknown);
}

TEST(SlurmOutcome, WhatWaitsForANodeThatSlurmKeepsIsKeptOut) {
  World world;
  world.with(job_in(SlurmState::kPending, ""));
  EXPECT_FALSE(world.judge().is_kept_out);
  world.job.reason = "ReqNodeNotAvail, May be reserved for other job";
  EXPECT_TRUE(world.judge().is_kept_out);
}

TEST(SlurmOutcome, WhoseFolderIsGoneHasBegunAllTheSame) {
  for (const SlurmState state : {SlurmState::kCompleted, SlurmState::kFailed, SlurmState::kCancelled}) {
    World world;
    world.with(job_in(state));
    world.facts.has_folder = false;
    world.facts.now = world.job.ended + Seconds(30);
    EXPECT_EQ(world.judge().phase, TaskPhase::kVanished);
    EXPECT_EQ(world.judge().begin, TaskBegin::kBegan) << "its node lost nothing";
  }
}

// Its script runs on the first node: that one has lost it, and the others of the launch have not.
TEST(SlurmOutcome, ALaunchThatNeverBeganIsLostByItsFirstNode) {
  const auto begin = [](SlurmState state, const std::string& nodes) {
    return World().with(job_in(state, nodes)).judge().begin;
  };
  EXPECT_EQ(begin(SlurmState::kFailed, "n1"), TaskBegin::kLost);
  EXPECT_EQ(begin(SlurmState::kFailed, "n[1-4]"), TaskBegin::kLost);
  EXPECT_EQ(begin(SlurmState::kFailed, "n[0-4]"), TaskBegin::kUnknown);
  EXPECT_EQ(begin(SlurmState::kNodeFailed, "n[0-4]"), TaskBegin::kNodeFailed) << "one of them, says Slurm";
  EXPECT_EQ(begin(SlurmState::kPreempted, "n1"), TaskBegin::kUnknown);
  EXPECT_EQ(begin(SlurmState::kRunning, "n1"), TaskBegin::kUnknown);
  World began;
  began.with(job_in(SlurmState::kFailed)).with_record("start 0 0 1 7\n");
  EXPECT_EQ(began.judge().begin, TaskBegin::kBegan);
}

// Slurm ended the job; its script may yet see to what is left of a task.
TEST(SlurmOutcome, WhatSlurmEndedEndsWhenItsScriptSaysSo) {
  World world;
  world.with(job_in(SlurmState::kCancelled)).with_record("start 0 0 1011 7\n");
  world.facts.now = Seconds(1025);
  EXPECT_EQ(world.judge().phase, TaskPhase::kRunning);
  world.facts.now = Seconds(1050);
  EXPECT_EQ(world.judge().signal, 15);
}

TEST(SlurmOutcome, EndsThatSlurmKnows) {
  const auto ended = [](SlurmState state) {
    return World().with(job_in(state)).with_record("start 0 0 1 7\n").judge();
  };
  EXPECT_TRUE(ended(SlurmState::kTimeout).is_out_of_time);
  EXPECT_TRUE(ended(SlurmState::kOutOfMemory).is_out_of_memory);
  EXPECT_EQ(ended(SlurmState::kCancelled).signal, 15);
  EXPECT_EQ(ended(SlurmState::kNodeFailed).phase, TaskPhase::kVanished);
  EXPECT_EQ(ended(SlurmState::kPreempted).phase, TaskPhase::kVanished);
  EXPECT_EQ(ended(SlurmState::kFailed).phase, TaskPhase::kVanished);
  EXPECT_TRUE(ended(SlurmState::kCompleted).succeeded());
  // Put back into Slurm's queue: it began, and will not run again.
  EXPECT_EQ(ended(SlurmState::kPending).phase, TaskPhase::kVanished);
  EXPECT_EQ(ended(SlurmState::kEnding).phase, TaskPhase::kRunning);
}

TEST(SlurmOutcome, WhatWaitedWhenItWasListedMayHaveStarted) {
  World world;
  world.with(job_in(SlurmState::kPending));
  world.facts.is_current = false;
  EXPECT_EQ(world.judge().phase, TaskPhase::kStarting);
  world.facts.claim = "12.0";
  EXPECT_EQ(world.judge().phase, TaskPhase::kRunning);
}

TEST(SlurmOutcome, ASharedFolderMayLagBehind) {
  World world;
  world.with(job_in(SlurmState::kCompleted)).with_record("start 0 0 1011 7\n");
  world.facts.now = Seconds(1025);
  EXPECT_EQ(world.judge().phase, TaskPhase::kRunning);
  world.facts.now = Seconds(1050);
  EXPECT_EQ(world.judge().phase, TaskPhase::kEnded);
}

TEST(SlurmOutcome, WaitingTooLongInSlurmIsSaid) {
  World world;
  world.with(job_in(SlurmState::kPending, ""));
  EXPECT_EQ(world.judge().phase, TaskPhase::kStarting);
  EXPECT_EQ(world.judge().detail, "job 12 waits in Slurm's own queue (Resources)");
  EXPECT_TRUE(world.judge().is_stuck);
  EXPECT_EQ(world.judge().started, Seconds(-1));
  world.facts.now = Seconds(1030);
  EXPECT_FALSE(world.judge().is_stuck);
}

TEST(SlurmOutcome, WhatSlurmDoesNotList) {
  World world;
  EXPECT_EQ(world.judge().phase, TaskPhase::kAbsent);
  world.facts.submission = {12, 5};
  EXPECT_EQ(world.judge().phase, TaskPhase::kStarting) << "one listing proves nothing";
  EXPECT_EQ(World().with_record("start 0 0 1 7\n").judge().phase, TaskPhase::kRunning);
  world.facts.is_gone = true;
  EXPECT_EQ(world.judge().phase, TaskPhase::kVanished);
  EXPECT_EQ(world.judge().external, "12");
  // It was listed before the submission.
  world.facts.is_current = false;
  EXPECT_EQ(world.judge().phase, TaskPhase::kStarting);
  world.facts.claim = "12.0";
  EXPECT_EQ(world.judge().phase, TaskPhase::kRunning);
  world.facts.claim = "stopped";
  EXPECT_EQ(world.judge().phase, TaskPhase::kEnded);
  world.facts.claim = "refused";
  EXPECT_EQ(world.judge().phase, TaskPhase::kAbsent);
}

TEST(SlurmOutcome, AStateThatNobodyKnowsIsNoEnd) {
  EXPECT_EQ(World().with(job_in(SlurmState::kUnknown)).judge().phase, TaskPhase::kStarting);
  for (const SlurmState state : {SlurmState::kUnknown, SlurmState::kConfiguring}) {
    const TaskObservation seen = World().with(job_in(state)).with_record("start 0 0 1 7\n").judge();
    EXPECT_EQ(seen.phase, TaskPhase::kRunning);
    EXPECT_EQ(seen.detail, "Slurm says STATE of job 12");
  }
}

}  // namespace
}  // namespace berth
