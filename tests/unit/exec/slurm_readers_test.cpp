// Readers of what Slurm prints, on text recorded from Slurm 22.05.8.

#include <gtest/gtest.h>

#include "engine/exec/slurm_accounts.h"
#include "engine/exec/slurm_hostlist.h"
#include "engine/exec/slurm_jobs.h"
#include "engine/exec/slurm_nodes.h"
#include "tests/builders.h"

namespace berth {
namespace {

using test::must;

std::string expanded(std::string_view text, std::size_t most = 1000) {
  const auto names = expand_slurm_hostlist(text, most);
  return names.ok() ? join(*names, " ") : names.status().message();
}

TEST(SlurmHostlist, Expands) {
  EXPECT_EQ(expanded(""), "");
  EXPECT_EQ(expanded("(null)"), "");
  EXPECT_EQ(expanded("n1"), "n1");
  EXPECT_EQ(expanded("n[1-3,7],login"), "n1 n2 n3 n7 login");
  EXPECT_EQ(expanded("n[08-11]"), "n08 n09 n10 n11");
  EXPECT_EQ(expanded("rack[0-1]n[1,03]x"), "rack0n1x rack0n03x rack1n1x rack1n03x");
}

TEST(SlurmHostlist, SaysWhatIsWrong) {
  EXPECT_EQ(expanded("n[1-3"), "node list 'n[1-3': ']' is missing");
  EXPECT_EQ(expanded("n1]"), "node list 'n1]': ']' without its '['");
  EXPECT_EQ(expanded("n[3-1]"), "node list '3-1': the range runs backwards");
  EXPECT_EQ(expanded("n[]"), "node list '': expected a number");
  EXPECT_EQ(expanded("n[a]"), "node list 'a': expected a number");
  EXPECT_EQ(expanded("a,,b"), "node list 'a,,b': an empty name");
  EXPECT_EQ(expanded("n[1-999999999999]"), "node list '1-999999999999': too many names");
  EXPECT_EQ(expanded("n[1-100]m[1-100]"), "node list 'm[1-100]': too many names");
}

constexpr std::string_view kSqueue =
    "6|FAILED|BadConstraints||root|1795247922|1795247922|1795247922|(null)|bad\n"
    "3+0|PENDING|Resources||root|1795247922|1826783922|NONE|(null)|het\n"
    "3+1|PENDING|Resources||root|1795247922|N/A|N/A|(null)|het\n"
    "8_[1-3%1]|PENDING|None||root|1795247922|N/A|N/A|(null)|arr\n"
    "1|RUNNING|None|n[1-2]|root|1795247922|1795247922|1826783922|(null)|berth-abc123-12-1-l0\n"
    "2|RUNNING|None|n4|root|1795247922|1795247922|1826783922|(null)|odd | name x=1 Nodes=n9\n"
    "squeue: something else\n"
    "7|COMPL";

TEST(SlurmJobs, RowsOfSqueue) {
  const std::vector<SlurmJob> jobs = read_squeue(kSqueue);
  ASSERT_EQ(jobs.size(), 6u);
  EXPECT_TRUE(jobs[0].never_was());
  EXPECT_EQ(jobs[1].id, 3);
  EXPECT_EQ(jobs[2].id, 3);
  EXPECT_EQ(jobs[2].component, 1);
  EXPECT_EQ(jobs[2].started, Seconds(-1));
  EXPECT_EQ(jobs[3].shown, "8_[1-3%1]");
  EXPECT_EQ(jobs[4].state, SlurmState::kRunning);
  EXPECT_EQ(jobs[4].nodes, "n[1-2]");
  EXPECT_EQ(jobs[4].submitted, Seconds(1795247922));
  EXPECT_EQ(jobs[5].name, "odd | name x=1 Nodes=n9");
}

TEST(SlurmJobs, ALaunchThatSomebodyRenamedKeepsItsName) {
  const std::vector<SlurmJob> jobs = read_squeue(
      "1|RUNNING|None|n1|root|1|1|1|{\"job\":12,\"launch\":\"berth-abc123-12-1-l0\"}|train\n"
      "2|RUNNING|None|n1|root|1|1|1|a | comment|berth-abc123-13-1-l0\n");
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs[0].name, "berth-abc123-12-1-l0");
  EXPECT_NE(jobs[1].name, "berth-abc123-13-1-l0") << "one cannot tell where the comment ends";
}

// What is not listed may be in what cannot be read.
TEST(SlurmJobs, AListingWithOtherLinesIsNotWhole) {
  const auto is_whole = [](std::string_view text) {
    bool whole = true;
    (void)read_squeue(text, &whole);
    return whole;
  };
  constexpr std::string_view kRow = "1|RUNNING|None|n1|root|1|1|1|(null)|berth-abc123-12-1-l0\n";
  EXPECT_TRUE(is_whole(""));
  EXPECT_TRUE(is_whole("\n"));
  EXPECT_TRUE(is_whole(kRow));
  EXPECT_FALSE(is_whole(kSqueue));
  EXPECT_FALSE(is_whole("slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n"));
  for (std::size_t i = 1; i < kRow.size(); ++i) {
    EXPECT_FALSE(is_whole(kRow.substr(0, i))) << i;
    EXPECT_TRUE(read_squeue(kRow.substr(0, i)).empty()) << "half a name may be another's: " << i;
  }
}

TEST(SlurmJobs, States) {
  EXPECT_EQ(read_slurm_state("CANCELLED by 1000"), SlurmState::kCancelled);
  EXPECT_EQ(read_slurm_state("OUT_OF_MEMORY"), SlurmState::kOutOfMemory);
  EXPECT_EQ(read_slurm_state("COMPLETING"), SlurmState::kEnding);
  EXPECT_EQ(read_slurm_state("REQUEUE_HOLD"), SlurmState::kPending);
  EXPECT_EQ(read_slurm_state("POWER_UP_NODE"), SlurmState::kConfiguring);
  EXPECT_EQ(read_slurm_state("A_STATE_OF_NEXT_YEAR"), SlurmState::kUnknown);
  EXPECT_EQ(read_slurm_state(""), SlurmState::kUnknown);
  EXPECT_EQ(read_slurm_state("running"), SlurmState::kRunning);
  EXPECT_EQ(read_slurm_state("R"), SlurmState::kRunning);
  EXPECT_EQ(read_slurm_state("PD"), SlurmState::kPending);
  EXPECT_EQ(read_slurm_state("CG"), SlurmState::kEnding);
  EXPECT_EQ(read_slurm_state("CANCELLED+"), SlurmState::kCancelled);
  EXPECT_FALSE(is_slurm_end(SlurmState::kUnknown));
  EXPECT_FALSE(is_slurm_end(SlurmState::kEnding));
  EXPECT_TRUE(is_slurm_end(SlurmState::kCompleted));
  EXPECT_TRUE(is_slurm_end(SlurmState::kPreempted));
}

TEST(SlurmJobs, RowsOfSacct) {
  const std::vector<SlurmJob> jobs = read_sacct(
      "12|CANCELLED by 0|1795247922|1795247930|berth-abc123-1-1-l0\n"
      "1|COMPLETED|1795250177|1795250177|a|b\n");
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs[1].name, "a|b");
  EXPECT_EQ(jobs[0].state, SlurmState::kCancelled);
  EXPECT_EQ(jobs[0].ended, Seconds(1795247930));
}

