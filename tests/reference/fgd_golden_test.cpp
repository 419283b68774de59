// Decision for decision and curve for curve against the published FGD runs (fgd.md; golden/fgd/README.md).

#include <gtest/gtest.h>

#include "engine/policy/registry.h"
#include "tests/reference/openb_files.h"

namespace berth::test {
namespace {

constexpr std::string_view kNotHere = "the golden files are not here; set BERTH_SHARED to their folder";

std::unique_ptr<NodeScore> score_named(const std::string& name, const Cluster& cluster,
                                       std::span<const WorkloadShape> workload, std::uint64_t seed = 0) {
  return *make_score(name, {.cluster = &cluster, .workload = workload, .seed = seed});
}

std::string devices_text(DeviceMask devices) {
  std::string text;
  for (; devices != 0; devices &= devices - 1) {
    text += (text.empty() ? "" : "-") + std::to_string(std::countr_zero(devices));
  }
  return text;
}

class FgdGoldenTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!shared_folder_exists()) GTEST_SKIP() << kNotHere;
    golden_ = shared_folder() + "/golden/fgd/";
    cluster_ = openb_cluster();
  }
  std::string golden_;
  Cluster cluster_;
};

TEST_F(FgdGoldenTest, WorkloadIsTheReferences) {
  const std::vector<WorkloadShape> workload = openb_workload_tasks("default", cluster_).workload();
  const CsvRows expected(golden_ + "default_seed42/typical_pods.csv");
  ASSERT_EQ(workload.size(), expected.size());
  for (std::size_t row = 0; row < expected.size(); ++row) {
    EXPECT_EQ(workload[row].shape.cpu.value(), expected.number(row, "cpu_milli")) << row;
    EXPECT_EQ(workload[row].shape.gpu_count, expected.number(row, "num_gpu")) << row;
    EXPECT_EQ(workload[row].shape.gpu_milli.value(), expected.number(row, "gpu_milli")) << row;
    EXPECT_EQ(workload[row].popularity, std::stod(expected.text(row, "p"))) << row;
  }
}

class FgdDecisionsTest : public FgdGoldenTest, public testing::WithParamInterface<const char*> {};

TEST_P(FgdDecisionsTest, EveryTaskGoesWhereTheReferencePutIt) {
  const std::string folder = golden_ + "default_seed42/";
  const std::vector<WorkloadShape> workload = openb_workload_tasks("default", cluster_).workload();
  const OpenbTasks tasks = openb_tasks(folder + "pods_in_order.csv", cluster_);
  std::vector<std::int32_t> order(tasks.shapes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i);
  const std::vector<std::int32_t> rank = read_numbers(golden_ + "orders/default_s42.rank");
  const std::unique_ptr<NodeScore> policy = score_named(GetParam(), cluster_, workload);

  const std::vector<Arrival> arrivals = replay_arrivals(cluster_, tasks.shapes, order, rank, *policy);
  const CsvRows expected(folder + "assign_" + GetParam() + ".csv");
  ASSERT_EQ(arrivals.size(), expected.size());
  ASSERT_EQ(arrivals.size(), 10866U);
  for (std::size_t row = 0; row < arrivals.size(); ++row) {
    const Arrival& got = arrivals[row];
    const std::string node = got.node < 0 ? "FAILED" : cluster_.node_names[static_cast<std::size_t>(got.node)];
    ASSERT_EQ(node, expected.text(row, "node")) << "task " << row;
    ASSERT_EQ(devices_text(got.devices), expected.text(row, "gpus")) << "task " << row;
    ASSERT_EQ(got.used, expected.number(row, "used_gpu_milli")) << "task " << row;
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, FgdDecisionsTest,
                         testing::Values("fgd", "best_fit", "dot_product", "gpu_packing", "gpu_clustering"),
                         [](const auto& param_info) { return std::string(param_info.param); });

class FgdCurvesTest : public FgdGoldenTest, public testing::WithParamInterface<const char*> {
 protected:
  static constexpr std::int64_t kCapacity = 6'212'000;
  static constexpr int kFirstSeed = 42;
  static constexpr int kLastSeed = 51;

  std::vector<double> curve_of(const std::string& policy_name, int seed, const OpenbTasks& tasks,
                               std::span<const WorkloadShape> workload) {
    const std::string base = golden_ + "orders/" + GetParam() + "_s" + std::to_string(seed);
    const std::vector<std::int32_t> order = read_numbers(base + ".order");
    const std::vector<std::int32_t> rank = read_numbers(base + ".rank");
    const std::uint64_t random_seed = static_cast<std::uint64_t>(seed);
    const std::unique_ptr<NodeScore> policy = score_named(policy_name, cluster_, workload, random_seed);
    return allocation_curve(replay_arrivals(cluster_, tasks.shapes, order, rank, *policy, random_seed), kCapacity);
  }
};

TEST_P(FgdCurvesTest, AllocationFollowsThePublishedCurve) {
  const OpenbTasks tasks = openb_workload_tasks(GetParam(), cluster_);
  const std::vector<WorkloadShape> workload = tasks.workload();
  const CsvRows expected(golden_ + "expected_curves_allocated.csv");
  std::map<std::string, double> random_expected;
  std::map<std::string, double> random_got;
  int compared = 0;
  for (std::size_t row = 0; row < expected.size(); ++row) {
    if (expected.text(row, "workload") != GetParam()) continue;
    const std::string policy = expected.text(row, "policy");
    const int seed = static_cast<int>(expected.number(row, "seed"));
    const std::vector<double> curve = curve_of(policy, seed, tasks, workload);
    ++compared;
    if (policy == "random") {
      for (const char* column : {"100", "130"}) {
        random_expected[column] += std::stod(expected.text(row, column)) / 10;
        random_got[column] += curve[static_cast<std::size_t>(std::stoi(column))] / 10;
      }
      continue;
    }
    for (std::size_t k = 0; k <= 130; ++k) {
      const std::string& text = expected.text(row, std::to_string(k));
      if (text.empty()) continue;
      ASSERT_NEAR(curve[k], std::stod(text), 0.0101) << policy << " seed " << seed << " column " << k;
    }
  }
  EXPECT_EQ(compared, 6 * (kLastSeed - kFirstSeed + 1));
  EXPECT_NEAR(random_got["100"], random_expected["100"], 0.5);
  EXPECT_NEAR(random_got["130"], random_expected["130"], 0.5);
}

INSTANTIATE_TEST_SUITE_P(Workloads, FgdCurvesTest,
                         testing::Values("default", "cpu100", "cpu250", "gpushare40", "gpushare100", "gpuspec10",
                                         "gpuspec33", "multigpu20", "multigpu50"),
                         [](const auto& param_info) { return std::string(param_info.param); });

}  // namespace
}  // namespace berth::test
