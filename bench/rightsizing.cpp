// How much more of what is allocated is used when recurring jobs are right-sized, on a workload like PAI's.
//
// Every job is sized at its submission from the runs of its group that had ended by then (it runs from its submission
// on: who waits makes no difference to what is used of what is allocated). Reported per policy:
//   GPU use, CPU use    used / allocated, weighted by time; what a job uses beyond its allocation does not count. The
//                       gain over what it is as requested: of all jobs, and of those whose group comes five times or
//                       more - nothing can be known of the others
//                       The last line is what a policy could reach that knows what each run will use
//   out of memory       runs whose memory or device memory peak is above what they were given; the group then gets its
//                       request back
//   slowed              runs that were given less than they asked for and whose mean CPU use is more than 5 % above the
//                       CPU given, or whose mean GPU use is above the share given
#include <fmt/format.h>

#include <cstdio>
#include <deque>
#include <map>
#include <queue>
#include <unordered_map>

#include "bench/jobs_and_seeds.h"
#include "engine/base/text.h"
#include "engine/policy/registry.h"
#include "engine/sim/pai_like.h"
#include "engine/sim/pai_like_cluster.h"

using namespace berth;

namespace {

constexpr std::string_view kKnown = "known";

struct Variant {
  std::string title;
  std::string policy;  // empty = nobody is right-sized; kKnown = CPU and GPU are what the run will use, from the 4th on
  RightsizeKnobs knobs;
};

std::vector<Variant> variants() {
  RightsizeKnobs published_a;
  published_a.variant = WpaiVariant::kA;
  published_a.compute_floor = false;
  RightsizeKnobs published_b;
  published_b.compute_floor = false;
  RightsizeKnobs guarded_a;
  guarded_a.variant = WpaiVariant::kA;
  RightsizeKnobs mean;
  mean.compute_percentile = 0;
  mean.compute_floor = false;
  return {{"as requested", "", {}},
          {"wpai A, floor off", "wpai", published_a},
          {"wpai B, floor off", "wpai", published_b},
          {"wpai A", "wpai", guarded_a},
          {"wpai B", "wpai", {}},
          {"histogram", "histogram", {}},
          {"histogram, mean, floor off", "histogram", mean},
          {"used, known beforehand", std::string(kKnown), {}}};
}

struct Amounts {
  double gpu_used = 0;
  double gpu_allocated = 0;
  double cpu_used = 0;
  double cpu_allocated = 0;

  double gpu_use() const { return gpu_allocated > 0 ? gpu_used / gpu_allocated : 0; }
  double cpu_use() const { return cpu_allocated > 0 ? cpu_used / cpu_allocated : 0; }
};

struct Totals {
  Amounts all;
  Amounts recurring;
  double memory_allocated = 0;
  std::int64_t jobs = 0;
  std::int64_t smaller = 0;
  std::int64_t out_of_memory = 0;
  std::int64_t slowed_cpu = 0;
  std::int64_t slowed_gpu = 0;
  std::int64_t slowed = 0;
};

MiB smallest_device(const std::string& models) {
  MiB least;
  for (const PaiMachine& machine : pai_machines()) {
    if (machine.devices == 0 || !pai_model_allowed(models, machine.model)) continue;
    const MiB memory(machine.device_gib * 1024);
    least = least == MiB(0) ? memory : std::min(least, memory);
  }
  return least;
}

// TraceUsage counts the devices kept busy by a task; right-sizing looks at each device.
UsageSample sample_of(const TraceTaskGroup& task, Seconds end) {
  UsageSample sample{end, task.usage.cpu_mean, task.usage.cpu_peak, task.usage.memory_peak, {}, {}, false};
  if (task.gpu_count == 0) return sample;
  if (task.usage.gpu_mean) sample.gpu_mean = MilliGpu(divide_up(task.usage.gpu_mean->value(), task.gpu_count));
  sample.gpu_memory_peak = task.usage.gpu_memory_peak;
  return sample;
}

class Replay {
 public:
  Replay(const Variant& variant, const std::unordered_map<std::string, std::int64_t>& runs_of)
      : variant_(variant), runs_of_(runs_of) {
    if (!variant.policy.empty() && variant.policy != kKnown) policy_ = *make_rightsize(variant.policy, variant.knobs);
  }