TEST(SlurmJobs, WhatJobsHoldOfEachNode) {
  const std::vector<SlurmHolding> held = read_slurm_holdings(
      "JobId=1 JobName=berth-abc123-12-1-l0 UserId=root(0) GroupId=root(0) JobState=RUNNING NumNodes=2 NumCPUs=4 "
      "TRES=cpu=4,mem=200M,node=2,billing=4 JOB_GRES=gpu:a100:4   Nodes=n[1-2] CPU_IDs=0-1 Mem=100 "
      "GRES=gpu:a100:2(IDX:0-1) MinCPUsNode=2 Power= TresPerNode=gres:gpu:2 \n"
      "JobId=2 JobName=odd | name x=1 Nodes=n9 UserId=ann(1000) JobState=RUNNING   Nodes=n4 CPU_IDs=2-4,7 Mem=200 "
      "GRES=gpu:a100:3(IDX:0-1,3) MinCPUsNode=3\n"
      "JobId=3 JobName=het UserId=root(0) JobState=PENDING NodeList= NumNodes=1-1 MinCPUsNode=1\n");
  ASSERT_EQ(held.size(), 3u);
  EXPECT_EQ(held[1].node, "n2");
  EXPECT_EQ(held[1].cpus, 2);
  EXPECT_EQ(held[1].devices, 0b11u);
  EXPECT_EQ(held[2].node, "n4");
  EXPECT_EQ(held[2].user, "ann");
  EXPECT_EQ(held[2].cpus, 4);
  EXPECT_EQ(held[2].memory, MiB(200));
  EXPECT_EQ(held[2].gpus, 3);
  EXPECT_EQ(held[2].devices, 0b1011u);
}

TEST(SlurmJobs, Gres) {
  EXPECT_EQ(read_slurm_gres("gpu:a100:4(S:0-1),shard:a100:40").count, 4);
  EXPECT_EQ(read_slurm_gres("gpu:a100:4(S:0-1),shard:a100:40").model, "a100");
  EXPECT_EQ(read_slurm_gres("gpu:2").count, 2);
  EXPECT_EQ(read_slurm_gres("gpu:2").model, "");
  EXPECT_EQ(read_slurm_gres("craynetwork:4,gpu:1g.10gb:7").model, "1g.10gb");
  EXPECT_EQ(read_slurm_gres("(null)").count, 0);
}

