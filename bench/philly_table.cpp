// Philly's 82,247 jobs on 80 nodes of 8 GPUs, virtual clusters as queues: waits, completions, evictions and lost work
// under several orders and rules, fair_share with reclaim against fifo, and the speed and memory of the simulation.
//
// quota of a virtual cluster = GPUs of its nodes x 640 / 2,816, rounded down; those without nodes have none and borrow.
// Multi-GPU jobs are gangs of one-GPU tasks that prefer one node, so that no quota is blocked by where free GPUs lie.
// Needs $BERTH_SHARED (else ../shared). `philly_table speed`, `table`, `promise` or `queues` runs one part.
#include <fmt/format.h>

#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <string>

#include "engine/sim/timed.h"
#include "engine/sim/trace_model.h"

namespace berth {
namespace {

constexpr std::int32_t kPhillyNodes = 80;
constexpr std::int32_t kPhillyNodeGpus = 8;
constexpr std::int64_t kPublishedGpus = 2816;

struct PhillyWorld {
  Cluster cluster;
  std::vector<TraceJob> as_read;  // one task up to 8 GPUs, gangs above
  std::vector<TraceJob> jobs;     // gangs of one-GPU tasks
  std::map<std::string, std::int64_t> quota_gpus;
};

std::string philly_folder() {
  const char* folder = std::getenv("BERTH_SHARED");
  return (folder != nullptr ? std::string(folder) : std::string("../shared")) + "/traces/philly/";
}

Result<PhillyWorld> philly_world() {
  PhillyWorld world;
  std::vector<TraceNode> nodes;
  for (int i = 0; i < kPhillyNodes; ++i) {
    TraceNode node;
    node.name = fmt::format("n{:02}", i + 1);
    node.cpu = MilliCpu(64000);
    node.memory = MiB(512 * 1024);
    node.devices = kPhillyNodeGpus;
    node.model = "GPU";
    nodes.push_back(std::move(node));
  }
  BERTH_ASSIGN(world.cluster, cluster_from(nodes));
  BERTH_ASSIGN(ReadRecords<TraceJob> read, read_trace_jobs("philly", philly_folder() + "philly_jobs.csv.gz"));
  world.jobs = std::move(read.records);
  sort_by_submit(world.jobs);
  world.as_read = world.jobs;
  for (TraceJob& job : world.jobs) {
    std::int64_t gpus = 0;
    for (const TraceTaskGroup& group : job.groups) gpus += std::int64_t{group.tasks} * group.gpu_count;
    TraceTaskGroup gang;
    gang.tasks = gang.min_tasks = static_cast<std::int32_t>(gpus);
    gang.gpu_count = 1;
    gang.gpu_milli = kWholeDevice;
    gang.locality = gpus > 1 && gpus <= kPhillyNodeGpus ? Locality::kNode : Locality::kAny;
    gang.locality_required = false;
    job.groups = {gang};
    job.user = job.queue;
  }
  BERTH_ASSIGN(const ReadRecords<TraceNode> owned, read_trace_nodes("philly", philly_folder() + "philly_vc_nodes.csv"));
  for (const TraceNode& node : owned.records) world.quota_gpus[node.pool] += node.devices;
  for (auto& [queue, gpus] : world.quota_gpus) gpus = gpus * kPhillyNodes * kPhillyNodeGpus / kPublishedGpus;
  return world;
}

// The trace `times` over, one after the other, without ever holding it: for memory.
class RepeatedReader : public JobReader {
 public:
  RepeatedReader(const std::vector<TraceJob>& jobs, int times)
      : jobs_(jobs), times_(times), span_(jobs.back().submit - jobs.front().submit) {}
  Result<bool> next(TraceJob& record) override {
    if (at_ == jobs_.size()) {
      at_ = 0;
      ++round_;
    }
    if (round_ == times_) return false;
    record = jobs_[at_++];
    record.submit += span_ * round_;
    return true;
  }

