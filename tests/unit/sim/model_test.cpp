// From trace records to the engine's model, and the small parts around simulations.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/base/text.h"
#include "engine/sim/arrival_curve.h"
#include "engine/sim/arrival_order.h"
#include "engine/sim/comparison.h"
#include "engine/sim/event_queue.h"
#include "engine/sim/job_times.h"
#include "engine/sim/trace_model.h"
#include "engine/sim/utilisation.h"
#include "tests/builders.h"
#include "tests/unit/sim/temporary_file.h"

namespace berth {
namespace {

using test::must;
using test::TemporaryFile;

TraceNode node(std::string name, std::int32_t devices, std::string model, std::string rack = "",
               std::string pool = "") {
  TraceNode made;
  made.name = std::move(name);
  made.cpu = MilliCpu(64000);
  made.memory = MiB(1024);
  made.devices = devices;
  made.model = std::move(model);
  made.rack = std::move(rack);
  made.pool = std::move(pool);
  made.place = "nodes.csv:" + made.name;
  return made;
}

TEST(ClusterFromTrace, EqualNodesShareAKind) {
  const std::vector<TraceNode> nodes = {node("a", 8, "T4", "r1", "p"), node("b", 8, "T4", "r2", "p"),
                                        node("c", 0, "", "r1")};
  const Cluster cluster = must(cluster_from(nodes));
  EXPECT_EQ(cluster.kinds.size(), 2U);
  EXPECT_EQ(cluster.models.size(), 1U);
  EXPECT_EQ(cluster.nodes[1].kind, cluster.nodes[0].kind);
  EXPECT_EQ(cluster.nodes[2].rack, cluster.nodes[0].rack);
  EXPECT_EQ(cluster.kind_of(2).pool, -1);
  EXPECT_EQ(node_name(cluster, 1), "b");
}

TEST(ClusterFromTrace, RefusesWhatCannotBe) {
  EXPECT_EQ(cluster_from({}).status().code(), Code::kInvalid);
  const std::vector<TraceNode> twice = {node("a", 1, "T4"), node("a", 1, "T4")};
  EXPECT_EQ(cluster_from(twice).status().message(), "nodes.csv:a: the node name 'a' is given twice");
}

TraceJob job_of(std::string priority, std::string models = "", std::string pool = "") {
  TraceJob job;
  job.name = "j";
  job.place = "jobs.csv:2";
  job.queue = "nlp";
  job.priority = std::move(priority);
  TraceTaskGroup& group = job.groups.emplace_back();
  group.gpu_count = 1;
  group.gpu_milli = kWholeDevice;
  group.models = std::move(models);
  group.pool = std::move(pool);
  return job;
}

TEST(JobModeller, ModelsThatNoNodeHasMatchNothing) {
  const std::vector<TraceNode> nodes = {node("a", 8, "T4"), node("b", 8, "A100")};
  const Cluster cluster = must(cluster_from(nodes));
  JobModeller modeller(cluster);
  const auto models = [&](std::string text) {
    return must(modeller.job_from(job_of("", std::move(text)), 1)).groups[0].shape.models;
  };
  EXPECT_EQ(models(""), 0U);
  EXPECT_EQ(models("A100"), 2U);
  EXPECT_EQ(models("A100|T4"), 3U);
  EXPECT_EQ(models("H100|T4"), 1U);
  EXPECT_EQ(models("H100"), 4U);
  EXPECT_EQ(must(modeller.job_from(job_of("", "", "nowhere"), 1)).groups[0].shape.pool, 0);
}

TEST(JobModeller, PrioritiesAreNumbersOrNamesOfClasses) {
  const std::vector<TraceNode> nodes = {node("a", 8, "T4")};
  const Cluster cluster = must(cluster_from(nodes));
  JobModeller free(cluster);
  EXPECT_EQ(must(free.job_from(job_of(""), 1)).priority_class, -1);
  EXPECT_EQ(must(free.job_from(job_of("7"), 1)).priority_class, 0);
  EXPECT_EQ(must(free.job_from(job_of("high"), 1)).priority_class, 1);
  EXPECT_EQ(must(free.job_from(job_of("7"), 1)).priority_class, 0);
  EXPECT_EQ(free.priority_classes()[1].value, 10);
  EXPECT_EQ(free.queues().size(), 1U);
  EXPECT_EQ(free.job_from(job_of("urgent"), 1).status().message(),
            "jobs.csv:2: priority 'urgent' is not low, normal, high or an integer");

  JobModeller given(cluster, {}, {{.id = 4, .name = "urgent", .value = 100}});
  EXPECT_EQ(must(given.job_from(job_of("urgent"), 1)).priority_class, 0);
  const Status unknown = given.job_from(job_of("urgnt"), 1).status();
  EXPECT_EQ(unknown.message(), "jobs.csv:2: no priority class 'urgnt'");
  EXPECT_NE(unknown.hint().find("urgent"), std::string::npos);
}

TEST(TaskNames, SayWhichTaskOfWhichGroup) {
  TraceJob job = job_of("");
  EXPECT_EQ(task_name(job, 0, 0), "j");
  job.groups[0].tasks = 4;
  EXPECT_EQ(task_name(job, 0, 2), "j[2]");
  job.groups[0].name = "worker";
  job.groups.push_back(job.groups[0]);
  job.groups[1].name = "ps";
  EXPECT_EQ(task_name(job, 1, 3), "j.ps[3]");
}

TEST(WorkloadCounter, WeighsTasksOfAGroup) {
  const std::vector<TraceNode> nodes = {node("a", 8, "T4")};
  const Cluster cluster = must(cluster_from(nodes));
  const JobModeller modeller(cluster);
  WorkloadCounter counter;
  TraceJob gang = job_of("");
  gang.groups[0].tasks = 3;
  TraceJob cpu = job_of("");
  cpu.groups[0].gpu_count = 0;
  cpu.groups[0].gpu_milli = MilliGpu(0);
  ASSERT_TRUE(counter.add(modeller, gang).ok());
  ASSERT_TRUE(counter.add(modeller, cpu).ok());
  const std::vector<WorkloadShape> workload = counter.typical();
  ASSERT_EQ(workload.size(), 2U);
  EXPECT_DOUBLE_EQ(workload[0].popularity, 0.75);
  EXPECT_EQ(workload[0].shape.gpu_count, 1);
}

TEST(ArrivalOrder, FilesAreChecked) {
  const TemporaryFile order("2\n0\n\n0\n", "o");
  EXPECT_EQ(must(read_order_file(order.path(), 3)), (std::vector<std::int32_t>{2, 0, 0}));
  EXPECT_EQ(order.without_folder(read_order_file(order.path(), 2).status().message()),
            "o:1:1: '2' is not a row number of the trace (0 to 1)");
  const TemporaryFile rank("1\n0\n1\n", "r");
  EXPECT_EQ(rank.without_folder(read_rank_file(rank.path(), 3).status().message()),
            "r: rank 1 is given twice, as number 1 and 3");
  EXPECT_EQ(rank.without_folder(read_rank_file(rank.path(), 4).status().message()), "r: 3 ranks for 4 nodes");
}

TaskShape gpus(std::int32_t count, std::int64_t milli = 1000) {
  TaskShape shape;
  shape.gpu_count = count;
  shape.gpu_milli = MilliGpu(milli);
  return shape;
}

TEST(ArrivalOrder, InflationReachesTheDemandAndRepeatsWithItsSeed) {
  std::vector<TaskShape> tasks(50, gpus(1, 300));
  tasks.resize(100, gpus(4));
  const auto demand = [&](const std::vector<std::int32_t>& order) {
    std::int64_t sum = 0;
    for (const std::int32_t row : order) sum += tasks[static_cast<std::size_t>(row)].gpu_total().value();
    return sum;
  };
  for (const std::int64_t capacity : {1000000, 200000, 150000}) {
    const auto order = must(inflated_order(tasks, MilliGpu(capacity), 1300, 42));
    EXPECT_LE(demand(order), capacity * 13 / 10);
    EXPECT_GT(demand(order), capacity * 13 / 10 - 4000);
    EXPECT_EQ(order, must(inflated_order(tasks, MilliGpu(capacity), 1300, 42)));
    EXPECT_NE(order, must(inflated_order(tasks, MilliGpu(capacity), 1300, 43)));
  }
  EXPECT_FALSE(inflated_order(std::vector<TaskShape>(3), MilliGpu(1000), 1300, 1).ok());
  auto rank = shuffled_rank(100, 7);
  std::ranges::sort(rank);
  EXPECT_EQ(rank[99], 99);
}

TEST(ArrivalCurve, PointsAreMeansOfTheEventsOfOnePercent) {
  ArrivalCurve curve(MilliGpu(100000));
  curve.record(MilliGpu(400), MilliGpu(400), 50000.0);    // 0.4 %: point 0
  curve.record(MilliGpu(500), MilliGpu(500), 40000.0);    // 0.5 %, half to even: point 0
  curve.record(MilliGpu(3000), MilliGpu(2504), 30000.0);  // point 3
  const std::vector<CurvePoint> expected = {{0, 0.45, 45.0}, {1, 0.45, 45.0}, {2, 2.5, 30.0}, {3, 2.5, 30.0}};
  EXPECT_EQ(curve.points(), expected);
  EXPECT_EQ(allocated_at(curve.points(), 3), 2.5);
  EXPECT_EQ(allocated_at(curve.points(), 4), std::nullopt);
}

TEST(EventQueue, EndsFirstThenInTheOrderScheduled) {
  EventQueue events;
  events.schedule(Seconds(5), EventKind::kMoment, 1);
  events.schedule(Seconds(5), EventKind::kEnd, 2);
  events.schedule(Seconds(3), EventKind::kMoment, 3);
  events.schedule(Seconds(5), EventKind::kEnd, 4);
  std::vector<std::int32_t> slots;
  while (events.next_time()) slots.push_back(events.take().slot);
  EXPECT_EQ(slots, (std::vector<std::int32_t>{3, 2, 4, 1}));
}

TEST(DurationCounts, PercentilesStayCloseWhenThereAreMany) {
  DurationCounts counts;
  for (std::int64_t i = 0; i < 200000; ++i) counts.add(i);
  EXPECT_EQ(counts.most(), 199999);
  EXPECT_DOUBLE_EQ(*counts.mean(), 99999.5);
  EXPECT_LE(*counts.percentile(500), 99999);
  EXPECT_GE(*counts.percentile(500), 99999 - 99999 / 1024);
  EXPECT_EQ(counts.percentile(10), 1999);
}

TEST(Percentile, NearestRank) {
  EXPECT_EQ(percentile({}, 500), std::nullopt);
  EXPECT_EQ(percentile({7}, 990), 7);
  EXPECT_EQ(percentile({1, 2, 3, 4}, 500), 2);
  EXPECT_EQ(percentile({1, 2, 3, 4}, 900), 4);
}

TEST(Utilisation, ThinnedOutKeepsTheArea) {
  UtilisationLog log(MilliGpu(1000));
  for (std::int64_t t = 0; t < 1000; ++t) log.record(Seconds(t), MilliGpu(t % 10 * 100), t % 3, 1);
  log.record(Seconds(1000), MilliGpu(0), 0, 0);
  EXPECT_DOUBLE_EQ(log.mean_pct().value_or(0), 45.0);
  EXPECT_EQ(log.points(0).size(), 1001U);
  const std::vector<UtilisationPoint> points = log.points(50);
  ASSERT_EQ(points.size(), 51U);
  for (std::size_t i = 0; i + 1 < points.size(); ++i) EXPECT_DOUBLE_EQ(points[i].allocated_pct, 45.0);
  EXPECT_EQ(points.back().used, MilliGpu(0));
}

TEST(PolicyChoice, NamesAndDefaults) {
  EXPECT_EQ(must(read_policy_choice("fifo + fgd")).name(), "fifo + fgd");
  EXPECT_EQ(must(read_policy_choice("fgd + priority")).name(), "priority + fgd");
  EXPECT_EQ(must(read_policy_choice(" Best_Fit ")).name(), "fifo + best_fit");
  EXPECT_EQ(must(read_policy_choice("priority")).name(), "priority + berth");
  EXPECT_EQ(must(read_score_choice("fgd")).name(), "fgd");
  EXPECT_NE(read_score_choice("fdg").status().hint().find("fgd"), std::string::npos);
  EXPECT_EQ(read_policy_choice("fgd + best_fit").status().code(), Code::kInvalid);
  EXPECT_EQ(read_policy_choice("fifo + fgd + fifo").status().code(), Code::kInvalid);
  EXPECT_EQ(read_score_choice("fifo").status().code(), Code::kNotFound);
}

TaskResult task(std::int64_t sequence, std::string name, std::string on, DeviceMask devices, std::int64_t start = -1) {
  TaskResult made;
  made.sequence = sequence;
  made.task = std::move(name);
  made.node = std::move(on);
  made.devices = devices;
  made.state = made.node.empty() ? TaskOutcome::kFailed : TaskOutcome::kPlaced;
  if (start >= 0) {
    made.submit = Seconds(0);
    made.start = Seconds(start);
  }
  return made;
}

TEST(Comparison, PairsTasksByNameAndOccurrence) {
  const std::vector<TaskResult> a = {task(0, "p", "n1", 1, 5), task(1, "q", "n1", 2), task(2, "p", "n2", 1),
                                     task(3, "r", "", 0),      task(4, "s", "n3", 0), task(5, "gone", "n1", 1)};
  const std::vector<TaskResult> b = {task(0, "q", "n1", 4), task(1, "p", "n1", 1, 9), task(2, "p", "n1", 8),
                                     task(3, "r", "n9", 1), task(4, "s", "", 0)};
  const Comparison c = compare_simulations(a, b);
  EXPECT_EQ(c.paired, 5);
  EXPECT_EQ(c.only_in_a, 1);
  EXPECT_EQ(c.only_in_b, 0);
  EXPECT_EQ(c.placed_in_both, 3);
  EXPECT_EQ(c.same_devices, 1);
  EXPECT_EQ(c.same_node, 1);
  EXPECT_EQ(c.moved, 1);
  EXPECT_EQ(c.placed_only_in_a, 1);
  EXPECT_EQ(c.placed_only_in_b, 1);
  EXPECT_EQ(c.placed_in_neither, 0);
  EXPECT_EQ(c.later_in_b, 1);
  EXPECT_DOUBLE_EQ(c.wait_difference_mean.value_or(0), 4);
  EXPECT_EQ(c.differences.size(), 5U);
  EXPECT_TRUE(compare_simulations(a, a).differences.empty());
}

}  // namespace
}  // namespace berth