TEST(SlurmNodes, RowsAndStates) {
  const std::vector<SlurmNode> nodes = read_sinfo(
      "n1|idle|8|16000|gpu:a100:4|berth*|rack1|none\n"
      "n2|down*|8|16000|gpu:a100:4|berth*|rack1|Not responding\n"
      "n3|drained|8|16000|gpu:a100:4|berth*|rack1|fan | broken\n"
      "n3|drained|8|16000|gpu:a100:4|debug|rack1|fan | broken\n"
      "n4|draining|8|16000+|(null)|berth*|(null)|berth-3fa9c2: memory errors\n");
  ASSERT_EQ(nodes.size(), 4u);
  const auto judged = [&](std::size_t i) { return judge_slurm_node(nodes[i], "3fa9c2"); };
  EXPECT_TRUE(judged(0).is_ready && !judged(0).is_cordoned && judged(0).detail.empty());
  EXPECT_FALSE(judged(1).is_ready);
  EXPECT_EQ(judged(1).detail, "down*: Not responding");
  EXPECT_TRUE(judged(2).is_ready && judged(2).is_cordoned);
  EXPECT_EQ(judged(2).detail, "drained: fan | broken");
  EXPECT_TRUE(judged(3).is_ready && !judged(3).is_cordoned);
  for (const auto& [state, is_ready] : std::vector<std::pair<std::string, bool>>{{"mixed-", true},
                                                                                 {"idle~", true},
                                                                                 {"idle%", false},
                                                                                 {"allocated#", true},
                                                                                 {"allocated", true},
                                                                                 {"idle*", false},
                                                                                 {"unknown", false},
                                                                                 {"planned", true},
                                                                                 {"drained*", false},
                                                                                 {"mixed$", true},
                                                                                 {"inval", true},
                                                                                 {"fail", false}})
    EXPECT_EQ(judge_slurm_node({"n1", state, 0, MiB(), "", {}, "", ""}, "3fa9c2").is_ready, is_ready) << state;
  const auto patience = [](const char* state) {
    return judge_slurm_node({"n1", state, 0, MiB(), "", {}, "", ""}, "3fa9c2").patience;
  };
  EXPECT_GT(patience("mixed*"), Seconds(1'000'000)) << "Slurm waits for its slurmd, and says down when it gives up";
  EXPECT_EQ(patience("down*"), Seconds());
  EXPECT_GT(patience("inval*"), Seconds(1'000'000)) << "what runs there runs on";
  EXPECT_GT(patience("reboot^"), Seconds(1'000'000));
  EXPECT_TRUE(judge_slurm_node({"n1", "inval", 0, MiB(), "", {}, "", ""}, "3fa9c2").is_cordoned);

  const InventoryNode row = slurm_inventory_node(nodes[2], "debug", "3fa9c2");
  EXPECT_EQ(row.pool, "debug");
  EXPECT_EQ(row.model, "a100");
  EXPECT_EQ(row.devices, 4);
  EXPECT_FALSE(row.is_ready);
  const InventoryNode plain = slurm_inventory_node(nodes[3], "", "3fa9c2");
  EXPECT_EQ(plain.pool, "berth");
  EXPECT_EQ(plain.model, "");
  EXPECT_EQ(plain.memory, MiB(16000));
}

TEST(SlurmNodes, SwitchesAreRacks) {
  const auto switches = read_slurm_switches(
      "SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[1-2]\nSwitchName=s2 Level=0 LinkSpeed=1 Nodes=n3\n"
      "SwitchName=top Level=1 LinkSpeed=1 Nodes=n[1-3] Switches=s[1-2]\n");
  ASSERT_EQ(switches.size(), 3u);
  EXPECT_EQ(switches.at("n2"), "s1");
  EXPECT_EQ(switches.at("n3"), "s2");
  EXPECT_EQ(read_slurm_kill_wait("JobRequeue              = 1\nKillOnBadExit           = 0\nKillWait                = "
                                 "45 sec\n"),
            Seconds(45));
  EXPECT_EQ(read_slurm_kill_wait("KillWait                = soon\n"), std::nullopt);
  EXPECT_EQ(read_slurm_kill_wait("KillOnBadExit=0"), std::nullopt);
  EXPECT_EQ(read_slurm_cluster("ClusterName             = ml\nSlurmctldHost[0]        = head1(10.0.0.1)\n"
                               "SlurmctldHost[1]        = head2\nSlurmctldPort           = 6817\n"),
            "ml at head1:6817");
  EXPECT_EQ(read_slurm_cluster("Slurmctld(primary) at head1 is DOWN\n"), "");
  EXPECT_EQ(read_slurm_cluster("ClusterName             = ml\n"), "");
}