  void submit(const TraceJob& job) {
    for (; !ends_.empty() && ends_.top().first <= job.submit; ends_.pop()) learn(ends_.top().second);
    const TraceTaskGroup& task = job.groups.front();
    TaskShape asked;
    asked.cpu = task.cpu;
    asked.memory = task.memory;
    asked.gpu_count = task.gpu_count;
    asked.gpu_milli = task.gpu_count > 0 ? task.gpu_milli : MilliGpu(0);
    const MiB device = smallest_device(task.models);
    TaskShape given = asked;
    if (policy_ != nullptr) {
      const std::deque<UsageSample>& runs = history_[job.tag];
      const std::vector<UsageSample> known(runs.begin(), runs.end());
      given = rightsize(*policy_, {asked, device, known, job.submit}, variant_.knobs).shape;
    }
    if (variant_.policy == kKnown && static_cast<std::int64_t>(history_[job.tag].size()) >= variant_.knobs.min_runs) {
      given.cpu = std::min(asked.cpu, *task.usage.cpu_mean);
      if (asked.gpu_count == 1) given.gpu_milli = *task.usage.gpu_mean;
    }
    UsageSample used = sample_of(task, job.submit + *job.duration);
    used.out_of_memory = count(asked, given, device, used, task.tasks, *job.duration, runs_of_.at(job.tag) >= 5);
    ends_.push({used.end, running_.size()});
    running_.push_back({job.tag, used});
  }
  const Totals& totals() const { return totals_; }

 private:
  struct Running {
    std::string tag;
    UsageSample used;
  };

  void learn(std::size_t index) {
    Running& run = running_[index];
    std::deque<UsageSample>& runs = history_[run.tag];
    runs.push_back(run.used);
    if (runs.size() > static_cast<std::size_t>(variant_.knobs.history)) runs.pop_front();
    run.tag = {};
  }

  // Whether it runs out of memory.
  bool count(const TaskShape& asked, const TaskShape& given, MiB device, const UsageSample& used, std::int64_t tasks,
             Seconds duration, bool recurs) {
    const auto weight = static_cast<double>(tasks * duration.value());
    const auto cpu = static_cast<double>(used.cpu_mean->value());
    const std::int64_t gpu_used = used.gpu_mean ? used.gpu_mean->value() : 0;
    totals_.memory_allocated += weight * static_cast<double>(given.memory.value());
    for (Amounts* amounts : {&totals_.all, recurs ? &totals_.recurring : nullptr}) {
      if (amounts == nullptr) continue;
      amounts->cpu_allocated += weight * static_cast<double>(given.cpu.value());
      amounts->cpu_used += weight * std::min(cpu, static_cast<double>(given.cpu.value()));
      amounts->gpu_allocated += weight * static_cast<double>(given.gpu_total().value());
      amounts->gpu_used += weight * static_cast<double>(std::min(gpu_used, given.gpu_milli.value()) * given.gpu_count);
    }
    ++totals_.jobs;
    if (given == asked) return false;
    ++totals_.smaller;
    const bool slow_cpu = given.cpu < asked.cpu && cpu > 1.05 * static_cast<double>(given.cpu.value());
    const bool slow_gpu = given.gpu_milli < asked.gpu_milli && gpu_used > given.gpu_milli.value();
    totals_.slowed_cpu += slow_cpu;
    totals_.slowed_gpu += slow_gpu;
    totals_.slowed += slow_cpu || slow_gpu;
    const bool host = used.memory_peak && *used.memory_peak > given.memory;
    const bool on_device = used.gpu_memory_peak && *used.gpu_memory_peak > device_memory_for(given, device);
    const bool out_of_memory = variant_.policy != kKnown && (host || on_device);
    totals_.out_of_memory += out_of_memory;
    return out_of_memory;
  }

