#include "engine/policy/workload.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

WorkloadTask task(std::int64_t cpu, std::int32_t gpus, std::int64_t milli, std::string_view models, std::int64_t weight,
                  std::int64_t memory = 0) {
  WorkloadTask task;
  task.models_text = models;
  task.weight = weight;
  task.shape.cpu = MilliCpu(cpu);
  task.shape.memory = MiB(memory);
  task.shape.gpu_count = gpus;
  task.shape.gpu_milli = MilliGpu(milli);
  return task;
}

TEST(WorkloadTest, KeepsTheMostFrequentShapesUpTo95Percent) {
  const std::vector<WorkloadTask> tasks{task(1, 0, 0, "", 4), task(2, 1, 500, "", 46), task(3, 1, 1000, "", 48),
                                        task(4, 2, 1000, "", 2)};
  const std::vector<WorkloadShape> typical = typical_workload(tasks);
  ASSERT_EQ(typical.size(), 3U);
  EXPECT_EQ(typical[0].shape.cpu, MilliCpu(3));
  EXPECT_EQ(typical[1].shape.cpu, MilliCpu(2));
  EXPECT_EQ(typical[2].shape.cpu, MilliCpu(1));
  EXPECT_EQ(typical[0].popularity, 48.0 / 100 / (98.0 / 100));
}

TEST(WorkloadTest, EqualCountsGoByTheTupleDescending) {
  const std::vector<WorkloadTask> tasks{task(1, 1, 500, "", 1), task(1, 1, 1000, "A", 1), task(1, 1, 1000, "B", 1),
                                        task(1, 2, 1000, "", 1), task(2, 0, 0, "", 1)};
  const std::vector<WorkloadShape> typical = typical_workload(tasks);
  ASSERT_EQ(typical.size(), 5U);
  EXPECT_EQ(typical[0].shape.cpu, MilliCpu(2));
  EXPECT_EQ(typical[1].shape.gpu_count, 2);
  EXPECT_EQ(typical[4].shape.gpu_milli, MilliGpu(500));
  for (const WorkloadShape& entry : typical) EXPECT_EQ(entry.popularity, 0.2);
}

TEST(WorkloadTest, ModelsAsWrittenTellShapesApart) {
  WorkloadTask one = task(1, 1, 1000, "A|B", 1);
  WorkloadTask other = task(1, 1, 1000, "B|A", 1);
  one.shape.models = other.shape.models = 3;
  EXPECT_EQ(typical_workload(std::vector{one, other}).size(), 2U);
  EXPECT_EQ(typical_workload(std::vector{one, one}).size(), 1U);
}

TEST(WorkloadTest, MemoryIsTheMeanOfTheTasks) {
  const std::vector<WorkloadShape> typical =
      typical_workload(std::vector{task(1, 1, 1000, "", 3, 100), task(1, 1, 1000, "", 1, 200)});
  ASSERT_EQ(typical.size(), 1U);
  EXPECT_EQ(typical[0].shape.memory, MiB(125));
  EXPECT_EQ(typical[0].popularity, 1.0);
}

TEST(WorkloadTest, OfNothingIsEmpty) { EXPECT_TRUE(typical_workload({}).empty()); }

}  // namespace
}  // namespace berth
