// The rules of timed simulations: only jobs that may start are tried with the outcome of trying all; evicted jobs keep
// what they saved; replanning; pooled devices.
#include <gtest/gtest.h>

#include "engine/sim/generator.h"
#include "engine/sim/timed.h"
#include "engine/sim/trace_model.h"
#include "tests/builders.h"

namespace berth {
namespace {

using test::must;

TraceNode node_of(std::string name, std::int32_t devices) {
  TraceNode node;
  node.name = std::move(name);
  node.cpu = MilliCpu(64000);
  node.memory = MiB(65536);
  node.devices = devices;
  node.model = "GPU";
  return node;
}

TraceJob job_of(std::string name, std::int64_t submit, std::int64_t duration, std::int64_t milli_gpus,
                std::string queue = "") {
  TraceJob job;
  job.name = std::move(name);
  job.queue = std::move(queue);
  job.submit = Seconds(submit);
  job.duration = Seconds(duration);
  TraceTaskGroup group;
  group.gpu_count = milli_gpus < 1000 ? 1 : static_cast<std::int32_t>(milli_gpus / 1000);
  group.gpu_milli = MilliGpu(milli_gpus < 1000 ? milli_gpus : 1000);
  job.groups = {group};
  return job;
}

struct Spell {
  std::int64_t start = -1;
  std::int64_t end = -1;
  std::int32_t evictions = 0;

  bool operator==(const Spell&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Spell& spell) {
  return out << spell.start << ".." << spell.end << " evicted " << spell.evictions;
}

std::map<std::string, Spell> spells_of(const SimulationResult& result) {
  std::map<std::string, Spell> spells;
  for (const TaskResult& task : result.tasks) {
    if (task.state == TaskOutcome::kPlaced)
      spells[task.task] = {task.start->value(), task.end->value(), task.evictions};
  }
  return spells;
}

struct SmallWorld {
  Cluster cluster;
  std::vector<TraceJob> jobs;

