// The default policy against the published fgd: more GPU allocated on every workload, whatever the order of nodes.

#include <gtest/gtest.h>

#include "engine/base/env.h"
#include "engine/policy/registry.h"
#include "tests/reference/openb_files.h"

namespace berth::test {
namespace {

constexpr std::int64_t kCapacity = 6'212'000;

struct Allocated {
  double at_100 = 0;  // % of the cluster's GPUs, when as much has been asked for
  double at_130 = 0;
};

class BerthPackingTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!shared_folder_exists()) GTEST_SKIP() << "the golden files are not here; set BERTH_SHARED to their folder";
    cluster_ = openb_cluster();
  }
  std::string orders() const { return shared_folder() + "/golden/fgd/orders/"; }
  Allocated allocate(const std::string& workload_name, int seed, const OpenbTasks& tasks,
                     std::span<const std::int32_t> rank) {
    const std::vector<WorkloadShape> workload = tasks.workload();
    const std::unique_ptr<NodeScore> policy =
        *make_score("berth", {.cluster = &cluster_, .workload = workload, .every_task_is_new = true});
    const std::vector<std::int32_t> order =
        read_numbers(orders() + workload_name + "_s" + std::to_string(seed) + ".order");
    const std::vector<double> curve =
        allocation_curve(replay_arrivals(cluster_, tasks.shapes, order, rank, *policy), kCapacity);
    return {.at_100 = curve[100], .at_130 = curve[130]};
  }

  Cluster cluster_;
};

TEST_F(BerthPackingTest, AllocatesMoreThanFgdOnEveryWorkload) {
  const CsvRows expected(shared_folder() + "/golden/fgd/expected_curves_allocated.csv");
  std::map<std::string, Allocated> gains;  // by workload, mean over the seeds
  std::map<std::string, OpenbTasks> tasks;
  for (std::size_t row = 0; row < expected.size(); ++row) {
    if (expected.text(row, "policy") != "fgd") continue;
    const std::string workload = expected.text(row, "workload");
    if (!tasks.contains(workload)) tasks[workload] = openb_workload_tasks(workload, cluster_);
    const int seed = static_cast<int>(expected.number(row, "seed"));
    const std::string rank_file = orders() + workload + "_s" + std::to_string(seed) + ".rank";
    const Allocated got = allocate(workload, seed, tasks[workload], read_numbers(rank_file));
    gains[workload].at_100 += (got.at_100 - std::stod(expected.text(row, "100"))) / 10;
    gains[workload].at_130 += (got.at_130 - std::stod(expected.text(row, "130"))) / 10;
  }
  ASSERT_EQ(gains.size(), 9U);
  Allocated mean;
  for (const auto& [workload, gain] : gains) {
    EXPECT_GT(gain.at_100, 0.5) << workload;
    EXPECT_GT(gain.at_130, 0.5) << workload;
    mean.at_100 += gain.at_100 / 9;
    mean.at_130 += gain.at_130 / 9;
  }
  EXPECT_GE(mean.at_100, 1.9);
  EXPECT_GE(mean.at_130, 1.2);
}

TEST_F(BerthPackingTest, OrderOfNodesHardlyMatters) {
  for (const std::string workload : {"default", "gpuspec33"}) {
    const OpenbTasks tasks = openb_workload_tasks(workload, cluster_);
    std::vector<std::int32_t> rank = read_numbers(orders() + workload + "_s42.rank");
    const Allocated given = allocate(workload, 42, tasks, rank);
    Random random(1);
    for (int shuffle = 0; shuffle < 3; ++shuffle) {
      random.shuffle(rank);
      const Allocated moved = allocate(workload, 42, tasks, rank);
      EXPECT_NEAR(moved.at_100, given.at_100, 0.3) << workload;
      EXPECT_NEAR(moved.at_130, given.at_130, 0.3) << workload;
    }
  }
}

}  // namespace
}  // namespace berth::test
