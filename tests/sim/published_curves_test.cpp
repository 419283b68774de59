// SIMULATE ARRIVALS against the published FGD runs: both curves, and the choice for every task (golden/fgd/README.md).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "engine/base/text.h"
#include "engine/sim/arrival_order.h"
#include "engine/sim/arrivals.h"
#include "engine/sim/text_file.h"
#include "engine/sim/trace_model.h"
#include "tests/builders.h"

namespace berth {
namespace {

using test::must;

class PublishedCurves : public testing::TestWithParam<std::tuple<std::string, int>> {
 protected:
  void SetUp() override {
    const char* set = std::getenv("BERTH_SHARED");
    shared_ = set != nullptr ? set : "../shared";
    if (!std::filesystem::exists(shared_ / "golden/fgd/orders")) {
      GTEST_SKIP() << "the published runs are not at " << shared_ << "; BERTH_SHARED says where they are";
    }
    cluster_ =
        must(cluster_from(must(read_trace_nodes("openb", path("traces/openb/openb_node_list_gpu_node.csv"))).records));
  }

  std::string path(const std::string& inside) const { return (shared_ / inside).string(); }

  ArrivalInput input(const std::string& workload, int seed) const {
    const std::string pods = path(fmt::format("traces/openb/openb_pod_list_{}.csv", workload));
    ArrivalInput made = must(arrivals_from(cluster_, must(read_trace_jobs("openb", pods)).records));
    const std::string base = path(fmt::format("golden/fgd/orders/{}_s{}", workload, seed));
    made.order = must(read_order_file(base + ".order", made.tasks.size()));
    made.rank = must(read_rank_file(base + ".rank", cluster_.nodes.size()));
    return made;
  }

  // The published curve of one policy: percent arrived -> value.
  std::map<std::int32_t, double> curve(const std::string& file, const std::string& row) const {
    TextFile text = must(TextFile::open(path("golden/fgd/" + file)));
    std::string_view line;
    EXPECT_TRUE(must(text.next(line)));
    const std::string header(line);
    std::map<std::int32_t, double> values;
    while (must(text.next(line))) {
      if (!line.starts_with(row + ",")) continue;
      const std::vector<std::string_view> columns = split(header, ',');
      const std::vector<std::string_view> fields = split(line, ',');
      for (std::size_t i = 3; i < fields.size(); ++i) {
        if (fields[i].empty()) continue;
        values[static_cast<std::int32_t>(must(read_integer(columns[i])))] = std::stod(std::string(fields[i]));
      }
    }
    return values;
  }

  std::filesystem::path shared_;
  Cluster cluster_;
};

TEST_P(PublishedCurves, AllocationAndFragmentationWithinAHundredth) {
  const auto& [workload, seed] = GetParam();
  const ArrivalInput arrivals = input(workload, seed);
  for (const std::string score : {"fgd", "best_fit", "dot_product", "gpu_packing", "gpu_clustering"}) {
    const SimulationResult result = must(simulate_arrivals(arrivals, score, {.keep_tasks = false}));
    std::map<std::int32_t, CurvePoint> points;
    for (const CurvePoint& point : result.curves) points[point.arrived_pct] = point;
    const std::string row = fmt::format("{},{},{}", workload, score, seed);
    const auto allocated = curve("expected_curves_allocated.csv", row);
    const auto fragmented = curve("expected_curves_fragmented.csv", row);
    ASSERT_EQ(allocated.size(), 131U) << row;
    for (const auto& [pct, value] : allocated)
      EXPECT_NEAR(points[pct].allocated_pct, value, 0.0101) << row << " " << pct;
    for (const auto& [pct, value] : fragmented) {
      EXPECT_NEAR(points[pct].fragmented_pct.value_or(-1), value, 0.0101) << row << " " << pct;
    }
    EXPECT_NEAR(result.row.allocated_pct_at_130.value_or(0), allocated.at(130), 0.0101);
  }
}

INSTANTIATE_TEST_SUITE_P(Workloads, PublishedCurves,
                         testing::Values(std::tuple("default", 42), std::tuple("gpuspec33", 47),
                                         std::tuple("multigpu50", 51)),
                         [](const auto& instance) { return std::get<0>(instance.param); });

using PublishedChoices = PublishedCurves;

TEST_P(PublishedChoices, EveryTaskGoesWhereTheReferencePutIt) {
  const std::string score = std::get<0>(GetParam());
  const SimulationResult result =
      must(simulate_arrivals(input("default", 42), score, {.measure_fragmentation = false}));
  TextFile text = must(TextFile::open(path(fmt::format("golden/fgd/default_seed42/assign_{}.csv", score))));
  std::string_view line;
  EXPECT_TRUE(must(text.next(line)));
  std::size_t wrong = 0;
  for (const TaskResult& task : result.tasks) {
    ASSERT_TRUE(must(text.next(line)));
    const std::vector<std::string_view> fields = split(line, ',');
    DeviceMask devices = 0;
    for (const std::string_view device : split(fields[3], '-')) {
      if (!device.empty()) devices |= DeviceMask{1} << must(read_integer(device));
    }
    const std::string_view node = fields[2] == "FAILED" ? "" : fields[2];
    EXPECT_TRUE(fields[1].starts_with(task.task)) << "copies are named name-tuned-number there";
    if (task.node != node || task.devices != devices) ++wrong;
  }
  EXPECT_EQ(wrong, 0U);
  EXPECT_EQ(result.tasks.size(), 10866U);
}

INSTANTIATE_TEST_SUITE_P(Policies, PublishedChoices,
                         testing::Values(std::tuple("fgd", 42), std::tuple("gpu_packing", 42)),
                         [](const auto& instance) { return std::get<0>(instance.param); });

}  // namespace
}  // namespace berth
