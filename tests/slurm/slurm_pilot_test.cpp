// Launches as steps of jobs that hold the nodes already.
#include <gtest/gtest.h>

#include <thread>

#include "tests/slurm/slurm_fixture.h"

namespace berth {
namespace {

using test::eventually;
using test::must;
using test::shell;
using test::Slurm;

TEST_F(Slurm, PilotsHoldTheNodesAndLaunchesAreTheirSteps) {
  executor_ = make({{"pilot", "true"}});
  const Launch gang =
      launch_of(21, R"(echo "$BERTH_RANK $SLURMD_NODENAME [$CUDA_VISIBLE_DEVICES]" >>$OUT; exit $BERTH_RANK)",
                {{"n1", 0b11, 2}, {"n2", 0b1, 1}});
  EXPECT_EQ(deliver(gang).state, DeliveryState::kUnknown);
  Delivery delivery;
  ASSERT_TRUE(eventually([&] {
    delivery = deliver(gang);
    return delivery.state == DeliveryState::kDone;
  })) << delivery.detail
      << shell("squeue");
  ASSERT_TRUE(comes_to(gang, TaskPhase::kEnded)) << shell("cat " + folder_ + "/*/slurm.out");
  EXPECT_EQ(look(gang)[0].exit_code, 0);
  EXPECT_EQ(look(gang)[1].exit_code, 1);
  EXPECT_EQ(shell("sort " + folder_ + "/out.21"), "0 n1 [0,1]\n1 n2 [0]\n");
  // Two beside one another on one node get different devices; each can be stopped alone. Delivered again, by a process
  // that has forgotten, they do not run again.
  const std::vector<Launch> pair = {launch_of(22, "echo $CUDA_VISIBLE_DEVICES >>$OUT; sleep 60", {{"n1", 0b1}}),
                                    launch_of(23, "echo $CUDA_VISIBLE_DEVICES >>$OUT; sleep 60", {{"n1", 0b10}})};
  for (const Delivery& each : must(executor_->launch(pair))) EXPECT_EQ(each.state, DeliveryState::kDone) << each.detail;
  ASSERT_TRUE(eventually([&] { return !out(22).empty() && !out(23).empty(); }));
  EXPECT_NE(out(22), out(23));
  std::filesystem::remove(folder_ + "/" + print_key(tag_, pair[0].key) + "/submitted");
  EXPECT_EQ(deliver(pair[0]).state, DeliveryState::kDone);
  EXPECT_TRUE(all(pair[0], TaskPhase::kRunning));
  const StopRequest end{live(pair[0]), Seconds(0), ""};
  EXPECT_EQ(must(executor_->stop({&end, 1})).front().state, DeliveryState::kDone);
  EXPECT_TRUE(comes_to(pair[0], TaskPhase::kEnded));
  EXPECT_TRUE(all(pair[1], TaskPhase::kRunning));
  const std::vector<std::string> nodes = {"n1", "n2"};
  const Observation seen = must(executor_->observe({}, nodes));
  EXPECT_TRUE(seen.foreign.empty());
  EXPECT_EQ(seen.unknown_tasks.size(), 1u);
  EXPECT_EQ(out(22).size(), 2u) << out(22);
}

// With the claim in it: what says that it is a step.
TEST_F(Slurm, AStepThatHasRemovedItsFolderIsStopped) {
  executor_ = make({{"pilot", "true"}});
  const Launch launch = launch_of(24,
                                  "D=$(dirname $BERTH_DONE_FILE); cd /; while [ -e $D ]; do rm -rf $D; done; "
                                  "while :; do echo up >>$OUT; sleep 0.1; done",
                                  {{"n1"}});
  ASSERT_TRUE(eventually([&] { return deliver(launch).state == DeliveryState::kDone; }));
  ASSERT_TRUE(eventually([&] { return out(24).size() > 9; }));
  ASSERT_FALSE(std::filesystem::exists(folder_ + "/" + print_key(tag_, launch.key)));
  const StopRequest end{live(launch), Seconds(0), ""};
  EXPECT_TRUE(eventually([&] {
    (void)executor_->stop({&end, 1});
    return all(launch, TaskPhase::kEnded);
  })) << shell("squeue -s");
  const std::size_t said = out(24).size();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_EQ(out(24).size(), said);
}

// By our books they fit: Slurm counts whole cores.
TEST_F(Slurm, AStepForWhichSlurmHasNoRoomWaits) {
  executor_ = make({{"pilot", "true"}, {"pending_limit", "0s"}});
  const Launch all_cores = launch_of(26, "echo up >>$OUT; sleep 300", {{"n1", 0, 8}});
  ASSERT_TRUE(eventually([&] { return deliver(all_cores).state == DeliveryState::kDone; }));
  ASSERT_TRUE(eventually([&] { return out(26) == "up\n"; }));
  const Launch late = launch_of(27, "echo up >>$OUT", {{"n1", 0, 1}});
  ASSERT_EQ(deliver(late).state, DeliveryState::kDone);
  for (int i = 0; i < 14; ++i) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    ASSERT_EQ(look(late)[0].phase, TaskPhase::kStarting) << look(late)[0].detail;
  }
  EXPECT_TRUE(look(late)[0].is_stuck);
  EXPECT_EQ(look(late)[0].detail, "Slurm finds its nodes busy");
  const StopRequest end{live(all_cores), Seconds(0), ""};
  EXPECT_EQ(must(executor_->stop({&end, 1})).front().state, DeliveryState::kDone);
  EXPECT_TRUE(eventually([&] { return all(late, TaskPhase::kEnded); }, 40)) << look(late)[0].detail;
  EXPECT_TRUE(look(late)[0].succeeded());
  EXPECT_EQ(out(27), "up\n");
}

TEST_F(Slurm, AStepThatWasSuspendedEndsWell) {
  executor_ = make({{"pilot", "true"}});
  const Launch launch =
      launch_of(28, "echo up >>$OUT; for i in 1 2 3 4 5 6; do sleep 0.5; done; echo end >>$OUT", {{"n1"}});
  ASSERT_TRUE(eventually([&] { return deliver(launch).state == DeliveryState::kDone; }));
  ASSERT_TRUE(eventually([&] { return out(28) == "up\n"; }));
  const std::string pilot = test::shell("squeue -h -t R -o '%A %j' | grep -- -pilot- | cut -d' ' -f1 | tr -d '\\n'");
  shell("scontrol suspend " + pilot);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  shell("scontrol resume " + pilot);
  EXPECT_TRUE(eventually([&] { return all(launch, TaskPhase::kEnded); }, 60)) << look(launch)[0].detail;
  EXPECT_TRUE(look(launch)[0].succeeded());
  EXPECT_EQ(out(28), "up\nend\n");
}

TEST_F(Slurm, WhoLosesThePilotOfOneNodeIsLost) {
  executor_ = make({{"pilot", "true"}});
  const Launch gang = launch_of(25, "echo up >>$OUT; sleep 300", {{"n1"}, {"n2"}});
  ASSERT_TRUE(eventually([&] { return deliver(gang).state == DeliveryState::kDone; }));
  ASSERT_TRUE(eventually([&] { return out(25) == "up\nup\n" && all(gang, TaskPhase::kRunning); }));
  shell("scancel --name=" + test::shell("squeue -h -o %j | grep -- -pilot-n1 | tr -d '\\n'"));
  EXPECT_TRUE(eventually([&] { return look(gang)[0].phase == TaskPhase::kVanished; }, 60)) << look(gang)[0].detail;
  EXPECT_EQ(look(gang)[1].phase, TaskPhase::kRunning);
  const StopRequest end{live(gang), Seconds(0), ""};
  EXPECT_EQ(must(executor_->stop({&end, 1})).front().state, DeliveryState::kDone);
  EXPECT_TRUE(eventually([&] { return look(gang)[1].phase == TaskPhase::kEnded; }));
}

}  // namespace
}  // namespace berth
