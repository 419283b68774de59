// Promises of both kinds of simulation, on generated work.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "engine/policy/registry.h"
#include "engine/round/placer.h"
#include "engine/sim/arrival_order.h"
#include "engine/sim/arrivals.h"
#include "engine/sim/berth_trace.h"
#include "engine/sim/fragment_meter.h"
#include "engine/sim/generator.h"
#include "engine/sim/timed.h"
#include "engine/sim/trace_model.h"
#include "tests/builders.h"
#include "tests/unit/sim/temporary_file.h"

namespace berth {
namespace {

using test::must;
using test::TemporaryFile;

struct World {
  explicit World(const GeneratorOptions& options)
      : nodes(generate_nodes(options)), jobs(generate_jobs(options)), cluster(must(cluster_from(nodes))) {}
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  TimedInput timed() const {
    return must(timed_from(cluster, [this] { return Result(read_from(jobs)); }));
  }

  std::vector<TraceNode> nodes;
  std::vector<TraceJob> jobs;
  Cluster cluster;
};

// What the result says without what is measured.
std::string stable_text(const SimulationResult& result) {
  std::string text;
  for (const TaskResult& t : result.tasks) {
    text += t.task + " " + t.node + " " + std::to_string(t.devices) + " " +
            std::to_string(t.start.value_or(Seconds(-1)).value()) + "\n";
  }
  for (const CurvePoint& p : result.curves) {
    text += std::to_string(p.allocated_pct) + " " + std::to_string(p.fragmented_pct.value_or(-1)) + "\n";
  }
  const SimulationRow& row = result.row;
  return text + std::to_string(row.placed) + " " + std::to_string(row.wait_mean.value_or(-1)) + " " +
         std::to_string(row.decisions);
}

TEST(Generator, RepeatsWithItsSeedAndReadsBack) {
  const World world({.seed = 3, .gpus = 120, .jobs = 200});
  const World again({.seed = 3, .gpus = 120, .jobs = 200});
  const World other({.seed = 4, .gpus = 120, .jobs = 200});
  const std::string nodes = berth_nodes_csv(world.nodes);
  const std::string jobs = berth_jobs_csv(world.jobs);
  EXPECT_EQ(berth_nodes_csv(again.nodes), nodes);
  EXPECT_EQ(berth_jobs_csv(again.jobs), jobs);
  EXPECT_NE(berth_jobs_csv(other.jobs), jobs);

  const TemporaryFile node_file(nodes);
  const TemporaryFile job_file(jobs);
  EXPECT_EQ(berth_nodes_csv(must(read_trace_nodes("berth", node_file.compressed())).records), nodes);
  EXPECT_EQ(berth_jobs_csv(must(read_trace_jobs("berth", job_file.compressed())).records), jobs);
}

TEST(Generator, EveryJobFitsTheEmptyClusterOfAnySize) {
  for (const std::int64_t gpus : {8, 16, 40, 100, 320}) {
    const World world({.seed = static_cast<std::uint64_t>(gpus), .gpus = gpus, .jobs = 300});
    Ledger ledger(world.cluster);
    EXPECT_GE(ledger.gpu_capacity(), MilliGpu(gpus * 1000));
    const auto score = must(make_score("best_fit", {.cluster = &world.cluster, .workload = {}}));
    Placer placer(ledger, *score);
    JobModeller modeller(world.cluster);
    for (const TraceJob& record : world.jobs) {
      const Ledger::Checkpoint mark = ledger.checkpoint();
      EXPECT_TRUE(placer.place_job(must(modeller.job_from(record, 1))).started) << record.name << " on " << gpus;
      ledger.rollback(mark);
    }
  }
}

TEST(Generator, HasEverythingThatABatchClusterHas) {
  const World world({});
  int gangs = 0, fractions = 0, constrained = 0, groups = 0, cpu_only = 0, elastic = 0, local = 0;
  for (const TraceJob& job : world.jobs) {
    const TraceTaskGroup& first = job.groups.front();
    groups += job.groups.size() > 1 ? 1 : 0;
    gangs += first.min_tasks > 1 ? 1 : 0;
    elastic += first.min_tasks < first.tasks ? 1 : 0;
    fractions += first.gpu_count == 1 && first.gpu_milli < kWholeDevice ? 1 : 0;
    constrained += first.models.empty() ? 0 : 1;
    cpu_only += first.gpu_count == 0 ? 1 : 0;
    local += first.locality == Locality::kAny ? 0 : 1;
  }
  for (const int count : {gangs, fractions, constrained, groups, cpu_only, elastic, local}) EXPECT_GT(count, 8);
  EXPECT_EQ(world.cluster.models.size(), 5U);
  EXPECT_EQ(world.cluster.pools.size(), 2U);
}

TEST(Arrivals, DropsWhatDoesNotFitAndGoesOn) {
  const std::vector<TraceNode> nodes = must(read_trace_nodes("berth", TemporaryFile("name,cpu,memory,devices,model\n"
                                                                                    "n1,16,64GiB,2,T4\n")
                                                                          .path()))
                                           .records;
  const std::vector<TraceJob> jobs = must(read_trace_jobs("berth", TemporaryFile("name,submit,cpu,memory,gpus\n"
                                                                                 "half,0,1,1GiB,0.5\n"
                                                                                 "two,0,1,1GiB,2\n"
                                                                                 "one,0,1,1GiB,1\n")
                                                                       .path()))
                                         .records;
  const Cluster cluster = must(cluster_from(nodes));
  const ArrivalInput input = must(arrivals_from(cluster, jobs));
  const SimulationResult result = must(simulate_arrivals(input, "best_fit", {}));
  EXPECT_EQ(result.row.tasks, 3);
  EXPECT_EQ(result.row.placed, 2);
  EXPECT_EQ(result.row.failed, 1);
  EXPECT_EQ(result.row.decisions, 3);
  ASSERT_EQ(result.tasks.size(), 3U);
  EXPECT_EQ(result.tasks[0].devices, 1U);
  EXPECT_EQ(result.tasks[1].state, TaskOutcome::kFailed);
  EXPECT_EQ(result.tasks[2].node, "n1");
  EXPECT_EQ(result.tasks[2].devices, 2U);
  EXPECT_EQ(result.row.allocated_pct_at_100, std::nullopt) << "175 % was asked for, with jumps over 100";
  EXPECT_EQ(result.curves.back().arrived_pct, 175);
  EXPECT_EQ(result.curves.back().allocated_pct, 75.0);
}

TEST(Arrivals, IncrementalFragmentationIsTheSumOverAllNodes) {
  const World world({.seed = 5, .gpus = 64, .jobs = 120});
  const ArrivalInput input = must(arrivals_from(world.cluster, world.jobs));
  Ledger ledger(world.cluster);
  const auto score = must(make_score("fgd", {.cluster = &world.cluster, .workload = input.workload}));
  Placer placer(ledger, *score);
  FragmentMeter meter(ledger, input.workload);
  for (const ArrivalTask& task : input.tasks) {
    if (const auto holding = placer.place_task(task.shape)) meter.follow(holding->node);
    EXPECT_NEAR(meter.total(), FragmentMeter(ledger, input.workload).total(), 1e-6);
  }
}

TEST(Arrivals, SameSeedSameBytesAndMeasuringChangesNothing) {
  const World world({.seed = 6, .gpus = 64, .jobs = 100});
  ArrivalInput input = must(arrivals_from(world.cluster, world.jobs));
  std::vector<TaskShape> shapes;
  for (const ArrivalTask& task : input.tasks) shapes.push_back(task.shape);
  input.order = must(inflated_order(shapes, Ledger(world.cluster).gpu_capacity(), 1300, 9));
  input.rank = shuffled_rank(world.cluster.nodes.size(), 9);
  for (const std::string_view score : {"fgd", "random"}) {
    const SimulationResult first = must(simulate_arrivals(input, score, {.seed = 1}));
    EXPECT_EQ(stable_text(first), stable_text(must(simulate_arrivals(input, score, {.seed = 1}))));
    EXPECT_TRUE(first.row.allocated_pct_at_130.has_value());
    const SimulationResult plain = must(simulate_arrivals(input, score, {.seed = 1, .measure_fragmentation = false}));
    EXPECT_EQ(plain.tasks, first.tasks);
    EXPECT_EQ(plain.row.fragmented_pct, std::nullopt);
  }
}

TEST(Arrivals, InterruptKeepsTheCompletePolicies) {
  const World world({.seed = 7, .gpus = 64, .jobs = 50});
  const ArrivalInput input = must(arrivals_from(world.cluster, world.jobs));
  std::atomic<bool> interrupted = false;
  ArrivalOptions options;
  options.control.interrupted = &interrupted;
  options.control.progress = [&](std::string_view policy, std::int64_t done, std::int64_t total) {
    if (policy == "fgd" && done == total) interrupted = true;
  };
  const SimulationSet set = must(run_policies({{"", "fgd"}, {"", "best_fit"}}, [&](const PolicyChoice& policy) {
    return simulate_arrivals(input, policy.score, options);
  }));
  EXPECT_TRUE(set.interrupted);
  ASSERT_EQ(set.complete.size(), 1U);
  EXPECT_EQ(set.complete[0].row.policy, "fgd");
}

TEST(Timed, WithoutContentionNothingWaits) {
  World world({.seed = 8, .gpus = 64, .jobs = 100});
  Seconds clock;
  for (TraceJob& job : world.jobs) {
    job.submit = clock;
    clock += *job.duration;  // the next arrives as this one ends: ends come first
  }
  const SimulationResult result = must(simulate_jobs(world.timed(), {"fifo", "best_fit"}, {}));
  EXPECT_EQ(result.row.wait_mean, 0.0);
  EXPECT_EQ(result.row.wait_p99, 0);
  EXPECT_EQ(result.row.failed, 0);
  EXPECT_EQ(result.row.makespan, clock.value());
}

// At no moment does a node give more than it has, and every task runs exactly as long as its job says.
TEST(Timed, ConservesDevicesAndDurations) {
  const World world({.seed = 9, .gpus = 48, .jobs = 300, .span = Seconds(6 * 3600)});
  const SimulationResult result = must(simulate_jobs(world.timed(), {"priority", "fgd"}, {}));
  struct Use {
    std::int64_t cpu = 0;
    std::array<std::int64_t, kMaxDevices> milli{};
  };
  std::map<std::string, std::size_t> node_of;
  for (std::size_t n = 0; n < world.nodes.size(); ++n) node_of[world.nodes[n].name] = n;
  struct Change {
    std::int64_t time;
    int sign;  // ends sort before starts
    std::size_t task;
  };
  std::vector<Change> changes;
  std::vector<const TraceTaskGroup*> group_of;
  for (const TraceJob& job : world.jobs) {
    for (const TraceTaskGroup& group : job.groups)
      group_of.insert(group_of.end(), static_cast<std::size_t>(group.tasks), &group);
  }
  ASSERT_EQ(group_of.size(), result.tasks.size());
  std::size_t index = 0;
  for (const TraceJob& job : world.jobs) {
    std::int64_t job_start = INT64_MAX;
    const std::size_t first = index;
    for (const TraceTaskGroup& group : job.groups) index += static_cast<std::size_t>(group.tasks);
    for (std::size_t t = first; t < index; ++t) {
      if (result.tasks[t].start) job_start = std::min(job_start, result.tasks[t].start->value());
    }
    for (std::size_t t = first; t < index; ++t) {
      const TaskResult& task = result.tasks[t];
      if (!task.start) continue;
      EXPECT_GE(task.start->value(), job.submit.value());
      EXPECT_EQ(task.end->value(), job_start + job.duration->value());
      changes.push_back({task.start->value(), 1, t});
      changes.push_back({task.end->value(), -1, t});
    }
  }
  std::ranges::sort(changes, {}, [](const Change& change) { return std::pair(change.time, change.sign); });
  std::vector<Use> use(world.nodes.size());
  for (const Change& change : changes) {
    const std::size_t n = node_of.at(result.tasks[change.task].node);
    use[n].cpu += change.sign * group_of[change.task]->cpu.value();
    EXPECT_LE(use[n].cpu, world.nodes[n].cpu.value());
    for (int device = 0; device < world.nodes[n].devices; ++device) {
      if ((result.tasks[change.task].devices >> device & 1) == 0) continue;
      std::int64_t& milli = use[n].milli[static_cast<std::size_t>(device)];
      milli += change.sign * group_of[change.task]->gpu_milli.value();
      EXPECT_LE(milli, 1000);
      EXPECT_GE(milli, 0);
    }
  }
}

TEST(Timed, SameBytesFromMemoryPlainFileAndGzip) {
  const World world({.seed = 10, .gpus = 48, .jobs = 150, .span = Seconds(6 * 3600)});
  const PolicyChoice policy{"priority", "fgd"};
  const std::string expected = stable_text(must(simulate_jobs(world.timed(), policy, {})));
  const TemporaryFile file(berth_jobs_csv(world.jobs));
  for (const std::string& path : {file.path(), file.compressed()}) {
    const TimedInput input = must(timed_from(world.cluster, [&] { return open_trace_jobs("berth", path); }));
    EXPECT_EQ(input.job_count, 150);
    EXPECT_EQ(stable_text(must(simulate_jobs(input, policy, {}))), expected);
  }
}

// One text of jobs on two nodes of two devices; columns as given.
SimulationResult timed_text(std::string_view jobs, std::string_view policy = "fifo + best_fit") {
  const TemporaryFile node_file("name,cpu,memory,devices,model\nn1,16,64GiB,2,T4\nn2,16,64GiB,2,T4\n");
  const TemporaryFile job_file(jobs);
  const Cluster cluster = must(cluster_from(must(read_trace_nodes("berth", node_file.path())).records));
  const TimedInput input = must(timed_from(cluster, [&] { return open_trace_jobs("berth", job_file.path()); }));
  return must(simulate_jobs(input, must(read_policy_choice(policy)), {}));
}

std::string starts_of(const SimulationResult& result) {
  std::string text;
  for (const TaskResult& task : result.tasks) {
    text += task.task + "@" +
            (task.start ? std::to_string(task.start->value()) : std::string(task_outcome_name(task.state))) + " ";
  }
  return text;
}

TEST(Timed, WhatCanNeverStartIsReportedAndStopsNobody) {
  const SimulationResult result = timed_text(
      "name,submit,duration,tasks,cpu,memory,gpus,models\n"
      "wide,0,10,1,1,1GiB,4,\n"
      "gang,0,10,5,1,1GiB,1,\n"
      "other,0,10,1,1,1GiB,1,H100\n"
      "fine,0,10,1,1,1GiB,1,\n");
  EXPECT_EQ(starts_of(result),
            "wide@infeasible gang[0]@infeasible gang[1]@infeasible gang[2]@infeasible gang[3]@infeasible "
            "gang[4]@infeasible other@infeasible fine@0 ");
  ASSERT_EQ(result.infeasible.size(), 3U);
  EXPECT_EQ(result.infeasible[0], "job 'wide' can never start: no node can run a task of it (no_device)");
  EXPECT_EQ(result.infeasible[1], "job 'gang' can never start: 5 tasks must start together, 4 fit the empty cluster");
  EXPECT_EQ(result.infeasible[2],
            "job 'other' can never start: no node has device model H100, they have T4; binding_models = none lets it "
            "run on any");
  EXPECT_EQ(result.row.infeasible_jobs, 3);
  EXPECT_EQ(result.row.failed, 7);
}

TEST(Timed, GroupsThatFitOnlyOneByOneAreInfeasibleInTheEnd) {
  const SimulationResult result = timed_text(
      "name,submit,duration,group,tasks,cpu,memory,gpus\n"
      "a,0,10,,1,1,1GiB,1\n"
      "both,0,10,x,3,1,1GiB,1\n"
      "both,0,10,y,3,1,1GiB,1\n");
  ASSERT_EQ(result.infeasible.size(), 1U);
  EXPECT_EQ(result.infeasible[0], "job 'both' can never start: its task groups do not fit the empty cluster together");
  EXPECT_EQ(result.tasks[1].state, TaskOutcome::kInfeasible);
}

TEST(Timed, AGangWaitsWholeAndOthersPassIt) {
  EXPECT_EQ(starts_of(timed_text("name,submit,duration,tasks,cpu,memory,gpus\n"
                                 "a,0,100,1,1,1GiB,1\n"
                                 "gang,1,50,4,1,1GiB,1\n"
                                 "b,2,10,1,1,1GiB,2\n"
                                 "c,3,10,1,1,1GiB,0.5\n")),
            "a@0 gang[0]@100 gang[1]@100 gang[2]@100 gang[3]@100 b@2 c@3 ");
}

TEST(Timed, TasksBeyondMinTasksJoinLaterAndLeaveWithTheirJob) {
  const SimulationResult result = timed_text(
      "name,submit,duration,tasks,min_tasks,cpu,memory,gpus\n"
      "a,0,20,3,3,1,1GiB,1\n"
      "elastic,5,50,3,1,1,1GiB,1\n");
  EXPECT_EQ(starts_of(result), "a[0]@0 a[1]@0 a[2]@0 elastic[0]@5 elastic[1]@20 elastic[2]@20 ");
  EXPECT_EQ(result.tasks[5].end, Seconds(55));
  EXPECT_EQ(result.row.makespan, 55);
}

// Where the first group goes decides whether the second fits: best_fit would put the server on the GPU node, and leave
// too little CPU there for the worker.
TEST(Timed, AGroupWithLessChoiceIsPlacedFirst) {
  const TemporaryFile node_file("name,cpu,memory,devices,model\nsmall,8,64GiB,1,T4\nlarge,40,64GiB,,\n");
  const TemporaryFile job_file(
      "name,submit,duration,group,cpu,memory,gpus\n"
      "j,0,10,server,4,1GiB,\n"
      "j,0,10,worker,8,1GiB,1\n"
      "filler,1,100,,30,1GiB,\n"
      "tiny,2,100,,1,1GiB,\n");
  const Cluster cluster = must(cluster_from(must(read_trace_nodes("berth", node_file.path())).records));
  const TimedInput input = must(timed_from(cluster, [&] { return open_trace_jobs("berth", job_file.path()); }));
  EXPECT_EQ(starts_of(must(simulate_jobs(input, {"fifo", "best_fit"}, {}))),
            "j.server[0]@0 j.worker[0]@0 filler@1 tiny@2 ");
}

TEST(Timed, JobsMustBeSortedAndHaveDurations) {
  const std::vector<TraceNode> nodes = generate_nodes({.gpus = 16});
  const Cluster cluster = must(cluster_from(nodes));
  const auto error_of = [&](std::string_view text) {
    const TemporaryFile file(text, "jobs.csv");
    const auto input = timed_from(cluster, [&] { return open_trace_jobs("berth", file.path()); });
    return input.ok() ? "no error" : file.without_folder(input.status().message());
  };
  EXPECT_EQ(error_of("name,submit,duration,cpu,memory\na,5,1,1,1GiB\nb,4,1,1,1GiB\n"),
            "jobs.csv:3: job 'b' was submitted at 4, before the job above it (5)");
  EXPECT_EQ(error_of("name,submit,duration,cpu,memory\na,5,,1,1GiB\n"), "jobs.csv:2: job 'a' has no duration");
  EXPECT_EQ(error_of("name,submit,duration,cpu,memory\n"), "no jobs: the trace is empty");
}

TEST(Timed, InterruptAndProgress) {
  const World world({.seed = 11, .gpus = 48, .jobs = 200});
  std::atomic<bool> interrupted = false;
  std::int64_t last = 0;
  TimedOptions options;
  options.control.interrupted = &interrupted;
  options.control.progress = [&](std::string_view policy, std::int64_t done, std::int64_t total) {
    EXPECT_EQ(total, 200);
    EXPECT_LE(done, total);
    last = done;
    if (policy == "priority + fgd" && done > 50) interrupted = true;
  };
  const SimulationSet set = must(run_policies({{"fifo", "fgd"}, {"priority", "fgd"}}, [&](const PolicyChoice& policy) {
    return simulate_jobs(world.timed(), policy, options);
  }));
  EXPECT_TRUE(set.interrupted);
  EXPECT_EQ(set.complete.size(), 1U);
  EXPECT_GT(last, 50);
}

}  // namespace
}  // namespace berth
