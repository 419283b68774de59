// What tasks, full disks and administrators do to the folders of launches.
#include <gtest/gtest.h>

#include "tests/slurm/slurm_fixture.h"

namespace berth {
namespace {

using test::eventually;
using test::must;
using test::Slurm;

// Its record, its claim and all, and once the folder itself.
TEST_F(Slurm, ATaskThatRemovesWhatLiesAroundItIsStoppedAllTheSame) {
  const std::string loop = "; while :; do echo up >>$OUT; sleep 0.1; done";
  const Launch around = launch_of(48, "rm -rf ../*" + loop, {{"n1", 0b1}});
  const Launch folder = launch_of(49, "here=$PWD; cd /; rm -rf \"${here%/*}\"" + loop, {{"n2", 0b1}});
  for (const Launch& launch : {around, folder}) ASSERT_EQ(deliver(launch).state, DeliveryState::kDone);
  ASSERT_TRUE(eventually([&] { return out(48).size() > 9 && out(49).size() > 9; }));
  for (const Launch& launch : {around, folder}) {
    EXPECT_TRUE(comes_to(launch, TaskPhase::kRunning));
    const StopRequest end{live(launch), Seconds(1), ""};
    EXPECT_EQ(must(executor_->stop({&end, 1})).front().state, DeliveryState::kDone);
    EXPECT_TRUE(comes_to(launch, TaskPhase::kEnded));
  }
  EXPECT_TRUE(look(around).front().was_told);
  const auto before = std::vector{out(48), out(49)};
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_EQ(before, (std::vector{out(48), out(49)}));
}

// As in a folder without room: it could not be told to end.
TEST_F(Slurm, WhatCannotBeWrittenDownDoesNotBegin) {
  const Launch holder = launch_of(50, "sleep 60", {{"n1", 0b1111}, {"n2", 0b1111}});
  ASSERT_EQ(deliver(holder).state, DeliveryState::kDone);
  ASSERT_TRUE(comes_to(holder, TaskPhase::kRunning));
  const std::string loop = "while :; do echo up >>$OUT; sleep 0.1; done";
  const Launch later = launch_of(51, loop, {{"n1", 0b1}});
  const Launch never = launch_of(52, loop, {{"n2", 0b1}});
  std::vector<std::string> records;
  for (const Launch& launch : {later, never}) {
    ASSERT_EQ(deliver(launch).state, DeliveryState::kDone);
    records.push_back(folder_ + "/" + print_key(tag_, launch.key) + "/node." + launch.tasks.front().node);
    std::filesystem::create_directory(records.back());
  }
  const auto stop = [&](const Launch& launch) {
    const StopRequest end{live(launch), Seconds(1), ""};
    const Delivery said = must(executor_->stop({&end, 1})).front();
    EXPECT_EQ(said.state, DeliveryState::kDone) << said.detail;
  };
  stop(holder);
  for (const Launch& launch : {later, never}) {
    const std::string claim = folder_ + "/" + print_key(tag_, launch.key) + "/claim";
    ASSERT_TRUE(eventually([&] { return std::filesystem::is_symlink(claim); }));
  }
  std::this_thread::sleep_for(std::chrono::seconds(6));
  EXPECT_EQ(out(51) + out(52), "");
  stop(never);
  for (const std::string& record : records) std::filesystem::remove(record);
  ASSERT_TRUE(eventually([&] { return !out(51).empty(); }));
  stop(later);
  for (const Launch& launch : {later, never}) {
    ASSERT_TRUE(comes_to(launch, TaskPhase::kEnded));
    EXPECT_TRUE(look(launch).front().was_told);
  }
  EXPECT_EQ(out(52), "");
}

TEST_F(Slurm, AMovedFolderIsKeptTo) {
  const Launch launch = launch_of(
      47, "trap 'echo told >>../../moved.out; exit 3' TERM; echo up >>$OUT; while :; do sleep 0.1; done", {{"n1"}});
  ASSERT_EQ(deliver(launch).state, DeliveryState::kDone);
  ASSERT_TRUE(eventually([&] { return !out(47).empty(); }));
  const std::string before = folder_;
  folder_ += "-moved";
  std::filesystem::rename(before, folder_);
  executor_ = make({});
  EXPECT_TRUE(comes_to(launch, TaskPhase::kRunning));
  const StopRequest end{live(launch), Seconds(5), ""};
  EXPECT_EQ(must(executor_->stop({&end, 1})).front().state, DeliveryState::kDone);
  ASSERT_TRUE(comes_to(launch, TaskPhase::kEnded));
  EXPECT_EQ(look(launch).front().exit_code, 3);
  EXPECT_TRUE(look(launch).front().was_told);
}

}  // namespace
}  // namespace berth