  TimedInput input() const {
    return must(timed_from(cluster, [this] { return Result(read_from(jobs)); }));
  }
};

// ---- the fast way ---------------------------------------------------------------------------------------------------

using FastCase = std::tuple<std::string, BackfillMode, bool, std::uint64_t>;
class FastWay : public testing::TestWithParam<FastCase> {};

TEST_P(FastWay, SameAsTryingAll) {
  const auto& [order, backfill, has_quotas, seed] = GetParam();
  const GeneratorOptions made{.seed = seed, .gpus = 40, .jobs = 250, .span = Seconds(6 * 3600)};
  SmallWorld world{must(cluster_from(generate_nodes(made))), generate_jobs(made)};
  TimedInput input = world.input();
  if (has_quotas) {
    QuotaResource gpu;
    gpu.name = "gpu";
    input.quotas.resources = {gpu};
    for (std::size_t q = 0; q < input.queues.size(); ++q) {
      QuotaTerms terms;
      terms.has_quota = true;
      terms.quota = 6000;
      terms.lend_limit = q % 2 == 0 ? 2000 : kNoLimit;
      input.quotas.terms.push_back({terms});
    }
  }
  TimedOptions options;
  options.rules.backfill = backfill;
  const SimulationResult fast = must(simulate_jobs(input, {order, "best_fit"}, options));
  options.try_all = true;
  const SimulationResult slow = must(simulate_jobs(input, {order, "best_fit"}, options));
  EXPECT_EQ(fast.tasks, slow.tasks);
  EXPECT_EQ(fast.queues, slow.queues);
  EXPECT_GT(fast.row.wait_mean.value_or(0), 0) << "nothing waited: the test shows nothing";
}

INSTANTIATE_TEST_SUITE_P(Generated, FastWay,
                         testing::Combine(testing::Values("fifo", "priority", "sjf"),
                                          testing::Values(BackfillMode::kGreedy, BackfillMode::kNone,
                                                          BackfillMode::kNonePerQueue, BackfillMode::kEasy),
                                          testing::Bool(), testing::Values(1, 2)),
                         [](const auto& instance) {
                           return std::get<0>(instance.param) + "_" +
                                  std::string(backfill_mode_name(std::get<1>(instance.param))) +
                                  (std::get<2>(instance.param) ? "_quotas_" : "_plain_") +
                                  std::to_string(std::get<3>(instance.param));
                         });

// ---- evictions ------------------------------------------------------------------------------------------------------

TEST(Replanning, AnEvictedJobGoesOnFromItsLastCheckpoint) {
  SmallWorld world{must(cluster_from(std::vector{node_of("n", 1)})),
                   {job_of("long", 0, 1000, 1000), job_of("short", 250, 100, 1000)}};
  const TimedInput input = world.input();
  TimedOptions options;
  options.rules.preemption = Preemption::kReplan;
  options.checkpoint_interval = Seconds(100);
  options.restart_cost.above = Seconds(7);
  const SimulationResult result = must(simulate_jobs(input, {"sjf", "best_fit"}, options));
  // long: 250 s, of which 200 were saved; short until 350; then the other 800 and the restart.
  const std::map<std::string, Spell> expected = {{"long", {0, 350 + 800 + 7, 1}}, {"short", {250, 350, 0}}};
  EXPECT_EQ(spells_of(result), expected);
  EXPECT_EQ(result.all_queues.evictions, 1);
  EXPECT_EQ(result.all_queues.lost, (50 + 7) * 1000);
  EXPECT_EQ(result.all_queues.delivered, (250 + 100 + 807) * 1000);
}

TEST(Replanning, WithoutCheckpointsAllIsLost) {
  SmallWorld world{must(cluster_from(std::vector{node_of("n", 1)})),
                   {job_of("long", 0, 1000, 1000), job_of("short", 250, 100, 1000)}};
  TimedOptions options;
  options.rules.preemption = Preemption::kReplan;
  const SimulationResult result = must(simulate_jobs(world.input(), {"sjf", "best_fit"}, options));
  EXPECT_EQ(spells_of(result).at("long"), (Spell{0, 1350, 1}));
}

TEST(Replanning, NeedsAnOrderByKey) {
  SmallWorld world{must(cluster_from(std::vector{node_of("n", 1)})), {job_of("a", 0, 10, 1000)}};
  TimedOptions options;
  options.rules.preemption = Preemption::kReplan;
  const auto result = simulate_jobs(world.input(), {"fair_share", "best_fit"}, options);
  EXPECT_EQ(result.status().code(), Code::kInvalid);
}

// ---- reclaim --------------------------------------------------------------------------------------------------------

// A queue `own` that has the quota of all GPUs; who borrows it may be evicted at once.
struct OwnedWorld : SmallWorld {
  TimedInput owned() const {
    TimedInput owned_input = input();
    QuotaResource gpu;
    gpu.name = "gpu";
    owned_input.quotas.resources = {gpu};
    for (const Queue& queue : owned_input.queues) {
      QuotaTerms terms;
      terms.has_quota = queue.name == "own";
      terms.quota = terms.has_quota ? 4000 : 0;
      owned_input.quotas.terms.push_back({terms});
    }
    return owned_input;
  }
  static TimedOptions options() {
    TimedOptions options;
    options.rules.preemption = Preemption::kReclaim;
    options.rules.min_runtime = Seconds(0);
    options.rules.pending_delay = Seconds(0);
    return options;
  }
};

TEST(Reclaiming, AVictimThatEndsWithinItsGraceHasEnded) {
  OwnedWorld world{{must(cluster_from(std::vector{node_of("n", 4)})),
                    {job_of("b", 0, 100, 4000, "guest"), job_of("o", 70, 50, 4000, "own")}}};
  world.jobs[0].terms.checkpoint_grace = Seconds(60);
  const SimulationResult result = must(simulate_jobs(world.owned(), {"fair_share", "best_fit"}, OwnedWorld::options()));
  const std::map<std::string, Spell> expected = {{"b", {0, 100, 0}}, {"o", {100, 150, 0}}};
  EXPECT_EQ(spells_of(result), expected);
  EXPECT_EQ(result.all_queues.evictions, 0);
}

// The slot of a victim that has ended is used by a job that comes within the grace.
TEST(Reclaiming, AGraceIsOfOneJobAlone) {
  OwnedWorld world{
      {must(cluster_from(std::vector{node_of("n", 4)})),
       {job_of("b", 0, 100, 4000, "guest"), job_of("o", 70, 10, 4000, "own"), job_of("later", 111, 100, 4000, "own")}}};
  world.jobs[0].terms.checkpoint_grace = Seconds(60);
  const SimulationResult result = must(simulate_jobs(world.owned(), {"fair_share", "best_fit"}, OwnedWorld::options()));
  const std::map<std::string, Spell> expected = {{"b", {0, 100, 0}}, {"o", {100, 110, 0}}, {"later", {111, 211, 0}}};
  EXPECT_EQ(spells_of(result), expected);
}

TEST(Levels, AJobFallsWhenItsServiceReachesTheEndOfItsLevel) {
  SmallWorld world{must(cluster_from(std::vector{node_of("n", 1)})),
                   {job_of("a", 0, 100, 1000), job_of("b", 10, 100, 1000)}};
  TimedOptions options;
  options.rules.preemption = Preemption::kReplan;
  options.checkpoint_interval = Seconds(1);
  options.order_knobs.las_thresholds = {30 * 1000};
  const SimulationResult result = must(simulate_jobs(world.input(), {"las", "best_fit"}, options));
  // a falls at 30, b runs its 30 until 60, then a to its end at 130, then b.
  const std::map<std::string, Spell> expected = {{"a", {0, 130, 1}}, {"b", {30, 200, 1}}};
  EXPECT_EQ(spells_of(result), expected);
}

// ---- pooled devices -------------------------------------------------------------------------------------------------

TEST(PooledDevices, ThreeTimesSixTenthsFitInTwo) {
  SmallWorld world{must(cluster_from(std::vector{node_of("n", 2)})),
                   {job_of("a", 0, 10, 600), job_of("b", 0, 10, 600), job_of("c", 0, 10, 600)}};
  const TimedInput input = world.input();
  TimedOptions options;
  EXPECT_EQ(spells_of(must(simulate_jobs(input, {"fifo", "best_fit"}, options))).at("c").start, 10);
  options.pooled_devices = true;
  EXPECT_EQ(spells_of(must(simulate_jobs(input, {"fifo", "best_fit"}, options))).at("c").start, 0);
}

TEST(PooledDevices, KnowNoReservations) {
  SmallWorld world{must(cluster_from(std::vector{node_of("n", 2)})), {job_of("a", 0, 10, 600)}};
  TimedOptions options;
  options.pooled_devices = true;
  options.rules.backfill = BackfillMode::kEasy;
  EXPECT_EQ(simulate_jobs(world.input(), {"fifo", "best_fit"}, options).status().code(), Code::kInvalid);
}

TEST(Arrivals, AtARateTheyComeWithTheMinute) {
  SmallWorld world{must(cluster_from(std::vector{node_of("n", 8)})),
                   {job_of("a", 0, 10, 1000), job_of("b", 5, 10, 1000), job_of("c", 900, 10, 1000)}};
  TimedOptions options;
  options.arrivals_per_minute = 2;
  const std::map<std::string, Spell> spells =
      spells_of(must(simulate_jobs(world.input(), {"fifo", "best_fit"}, options)));
  EXPECT_EQ(spells.at("b").start, 0);
  EXPECT_EQ(spells.at("c").start, 60);
}

TEST(RestartCost, ReadBySize) {
  const RestartCost cost = must(read_restart_cost("7s to 1, 30s to 8, 60s"));
  EXPECT_EQ(cost.of(MilliGpu(1000)), Seconds(7));
  EXPECT_EQ(cost.of(MilliGpu(2000)), Seconds(30));
  EXPECT_EQ(cost.of(MilliGpu(16000)), Seconds(60));
  EXPECT_EQ(must(read_restart_cost("2m")).of(MilliGpu(1)), Seconds(120));
  EXPECT_FALSE(read_restart_cost("7s to 1").ok());
  EXPECT_FALSE(read_restart_cost("7s, 8s").ok());
}

// ---- beliefs --------------------------------------------------------------------------------------------------------

// small may pass big only if it will have ended by the time that first has: its time limit says so.
TEST(Beliefs, TimeLimitsCountWhereNothingElseIsKnown) {
  SmallWorld world{must(cluster_from(std::vector{node_of("n", 2)})),
                   {job_of("first", 0, 100, 1000), job_of("big", 1, 10, 2000), job_of("small", 2, 50, 1000)}};
  world.jobs[0].time_limit = Seconds(100);
  world.jobs[2].time_limit = Seconds(60);
  TimedOptions options;
  options.rules.backfill = BackfillMode::kEasy;
  for (const DurationSource source : {DurationSource::kLimit, DurationSource::kPredicted}) {
    options.durations = source;
    const std::map<std::string, Spell> spells =
        spells_of(must(simulate_jobs(world.input(), {"fifo", "best_fit"}, options)));
    EXPECT_EQ(spells.at("small").start, 2);
    EXPECT_EQ(spells.at("big").start, 100);
  }
  world.jobs[2].time_limit = Seconds(200);
  EXPECT_EQ(spells_of(must(simulate_jobs(world.input(), {"fifo", "best_fit"}, options))).at("small").start, 110);
}

// A limit that the job outlives is no belief of one who knows the truth.
TEST(Beliefs, TheTruthOutranksALimit) {
  SmallWorld world{must(cluster_from(std::vector{node_of("n", 2)})),
                   {job_of("first", 0, 100, 1000), job_of("big", 1, 10, 2000), job_of("small", 2, 150, 1000)}};
  world.jobs[2].time_limit = Seconds(60);
  TimedOptions options;
  options.rules.backfill = BackfillMode::kEasy;
  EXPECT_EQ(spells_of(must(simulate_jobs(world.input(), {"fifo", "best_fit"}, options))).at("small").start, 110);
}

// ---- queues ---------------------------------------------------------------------------------------------------------

// With 2 GPUs for itself b would run own 10-60, more 60-110, after 110-120, last 130-140.
TEST(Entitled, TheQuotaForItselfWouldHaveStartedThemOnArrival) {
  SmallWorld world{
      must(cluster_from(std::vector{node_of("n", 4)})),
      {job_of("greedy", 0, 100, 4000, "a"), job_of("own", 10, 50, 2000, "b"), job_of("more", 20, 50, 1000, "b"),
       job_of("after", 65, 10, 2000, "b"), job_of("last", 130, 10, 2000, "b")}};
  TimedInput input = world.input();
  QuotaResource gpu;
  gpu.name = "gpu";
  input.quotas.resources = {gpu};
  QuotaTerms two;
  two.has_quota = true;
  two.quota = 2000;
  input.quotas.terms = {{two}, {two}};
  const SimulationResult result = must(simulate_jobs(input, {"fifo", "best_fit"}, {}));
  ASSERT_EQ(result.queues.size(), 2u);
  EXPECT_EQ(result.queues[0].entitled_jobs, 0);
  EXPECT_EQ(result.queues[0].starts_borrowing, 1);
  EXPECT_EQ(result.queues[1].entitled_jobs, 2);
  EXPECT_EQ(result.queues[1].entitled_wait_mean, (90 + 20) / 2);
  EXPECT_EQ(result.queues[1].longest_denied, Seconds(90));
}

// a uses two of three GPUs when b's first job comes, so b goes first, quota or not.
class UseCounts : public testing::TestWithParam<std::tuple<std::string, bool>> {};

TEST_P(UseCounts, WithoutQuotasToo) {
  const auto& [order, pooled] = GetParam();
  SmallWorld world{must(cluster_from(std::vector{node_of("n", 3)})),
                   {job_of("a1", 0, 500, 1000, "a"), job_of("a2", 0, 500, 1000, "a"), job_of("x", 0, 100, 1000, "x"),
                    job_of("a3", 10, 100, 1000, "a"), job_of("b1", 20, 100, 1000, "b")}};
  TimedOptions options;
  options.pooled_devices = pooled;
  const std::map<std::string, Spell> spells =
      spells_of(must(simulate_jobs(world.input(), {order, "best_fit"}, options)));
  EXPECT_EQ(spells.at("b1").start, 100);
  EXPECT_EQ(spells.at("a3").start, 200);
}

INSTANTIATE_TEST_SUITE_P(Orders, UseCounts, testing::Combine(testing::Values("fair_share", "drf"), testing::Bool()),
                         [](const auto& instance) {
                           return std::get<0>(instance.param) + (std::get<1>(instance.param) ? "_pooled" : "_exact");
                         });

}  // namespace
}  // namespace berth
