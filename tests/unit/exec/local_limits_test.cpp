// Cgroups on a folder with the files that the kernel would have there.
#include "engine/exec/local_limits.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "tests/builders.h"

namespace berth {
namespace {

using test::must;
namespace fs = std::filesystem;

class LocalLimits : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "berth-limits-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& name, const std::string& text) {
    fs::create_directories((fs::path(root_) / name).parent_path());
    std::ofstream(root_ + "/" + name) << text;
  }
  std::string read(const std::string& name) { return read_small_file(root_ + "/" + name).value_or("absent"); }

  std::string root_;
};

TEST_F(LocalLimits, WhyThereIsNoCgroup) {
  EXPECT_EQ(prepare_cgroups(root_).status().message(), root_ + " is no cgroup of version 2");
  write("cgroup.controllers", "hugetlb cpuset memory\n");
  EXPECT_EQ(prepare_cgroups(root_).status().message(), root_ + " has no controller 'cpu'");
}

TEST_F(LocalLimits, ATasksCgroup) {
  write("cgroup.controllers", "cpuset cpu io memory\n");
  write("cgroup.subtree_control", "");
  write("berth/cgroup.subtree_control", "");
  const std::string base = must(prepare_cgroups(root_));
  EXPECT_EQ(base, root_ + "/berth");
  EXPECT_EQ(read("berth/cgroup.subtree_control"), "+cpu +memory");
  for (const char* file :
       {"memory.max", "memory.oom.group", "memory.swap.max", "cpu.max", "cgroup.procs", "cgroup.kill"})
    write(std::string("berth/task/") + file, "");
  const TaskLimits limits(LimitKind::kCgroup, base + "/task", MilliCpu(1500), MiB(64));
  EXPECT_TRUE(limits.prepare().ok());
  EXPECT_TRUE(limits.enter().ok());
  limits.kill_all();
  EXPECT_EQ(read("berth/task/memory.max"), "67108864");
  EXPECT_EQ(read("berth/task/memory.oom.group"), "1");
  EXPECT_EQ(read("berth/task/cpu.max"), "150000 100000");
  EXPECT_EQ(read("berth/task/cgroup.procs"), "0");
  EXPECT_EQ(read("berth/task/cgroup.kill"), "1");
  EXPECT_EQ(limits.memory_peak(), std::nullopt);
  write("berth/task/memory.peak", "67108865\n");
  write("berth/task/memory.events", "low 0\nhigh 0\nmax 12\noom 1\noom_kill 0\noom_group_kill 0\n");
  EXPECT_EQ(limits.memory_peak(), MiB(65));
  EXPECT_FALSE(limits.ran_out_of_memory(MiB(65)));
  write("berth/task/memory.events", "low 0\nhigh 0\nmax 12\noom 1\noom_kill 3\noom_group_kill 1\n");
  EXPECT_TRUE(limits.ran_out_of_memory(MiB(65)));
}

TEST_F(LocalLimits, WithoutACgroupNearTheLimitIsTakenForOutOfMemory) {
  const TaskLimits limits(LimitKind::kRlimit, "", MilliCpu(0), MiB(100));
  EXPECT_TRUE(limits.ran_out_of_memory(MiB(90)));
  EXPECT_FALSE(limits.ran_out_of_memory(MiB(89)));
  EXPECT_FALSE(TaskLimits(LimitKind::kRlimit, "", MilliCpu(0), MiB(0)).ran_out_of_memory(MiB(90)));
  EXPECT_FALSE(TaskLimits(LimitKind::kNone, "", MilliCpu(0), MiB(100)).ran_out_of_memory(MiB(100)));
}

}  // namespace
}  // namespace berth