TEST(SlurmNodes, ReservationsCloseWholeNodes) {
  const std::vector<SlurmReservation> rows = read_slurm_reservations(
      "ReservationName=m StartTime=900 EndTime=2000 Duration=04:00:00 Nodes=n[1-2] NodeCnt=2 Flags=MAINT,SPEC_NODES "
      "TRES=cpu=16 State=INACTIVE\n"
      "ReservationName=part StartTime=300 EndTime=2000 Nodes=n1 CoreCnt=2 Flags= TRES=cpu=2 State=INACTIVE\n"
      "ReservationName=first StartTime=700 EndTime=2000 Nodes=n2 Flags=DAILY TRES=cpu=8\n"
      "ReservationName=ours StartTime=500 EndTime=2000 Nodes=n2 TRES=cpu=8\n"
      "ReservationName=draws StartTime=500 EndTime=2000 Nodes=n2 Flags=MAGNETIC TRES=cpu=8\n"
      "ReservationName=runs StartTime=50 EndTime=150 Nodes=n3 TRES=cpu=8 State=ACTIVE\n"
      "ReservationName=over StartTime=50 EndTime=100 Nodes=n4 TRES=cpu=8 State=ACTIVE\nReservationName=x Nodes= "
      "State=ACTIVE\n");
  ASSERT_EQ(rows.size(), 7u);
  EXPECT_EQ(rows[0].nodes, (std::set<std::string>{"n1", "n2"}));
  std::vector<SlurmNode> nodes(4);
  for (std::size_t i = 0; i < 4; ++i) {
    nodes[i].name = "n" + std::to_string(i + 1);
    nodes[i].cpus = 8;
  }
  EXPECT_EQ(read_slurm_closings(rows, nodes, "ours", Seconds(100)),
            (std::map<std::string, Seconds>{{"n1", Seconds(900)}, {"n2", Seconds(700)}, {"n3", Seconds(50)}}))
      << "n4 is free again";
  EXPECT_TRUE(read_slurm_reservations("No reservations in the system\n").empty());
}

TEST(SlurmNodes, WhatAJobWithoutALimitGets) {
  const auto limits = read_slurm_usual_limits(
      "PartitionName=short AllowGroups=ALL DefaultTime=01:00:00 MaxTime=2-00:00:00 Nodes=n1\n"
      "PartitionName=long DefaultTime=NONE MaxTime=2-00:00:00\nPartitionName=all DefaultTime=NONE MaxTime=UNLIMITED\n");
  EXPECT_EQ(limits, (std::map<std::string, Seconds, std::less<>>{{"short", Seconds(3600)}, {"long", Seconds(172800)}}));
}

TEST(SlurmAccounts, Associations) {
  const std::vector<SlurmAssociation> rows = read_slurm_associations(
      "loopback|research||root|1|||||||normal\n"
      "loopback|speech||research|10||gres/gpu=4|||100|2-00:00:00|normal,high\n"
      "loopback|vision||research|30|cpu=64,gres/gpu=16||20||||normal\n"
      "loopback|vision|root||parent||||5|||normal\n"
      "sacctmgr: something else\n");
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[1].parent, "research");
  EXPECT_EQ(rows[1].shares, 10);
  EXPECT_EQ(rows[1].job_limit.at("gres/gpu"), 4);
  EXPECT_EQ(rows[1].max_submits, 100);
  EXPECT_EQ(rows[1].max_wall, Seconds(172800));
  EXPECT_EQ(rows[1].qos.size(), 2u);
  EXPECT_EQ(rows[2].group_limit.at("cpu"), 64);
  EXPECT_EQ(rows[2].group_jobs, 20);
  EXPECT_EQ(rows[3].user, "root");
  EXPECT_EQ(rows[3].shares, std::nullopt);
  EXPECT_EQ(rows[3].max_jobs, 5);
  EXPECT_EQ(read_slurm_amounts("mem=500G,node=2,bad,x=y").at("mem"), 512000);
}

TEST(SlurmAccounts, Durations) {
  EXPECT_EQ(read_slurm_duration("12:30:05"), Seconds(45005));
  EXPECT_EQ(read_slurm_duration("30:05"), Seconds(1805));
  EXPECT_EQ(read_slurm_duration("90"), Seconds(5400));
  EXPECT_EQ(read_slurm_duration("1-12"), Seconds(129600));
  EXPECT_EQ(read_slurm_duration(""), std::nullopt);
  EXPECT_EQ(read_slurm_duration("UNLIMITED"), std::nullopt);
}

}  // namespace
}  // namespace berth