  const Variant& variant_;
  const std::unordered_map<std::string, std::int64_t>& runs_of_;
  std::unique_ptr<RightsizePolicy> policy_;
  std::unordered_map<std::string, std::deque<UsageSample>> history_;
  std::deque<Running> running_;
  std::priority_queue<std::pair<Seconds, std::size_t>, std::vector<std::pair<Seconds, std::size_t>>, std::greater<>>
      ends_;
  Totals totals_;
};

double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }
double gain(double now, double before) { return percent(now, before) - 100; }

// The gains of each variant, added up over the seeds.
using Gains = std::map<std::string, std::pair<double, double>>;

void run(const PaiLikeOptions& options, Gains& gains) {
  const PaiLikeTrace trace(options);
  std::unordered_map<std::string, std::int64_t> runs_of;
  for (std::int64_t i = 0; i < trace.jobs(); ++i) ++runs_of[trace.job(i).tag];
  fmt::print("\n{} jobs, seed {}\n", print_count(options.jobs), options.seed);
  fmt::print("{:<28} {:>8} {:>7} {:>10} {:>8} {:>7} {:>10} {:>8} {:>8} {:>5} {:>8} {:>8} {:>8}\n", "", "GPU use",
             "gain", "recurring", "CPU use", "gain", "recurring", "memory", "resized", "OOM", "slowed", "by CPU",
             "by GPU");
  std::optional<Totals> base;
  for (const Variant& variant : variants()) {
    Replay replay(variant, runs_of);
    for (std::int64_t i = 0; i < trace.jobs(); ++i) replay.submit(trace.job(i));
    const Totals& totals = replay.totals();
    if (!base) {
      base = totals;
      fmt::print("recurring jobs are allocated {:.0f} % of all GPU time, {:.0f} % of all CPU time\n",
                 percent(base->recurring.gpu_allocated, base->all.gpu_allocated),
                 percent(base->recurring.cpu_allocated, base->all.cpu_allocated));
    }
    const auto count = static_cast<double>(totals.jobs);
    gains[variant.title].first += gain(totals.all.gpu_use(), base->all.gpu_use());
    gains[variant.title].second += gain(totals.all.cpu_use(), base->all.cpu_use());
    fmt::print("{:<28} {:>7.1f}% {:>+6.0f}% {:>+9.0f}% {:>7.1f}% {:>+6.0f}% {:>+9.0f}% {:>7.0f}% {:>7.1f}% {:>5} ",
               variant.title, 100 * totals.all.gpu_use(), gain(totals.all.gpu_use(), base->all.gpu_use()),
               gain(totals.recurring.gpu_use(), base->recurring.gpu_use()), 100 * totals.all.cpu_use(),
               gain(totals.all.cpu_use(), base->all.cpu_use()),
               gain(totals.recurring.cpu_use(), base->recurring.cpu_use()),
               percent(totals.memory_allocated, base->memory_allocated),
               percent(static_cast<double>(totals.smaller), count), totals.out_of_memory);
    fmt::print("{:>7.2f}% {:>7.2f}% {:>7.2f}%\n", percent(static_cast<double>(totals.slowed), count),
               percent(static_cast<double>(totals.slowed_cpu), count),
               percent(static_cast<double>(totals.slowed_gpu), count));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto workloads = jobs_and_seeds("rightsizing", argc, argv);
  if (!workloads) return 2;
  Gains gains;
  for (const PaiLikeOptions& options : *workloads) run(options, gains);
  fmt::print("\nmean gain over {} seeds (WPAI: GPU +51 %, CPU +38 %)\n", workloads->size());
  const auto seeds = static_cast<double>(workloads->size());
  for (const Variant& variant : variants()) {
    const auto& [gpu, cpu] = gains[variant.title];
    fmt::print("{:<28} GPU {:>+4.0f}%  CPU {:>+4.0f}%\n", variant.title, gpu / seeds, cpu / seeds);
  }
  return 0;
}