 private:
  const std::vector<TraceJob>& jobs_;
  int times_;
  Seconds span_;
  std::size_t at_ = 0;
  int round_ = 0;
};

Result<TimedInput> philly_input(const PhillyWorld& world, bool with_quotas, int times = 1) {
  const std::vector<TraceJob>& jobs = with_quotas ? world.jobs : world.as_read;
  BERTH_ASSIGN(TimedInput input, timed_from(world.cluster, [&jobs, times]() -> Result<std::unique_ptr<JobReader>> {
                 return std::unique_ptr<JobReader>(std::make_unique<RepeatedReader>(jobs, times));
               }));
  if (!with_quotas) return input;
  QuotaResource gpu;
  gpu.name = "gpu";
  input.quotas.resources = {gpu};
  for (const Queue& queue : input.queues) {
    QuotaTerms terms;
    terms.has_quota = true;
    const auto owned = world.quota_gpus.find(queue.name);
    terms.quota = owned == world.quota_gpus.end() ? 0 : owned->second * kWholeDevice.value();
    input.quotas.terms.push_back({terms});
  }
  return input;
}

double hours(std::int64_t milli_seconds) { return static_cast<double>(milli_seconds) / 3.6e6; }

void print_header() {
  fmt::print("{:<16} {:<10} {:<13} {:>9} {:>8} {:>9} {:>10} {:>8} {:>7} {:>10} {:>11} {:>10} {:>7}\n", "order",
             "durations", "backfill", "wait", "p50", "p90", "completion", "worst", "evicted", "lost GPU-h", "entitled",
             "denied", "cpu s");
}

void print_result(const std::string& order, std::string_view durations, const TimedOptions& options,
                  const SimulationResult& result) {
  const QueueResult& all = result.all_queues;
  std::string rules(backfill_mode_name(options.rules.backfill));
  if (options.rules.preemption == Preemption::kReclaim) rules += "+rec";
  fmt::print("{:<16} {:<10} {:<13} {:>9.0f} {:>8} {:>9} {:>10.0f} {:>8.0f} {:>7} {:>10.1f} {:>11} {:>10} {:>7.1f}\n",
             order, durations, rules, all.wait_mean.value_or(0), all.wait_p50.value_or(0), all.wait_p90.value_or(0),
             all.completion_mean.value_or(0), all.worst_finish_ratio.value_or(0), all.evictions, hours(all.lost),
             all.entitled_wait_mean ? fmt::format("{:.1f}", *all.entitled_wait_mean) : "-", all.longest_denied.value(),
             result.row.run_seconds);
  std::fflush(stdout);
}

void print_queues(const PhillyWorld& world, const SimulationResult& result) {
  fmt::print("  {:<8} {:>6} {:>7} {:>10} {:>10} {:>10} {:>8} {:>7} {:>9} {:>9} {:>9} {:>10} {:>8}\n", "queue", "quota",
             "jobs", "wait", "p90", "completion", "worst", "evicted", "lost h", "within", "borrowing", "entitled",
             "denied");
  for (const QueueResult& queue : result.queues) {
    const auto owned = world.quota_gpus.find(queue.queue);
    fmt::print("  {:<8} {:>6} {:>7} {:>10.0f} {:>10} {:>10.0f} {:>8.0f} {:>7} {:>9.1f} {:>9} {:>9} {:>10.1f} {:>8}\n",
               queue.queue, owned == world.quota_gpus.end() ? 0 : owned->second, queue.jobs,
               queue.wait_mean.value_or(0), queue.wait_p90.value_or(0), queue.completion_mean.value_or(0),
               queue.worst_finish_ratio.value_or(0), queue.evictions, hours(queue.lost), queue.starts_within_quota,
               queue.starts_borrowing, queue.entitled_wait_mean.value_or(0), queue.longest_denied.value());
  }
}

TimedOptions plain_options() {
  TimedOptions options;
  options.keep_tasks = false;
  options.utilisation_points = 100;
  return options;
}

// What it costs to hand out the records alone.
Result<double> seconds_to_read(const TimedInput& input) {
  const std::clock_t begin = std::clock();
  BERTH_ASSIGN(const std::unique_ptr<JobReader> reader, input.open_jobs());
  for (TraceJob job;;) {
    BERTH_ASSIGN(const bool found, reader->next(job));
    if (!found) break;
  }
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

Status print_speed(const PhillyWorld& world) {
  fmt::print("speed: fifo + best_fit, no preemption, one core\n");
  for (const BackfillMode backfill : {BackfillMode::kNone, BackfillMode::kGreedy}) {
    for (const int times : {1, 10}) {
      BERTH_ASSIGN(const TimedInput input, philly_input(world, false, times));
      TimedOptions options = plain_options();
      options.rules.backfill = backfill;
      const double before = peak_memory_mib();
      BERTH_ASSIGN(const SimulationResult result, simulate_jobs(input, {"fifo", "best_fit"}, options));
      BERTH_ASSIGN(const double reading, seconds_to_read(input));
      const auto events = static_cast<double>(result.row.events);
      const double seconds = result.row.run_seconds;
      fmt::print(
          "  {:<7} {:>2} x the trace: {:>8} events in {:.3f} s, {:>9.0f} a second; without the {:.3f} s of reading "
          "records {:>9.0f}; peak memory {:.1f} MiB, before {:.1f}\n",
          backfill_mode_name(backfill), times, result.row.events, seconds, events / seconds, reading,
          events / (seconds - reading), result.row.peak_memory_mib, before);
    }
  }
  return {};
}

Status print_table(const PhillyWorld& world, bool queues) {
  BERTH_ASSIGN(const TimedInput input, philly_input(world, true));
  print_header();
  struct Ordering {
    const char* name;
    DurationSource durations;
  };
  for (const Ordering& order :
       {Ordering{"fifo", DurationSource::kOracle}, Ordering{"priority", DurationSource::kOracle},
        Ordering{"fair_share", DurationSource::kOracle}, Ordering{"sjf", DurationSource::kOracle},
        Ordering{"sjf", DurationSource::kPredicted}, Ordering{"las", DurationSource::kOracle}}) {
    for (const BackfillMode backfill : {BackfillMode::kNone, BackfillMode::kEasy, BackfillMode::kGreedy}) {
      TimedOptions options = plain_options();
      options.rules.backfill = backfill;
      options.durations = order.durations;
      BERTH_ASSIGN(const SimulationResult result, simulate_jobs(input, {order.name, "best_fit"}, options));
      print_result(order.name, order.durations == DurationSource::kOracle ? "oracle" : "predicted", options, result);
      if (queues) print_queues(world, result);
    }
  }
  return {};
}

Status print_promise(const PhillyWorld& world) {
  BERTH_ASSIGN(const TimedInput input, philly_input(world, true));
  print_header();
  TimedOptions plain = plain_options();
  plain.rules.backfill = BackfillMode::kEasy;
  BERTH_ASSIGN(const SimulationResult fifo, simulate_jobs(input, {"fifo", "best_fit"}, plain));
  print_result("fifo", "oracle", plain, fifo);
  print_queues(world, fifo);
  TimedOptions reclaim = plain;
  reclaim.rules.preemption = Preemption::kReclaim;
  reclaim.checkpoint_interval = Seconds(1800);
  reclaim.restart_cost.above = Seconds(60);
  BERTH_ASSIGN(const SimulationResult fair, simulate_jobs(input, {"fair_share", "best_fit"}, reclaim));
  print_result("fair_share", "oracle", reclaim, fair);
  print_queues(world, fair);
  const double less =
      fifo.all_queues.entitled_wait_mean.value_or(0) / std::max(fair.all_queues.entitled_wait_mean.value_or(0), 1e-9);
  fmt::print(
      "entitled jobs wait {:.1f} times less; lost work {:.3f} % of delivered GPU-hours; a queue waits below its "
      "quota for at most {} s (minimum run time {} s, round {} s)\n",
      less, 100 * hours(fair.all_queues.lost) / hours(fair.all_queues.delivered),
      fair.all_queues.longest_denied.value(), reclaim.rules.min_runtime.value(), reclaim.round_interval.value());
  return {};
}

Status run_parts(const std::string& part) {
  BERTH_ASSIGN(const PhillyWorld world, philly_world());
  if (part.empty() || part == "speed") BERTH_TRY(print_speed(world));
  if (part.empty() || part == "promise") BERTH_TRY(print_promise(world));
  if (part.empty() || part == "table" || part == "queues") BERTH_TRY(print_table(world, part == "queues"));
  return {};
}

}  // namespace
}  // namespace berth

int main(int count, char** arguments) {
  const berth::Status done = berth::run_parts(count > 1 ? arguments[1] : "");
  if (done.ok()) return 0;
  fmt::print(stderr, "{}\n", done.message());
  return 1;
}
