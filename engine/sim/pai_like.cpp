#include "engine/sim/pai_like.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <queue>
#include <span>
#include <tuple>

#include "engine/base/env.h"
#include "engine/sim/pai_like_cluster.h"

namespace berth {

namespace {

// ---- published: "MLaaS in the Wild" (Weng and others, NSDI'22), July and August 2020 ------------------------------
constexpr std::int64_t kPaiPublishedTasks = 1200000;  // jobs here; 7.5 million instances, so about 6 each
constexpr double kPaiInstancesPerJob = 6.0;
constexpr std::int64_t kPaiMostUsers = 1300;
constexpr double kPaiTopUsers = 0.05;            // of the users
constexpr double kPaiTopUserInstances = 0.77;    // have so many of the instances
constexpr double kPaiGangInstances = 0.85;       // of the instances are in gangs
constexpr double kPaiLargeGangInstances = 0.20;  // of the instances are in gangs of more than 100 GPUs
constexpr double kPaiRecurringJobs = 0.65;       // of the jobs recur
constexpr std::int64_t kPaiRecurs = 5;           // times or more
constexpr double kPaiDurationMedian = 23 * 60;   // seconds
constexpr double kPaiDurationP90 = 4.5 * 3600;
// Use over request, log-normal: with the requests below its median gives the published median use - 1.4 cores, 3.5 GiB,
// 0.042 GPU - and `above` is the share of tasks that need more than they asked for. CPU is given to them; memory and
// GPU are hard limits here, so those tasks stand at theirs.
struct PaiUse {
  double median;
  double above;
};
constexpr PaiUse kPaiCpuUse = {0.275, 0.155};
constexpr PaiUse kPaiMemoryUse = {0.125, 0.041};
constexpr PaiUse kPaiGpuUse = {0.118, 0.020};

template <class Value>
struct PaiShare {
  double share;  // of the instances
  Value value;
};
// Median 0.5, 95th percentile 1, sharing halves the cards; some need two to eight.
constexpr std::array<PaiShare<std::int64_t>, 8> kPaiGpuMilli = {
    {{0.04, 0}, {0.15, 100}, {0.27, 250}, {0.42, 500}, {0.105, 1000}, {0.008, 2000}, {0.004, 4000}, {0.003, 8000}}};
// Median 6, 95th percentile 12 cores.
constexpr std::array<PaiShare<std::int64_t>, 8> kPaiCores = {
    {{0.05, 1}, {0.12, 2}, {0.25, 4}, {0.24, 6}, {0.17, 8}, {0.08, 10}, {0.07, 12}, {0.02, 16}}};
// Median 29, 95th percentile 59 GiB.
constexpr std::array<PaiShare<std::int64_t>, 9> kPaiMemoryGib = {
    {{0.08, 8}, {0.15, 15}, {0.14, 20}, {0.25, 29}, {0.12, 35}, {0.09, 40}, {0.08, 50}, {0.07, 59}, {0.02, 96}}};

// The part of the spread (variance) between groups that is one between users: with it, ordering by the mean duration of
// the user closes 85 % of the gap in waiting between fifo and shortest-first, as in the published simulator's log
// (fifo 2,880 s, by user 1,240 s, true durations 950 s).
constexpr double kPaiUserSpread = 0.3;

// ---- ours ---------------------------------------------------------------------------------------------------------
// Spread of the durations within a group (log-normal sigma). Nothing published says it; it is set so that what PAI says
// of its predictor - within 25 % for 78 % of recurring instances - holds for ours (bench/prediction): 0.15 makes that
// 83 %, 0.19 makes it 74 %.
constexpr double kPaiRunSpread = 0.17;
constexpr double kPaiUseSpread = 0.08;        // of what runs of one group use
constexpr double kPaiDeviceMemoryUse = 0.37;  // median peak over what the share grants; sigma:
constexpr double kPaiDeviceMemorySpread = 0.6;
constexpr double kPaiMostCpuUse = 4;  // times the request, in the mean
constexpr std::int64_t kPaiMostCores = 64;
constexpr double kPaiShortest = 10;  // seconds
constexpr double kPaiLongest = 10 * 86400;
constexpr std::int64_t kPaiMultiGpuCores = 8;       // a device, of tasks with two or more
constexpr std::int64_t kPaiMultiGpuMemoryGib = 40;  // the same
constexpr std::int64_t kPaiLargestMultiGpuGang = 32;
constexpr std::int64_t kPaiSmallGangs = 200;   // instances: gangs up to here, and large ones from here,
constexpr std::int64_t kPaiLargeGangs = 2400;  // to here; half an average device each
constexpr int kPaiLengthClasses = 32;
constexpr std::int64_t kPaiFrequentGang = 5;    // of the groups with the most runs that are gangs at all
constexpr std::int64_t kPaiStart = 1593561600;  // 2020-07-01 00:00
constexpr std::array<PaiShare<std::string_view>, 5> kPaiModels = {
    {{0.64, ""}, {0.12, "T4"}, {0.10, "P100"}, {0.10, "V100|V100M32"}, {0.04, "V100M32"}}};
constexpr std::array<std::string_view, 12> kPaiQueues = {"recommendation", "search",   "ads",    "vision",
                                                         "language",       "speech",   "video",  "maps",
                                                         "logistics",      "payments", "safety", "labs"};
// Percent of the busiest hour's submissions, by hour of the day.
constexpr std::array<std::uint64_t, 24> kPaiHours = {45, 38, 30, 25,  22, 20, 22, 28, 42, 62, 80, 92,
                                                     78, 82, 95, 100, 98, 92, 80, 70, 72, 70, 64, 55};

std::int64_t pai_round(double value) { return static_cast<std::int64_t>(std::floor(value + 0.5)); }

// Gives values to groups of different size so that each keeps its share of the whole: always the allowed value that is
// furthest behind.
template <class Value, std::size_t size>
class PaiDealer {
 public:
  explicit PaiDealer(const std::array<PaiShare<Value>, size>& table) : table_(table) {}

  template <class Allowed>
  Value deal(std::int64_t weight, Allowed allowed) {
    total_ += static_cast<double>(weight);
    std::size_t best = size;
    for (std::size_t v = 0; v < size; ++v) {
      if ((best == size || behind(v) > behind(best)) && allowed(table_[v].value)) best = v;
    }
    if (best == size) best = 0;
    dealt_[best] += static_cast<double>(weight);
    return table_[best].value;
  }

 private:
  // In proportion to how much it may lag: rare values would else wait for ever behind the common ones.
  double behind(std::size_t v) const { return (table_[v].share * total_ - dealt_[v]) / std::sqrt(table_[v].share); }

  const std::array<PaiShare<Value>, size>& table_;
  std::array<double, size> dealt_{};
  double total_ = 0;
};

// Weights of `count` things, the n-th in proportion to 1 / sqrt(n), together `sum`.
void append_skewed(std::vector<double>& weights, std::size_t count, double sum) {
  double total = 0;
  for (std::size_t n = 1; n <= count; ++n) total += 1 / std::sqrt(static_cast<double>(n));
  for (std::size_t n = 1; n <= count; ++n) weights.push_back(sum / total / std::sqrt(static_cast<double>(n)));
}

// Things of different size, the largest first, each to the owner who is furthest below his weight.
std::vector<std::int32_t> share_out(const std::vector<std::int64_t>& sizes, const std::vector<double>& weights) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return sizes[i]; });
  const auto total = static_cast<double>(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}));
  std::priority_queue<std::pair<double, std::int32_t>> owners;  // room, -owner
  for (std::size_t o = 0; o < weights.size(); ++o) owners.emplace(weights[o] * total, -static_cast<std::int32_t>(o));
  std::vector<std::int32_t> owner_of(sizes.size());
  for (const std::size_t thing : order) {
    const auto [room, owner] = owners.top();
    owners.pop();
    owner_of[thing] = -owner;
    owners.emplace(room - static_cast<double>(sizes[thing]), owner);
  }
  return owner_of;
}

// What the task's share grants it of each device, on the smallest model that it may use.
MiB granted_memory(const TraceTaskGroup& task) {
  std::int64_t least = INT64_MAX;
  for (const PaiMachine& machine : pai_machines()) {
    if (machine.devices > 0 && pai_model_allowed(task.models, machine.model))
      least = std::min(least, machine.device_gib * 1024);
  }
  return MiB(least * task.gpu_milli.value() / 1000);
}

}  // namespace

std::int64_t pai_like_gpus(const PaiLikeOptions& options) {
  constexpr std::int64_t kLeast = 128;
  if (options.gpus > 0) return options.gpus;
  return std::max(kLeast, kPaiPublishedGpus * options.jobs / kPaiPublishedTasks * 60 / options.days);
}

Status check_pai_like(const PaiLikeOptions& options) {
  const auto check = [](std::string_view name, std::int64_t value, std::int64_t least, std::int64_t most) {
    if (value >= least && value <= most) return Status();
    return Status(Code::kInvalid, fmt::format("{} = {}: expected {} to {}", name, value, least, most));
  };
  BERTH_TRY(check("jobs", options.jobs, 1, 20000000));
  BERTH_TRY(check("days", options.days, 1, 3650));
  return options.gpus == 0 ? Status() : check("gpus", options.gpus, 64, 1000000);
}

// Plans the groups, one property after the other.
class PaiLikeTrace::Planner {
 public:
  explicit Planner(PaiLikeTrace& trace)
      : trace_(trace),
        groups_(trace.groups_),
        random_(trace.options_.seed),
        counts_(pai_machine_counts(pai_like_gpus(trace.options_))) {}

  void plan() {
    draw_groups();
    draw_gangs();
    share_out_users();
    spread_durations();
    deal_requests();
    spread_use();
    draw_submissions();
  }

 private:
  double log_uniform(std::int64_t least, std::int64_t most) {
    return static_cast<double>(least) *
           portable_exp(random_.unit() * portable_log(static_cast<double>(most) / static_cast<double>(least)));
  }
  // Density in proportion to n^-1.5.
  std::int64_t few_or_many(std::int64_t least, std::int64_t most) {
    const double low = 1 / std::sqrt(static_cast<double>(least));
    const double high = 1 / std::sqrt(static_cast<double>(most));
    const double root = low - random_.unit() * (low - high);
    return pai_round(1 / (root * root));
  }
  std::vector<std::size_t> shuffled() {
    std::vector<std::size_t> order(groups_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    random_.shuffle(order);
    return order;
  }

  bool recurs(std::size_t g) const { return groups_[g].runs >= kPaiRecurs; }
  void add_group(std::int64_t runs) { groups_.emplace_back().runs = runs; }

  // Recurring groups until they have their share of the jobs, then those that run one to four times.
  void draw_groups() {
    static constexpr std::array<std::int64_t, 10> kFew = {1, 1, 1, 1, 1, 1, 2, 2, 3, 4};
    const std::int64_t most = std::clamp<std::int64_t>(trace_.options_.jobs / 25, kPaiRecurs + 1, 2000);
    std::int64_t left = trace_.options_.jobs;
    auto recurring = static_cast<std::int64_t>(kPaiRecurringJobs * static_cast<double>(left));
    while (recurring >= kPaiRecurs) {
      std::int64_t runs = std::min(recurring, few_or_many(kPaiRecurs, most));
      if (recurring - runs < kPaiRecurs) runs = recurring;
      add_group(runs);
      recurring -= runs;
      left -= runs;
    }
    for (std::int64_t runs = 0; left > 0; left -= runs)
      add_group(runs = std::min(left, kFew[random_.below(kFew.size())]));
  }

  // Gangs come again as often as single tasks do: the groups that recur and those that do not each hold their part of
  // the gangs. No group has more than a hundredth of all instances, and no gang takes more than half of the cluster.
  void draw_gangs() {
    std::vector<std::size_t> groups = shuffled();
    const auto once = std::stable_partition(groups.begin(), groups.end(), [&](std::size_t g) { return recurs(g); });
    draw_gangs_of({groups.begin(), once});
    draw_gangs_of({once, groups.end()});
  }
  // Large gangs until they have their share of the instances, then small ones until all gangs have theirs.
  void draw_gangs_of(std::span<const std::size_t> groups) {
    std::int64_t singles = 0;
    for (const std::size_t g : groups) singles += groups_[g].runs;
    const double expected = kPaiInstancesPerJob * static_cast<double>(singles);
    const std::int64_t most_instances =
        std::max<std::int64_t>(64, pai_round(kPaiInstancesPerJob * static_cast<double>(trace_.options_.jobs) / 100));
    const std::int64_t most_gang = std::max<std::int64_t>(2, pai_room_for(counts_, typical_task(100), 1 << 20) / 2);
    std::int64_t in_gangs = 0;
    const auto draw = [&](double share_of_all, double share_so_far, std::int64_t least, std::int64_t most,
                          std::int64_t usual_runs) {
      for (const std::size_t g : groups) {
        Group& group = groups_[g];
        const auto gangs = static_cast<double>(in_gangs);
        if (gangs >= share_of_all * expected || gangs >= share_so_far * (gangs + static_cast<double>(singles))) return;
        if (group.gang > 1 || group.runs > std::max<std::int64_t>(8, usual_runs)) continue;
        const std::int64_t size = std::min(pai_round(log_uniform(least, most)), most_instances / group.runs);
        group.gang = std::clamp<std::int64_t>(size, 2, most_gang);
        in_gangs += group.instances();
        singles -= group.runs;
      }
    };
    draw(kPaiLargeGangInstances, 1, kPaiSmallGangs, kPaiLargeGangs, most_instances / kPaiSmallGangs);
    draw(1, kPaiGangInstances, 2, kPaiSmallGangs, most_instances / kPaiFrequentGang);
  }

  // Calls use(group, p) for each group in that order, p = where the middle of its instances lies among all of them,
  // from `start` on and around.
  template <class Use>
  void spread(std::span<const std::size_t> order, double start, Use use) {
    double total = 0;
    for (const std::size_t g : order) total += static_cast<double>(groups_[g].instances());
    double before = 0;
    for (const std::size_t g : order) {
      const auto own = static_cast<double>(groups_[g].instances());
      const double at = start + (before + own / 2) / total;
      use(groups_[g], at - std::floor(at));
      before += own;
    }
  }
  // What the groups of a like length and recurrence have in common comes from the whole of its distribution: it then
  // holds over the time, too, most of which runs of days take, and they are few.
  std::pair<bool, std::size_t> kind(std::size_t g) const { return {recurs(g), length_class(groups_[g])}; }
  std::vector<std::size_t> shuffled_by_kind() {
    std::vector<std::size_t> order = shuffled();
    std::ranges::stable_sort(order, {}, [&](std::size_t g) { return kind(g); });
    return order;
  }
  template <class Use>
  void spread_within_kinds(Use use) {
    const std::vector<std::size_t> order = shuffled_by_kind();
    for (auto from = order.begin(); from != order.end();) {
      const auto to = std::ranges::find_if(from, order.end(), [&](std::size_t g) { return kind(g) != kind(*from); });
      spread({from, to}, random_.unit(), use);
      from = to;
    }
  }
  static std::size_t length_class(const Group& group) {
    return static_cast<std::size_t>(std::clamp(portable_log(group.duration) / 0.7, 0.0, kPaiLengthClasses - 1.0));
  }

  // The spread between groups and that within them together make the published one. Groups of one user are alike: their
  // order is that of the sum of a user's and a group's own share.
  void spread_durations() {
    const double z90 = trace_.quantiles_(0.9);
    const double sigma = portable_log(kPaiDurationP90 / kPaiDurationMedian) / z90;
    const double between = std::sqrt(sigma * sigma - kPaiRunSpread * kPaiRunSpread);
    const auto normal = [&] { return trace_.quantiles_(random_.unit()); };
    std::vector<double> of_user(trace_.queue_of_user_.size());
    for (double& user : of_user) user = std::sqrt(kPaiUserSpread) * normal();
    std::vector<double> length;
    for (const Group& group : groups_) {
      length.push_back(of_user[static_cast<std::size_t>(group.user)] + std::sqrt(1 - kPaiUserSpread) * normal());
    }
    std::vector<std::size_t> order = shuffled();
    std::ranges::stable_sort(order, {}, [&](std::size_t g) { return length[g]; });
    const auto once = std::stable_partition(order.begin(), order.end(), [&](std::size_t g) { return recurs(g); });
    for (const std::span<const std::size_t> part :
         {std::span<const std::size_t>(order.begin(), once), std::span<const std::size_t>(once, order.end())}) {
      spread(part, 0, [&](Group& group, double p) {
        group.duration = kPaiDurationMedian * portable_exp(between * trace_.quantiles_(p));
      });
    }
  }

  static TraceTaskGroup typical_task(std::int64_t gpu_milli) {
    TraceTaskGroup task;
    set_gpus(task, gpu_milli);
    task.cpu = MilliCpu(12000);
    task.memory = MiB(std::int64_t{59} * 1024);
    return task;
  }
  static void set_gpus(TraceTaskGroup& task, std::int64_t milli) {
    task.gpu_count = static_cast<std::int32_t>(divide_up(milli, kWholeDevice.value()));
    task.gpu_milli = MilliGpu(std::min(milli, kWholeDevice.value()));
    if (task.gpu_count < 2) return;
    task.cpu = MilliCpu(kPaiMultiGpuCores * 1000 * task.gpu_count);
    task.memory = MiB(kPaiMultiGpuMemoryGib * 1024 * task.gpu_count);
  }
  // Twice, so that a gang never needs all there is.
  bool fits(const Group& group, const TraceTaskGroup& task) const {
    return pai_room_for(counts_, task, 2 * group.gang) == 2 * group.gang;
  }

  // GPU amounts keep their shares among groups of every length, so that they have them of the GPU time, too: runs of
  // days decide that, and they are few.
  void deal_requests() {
    using GpuDealer = PaiDealer<std::int64_t, kPaiGpuMilli.size()>;
    std::vector<GpuDealer> gpus(kPaiLengthClasses, GpuDealer(kPaiGpuMilli));
    for (const std::size_t g : shuffled()) {
      Group& group = groups_[g];
      const std::int64_t milli = gpus[length_class(group)].deal(group.instances(), [&](std::int64_t amount) {
        if (amount > 1000 && group.gang > kPaiLargestMultiGpuGang) return false;
        TraceTaskGroup task = typical_task(1000);
        set_gpus(task, amount);
        return fits(group, task);
      });
      group.task.cpu = MilliCpu(12000);
      group.task.memory = MiB(std::int64_t{59} * 1024);
      set_gpus(group.task, milli);
    }
    deal_each(
        kPaiModels, [](const TraceTaskGroup& task) { return task.gpu_count > 0; },
        [](TraceTaskGroup& task, std::string_view models) { task.models = models; });
    const auto one_device = [](const TraceTaskGroup& task) { return task.gpu_count < 2; };
    deal_each(kPaiCores, one_device,
              [](TraceTaskGroup& task, std::int64_t cores) { task.cpu = MilliCpu(cores * 1000); });
    deal_each(kPaiMemoryGib, one_device, [](TraceTaskGroup& task, std::int64_t gib) { task.memory = MiB(gib * 1024); });
  }
  template <class Value, std::size_t size, class Which, class Set>
  void deal_each(const std::array<PaiShare<Value>, size>& table, Which which, Set set) {
    PaiDealer<Value, size> dealer(table);
    for (const std::size_t g : shuffled_by_kind()) {
      Group& group = groups_[g];
      if (!which(group.task)) continue;
      TraceTaskGroup tried = group.task;
      const Value value = dealer.deal(group.instances(), [&](const Value& each) {
        set(tried, each);
        return fits(group, tried);
      });
      set(group.task, value);
    }
  }

  void spread_use() {
    const auto ratio = [&](const PaiUse& use, double p) {
      const double sigma = -portable_log(use.median) / trace_.quantiles_(1 - use.above);
      return use.median * portable_exp(sigma * trace_.quantiles_(p));
    };
    spread_within_kinds([&](Group& group, double p) {
      const double cores = static_cast<double>(group.task.cpu.value()) * std::min(ratio(kPaiCpuUse, p), kPaiMostCpuUse);
      group.task.usage.cpu_mean = MilliCpu(pai_round(cores));
    });
    spread_within_kinds([&](Group& group, double p) { group.peak = 1.2 + 1.3 * p; });
    spread_within_kinds([&](Group& group, double p) {
      group.task.usage.memory_peak =
          MiB(pai_round(static_cast<double>(group.task.memory.value()) * ratio(kPaiMemoryUse, p)));
    });
    spread_within_kinds([&](Group& group, double p) {
      if (group.task.gpu_count == 0) return;
      group.task.usage.gpu_mean =
          MilliGpu(pai_round(static_cast<double>(group.task.gpu_milli.value()) * ratio(kPaiGpuUse, p)));
    });
    spread_within_kinds([&](Group& group, double p) {
      if (group.task.gpu_count == 0) return;
      const double part = kPaiDeviceMemoryUse * portable_exp(kPaiDeviceMemorySpread * trace_.quantiles_(p));
      group.task.usage.gpu_memory_peak = MiB(pai_round(part * static_cast<double>(granted_memory(group.task).value())));
    });
  }

  void share_out_users() {
    const std::int64_t count = std::clamp<std::int64_t>(trace_.options_.jobs / 100, 40, kPaiMostUsers);
    const std::int64_t top = pai_round(kPaiTopUsers * static_cast<double>(count));
    std::vector<double> weights;
    append_skewed(weights, static_cast<std::size_t>(top), kPaiTopUserInstances);
    append_skewed(weights, static_cast<std::size_t>(count - top), 1 - kPaiTopUserInstances);
    std::vector<std::int64_t> sizes;
    for (const Group& group : groups_) sizes.push_back(group.instances());
    const std::vector<std::int32_t> owners = share_out(sizes, weights);
    std::vector<std::int64_t> of_user(weights.size());
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      groups_[g].user = owners[g];
      of_user[static_cast<std::size_t>(owners[g])] += sizes[g];
    }
    std::vector<double> queues;
    append_skewed(queues, kPaiQueues.size(), 1);
    trace_.queue_of_user_ = share_out(of_user, queues);
  }

  // Each group is alive for a part of the time; its runs come at any hour, more by day than by night.
  void draw_submissions() {
    const std::int64_t span = trace_.options_.days * 86400;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const auto alive = static_cast<std::int64_t>((0.2 + 0.8 * random_.unit()) * static_cast<double>(span));
      const auto from = static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(span - alive + 1)));
      for (std::int64_t run = 0; run < groups_[g].runs; ++run) {
        trace_.runs_.push_back(
            {draw_submit(from, alive), static_cast<std::int32_t>(g), static_cast<std::int32_t>(run)});
      }
    }
    std::ranges::sort(trace_.runs_, {}, [](const Run& run) { return std::tuple(run.submit, run.group, run.number); });
  }
  std::int64_t draw_submit(std::int64_t from, std::int64_t alive) {
    for (;;) {
      const std::int64_t moment = from + static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(alive)));
      if (random_.below(100) < kPaiHours[static_cast<std::size_t>(moment / 3600 % 24)]) return kPaiStart + moment;
    }
  }

  PaiLikeTrace& trace_;
  std::vector<Group>& groups_;
  Random random_;
  std::vector<std::int64_t> counts_;  // machines
};

PaiLikeTrace::PaiLikeTrace(const PaiLikeOptions& options) : options_(options) { Planner(*this).plan(); }

TraceJob PaiLikeTrace::job(std::int64_t index) const {
  const Run& run = runs_[static_cast<std::size_t>(index)];
  const Group& group = groups_[static_cast<std::size_t>(run.group)];
  Random random(options_.seed + (static_cast<std::uint64_t>(run.group) << 24) + static_cast<std::uint64_t>(run.number));
  const auto noise = [&](double spread) { return portable_exp(spread * quantiles_(random.unit())); };
  const auto scaled = [&](auto amount, std::int64_t least, std::int64_t most) {
    const std::int64_t value = pai_round(static_cast<double>(amount.value()) * noise(kPaiUseSpread));
    return decltype(amount)(std::clamp(value, std::min(least, most), most));
  };
  TraceJob job;
  job.name = fmt::format("pai-{:06}", index + 1);
  job.place = fmt::format("generated job {}", index + 1);
  job.user = fmt::format("u{:04}", group.user + 1);
  job.queue = kPaiQueues[static_cast<std::size_t>(queue_of_user_[static_cast<std::size_t>(group.user)])];
  job.tag = fmt::format("g{:06}", run.group + 1);
  job.submit = Seconds(run.submit);
  job.duration = Seconds(pai_round(std::clamp(group.duration * noise(kPaiRunSpread), kPaiShortest, kPaiLongest)));
  job.outcome = JobState::kFinished;
  TraceTaskGroup& task = job.groups.emplace_back(group.task);
  task.tasks = task.min_tasks = static_cast<std::int32_t>(group.gang);
  TraceUsage& usage = task.usage;
  usage.cpu_mean = scaled(*usage.cpu_mean, 10, kPaiMostCores * 1000);
  usage.cpu_peak =
      MilliCpu(std::min(pai_round(static_cast<double>(usage.cpu_mean->value()) * group.peak), kPaiMostCores * 1000));
  usage.memory_peak = scaled(*usage.memory_peak, 64, task.memory.value());
  if (task.gpu_count == 0) return job;
  usage.gpu_mean = scaled(*usage.gpu_mean, 1, task.gpu_milli.value());
  usage.gpu_memory_peak = scaled(*usage.gpu_memory_peak, 64, granted_memory(task).value());
  return job;
}

PaiLikeSummary PaiLikeTrace::summary() const {
  PaiLikeSummary made;
  made.jobs = jobs();
  made.groups = static_cast<std::int64_t>(groups_.size());
  const std::vector<std::int64_t> counts = pai_machine_counts(pai_like_gpus(options_));
  for (std::size_t m = 0; m < counts.size(); ++m) made.cluster_gpus += counts[m] * pai_machines()[m].devices;
  std::vector<std::int64_t> of_user(queue_of_user_.size());
  for (const Group& group : groups_) {
    made.instances += group.instances();
    of_user[static_cast<std::size_t>(group.user)] += group.instances();
    if (group.runs >= kPaiRecurs) made.recurring_jobs += static_cast<double>(group.runs);
    if (group.gang > 1) made.gang_instances += static_cast<double>(group.instances());
  }
  std::ranges::sort(of_user, std::greater<>());
  made.users = std::ranges::count_if(of_user, [](std::int64_t instances) { return instances > 0; });
  const std::int64_t top = pai_round(kPaiTopUsers * static_cast<double>(made.users));
  made.top_user_instances =
      static_cast<double>(std::accumulate(of_user.begin(), of_user.begin() + top, std::int64_t{0}));
  for (std::int64_t j = 0; j < jobs(); ++j) {
    const TraceJob each = job(j);
    const auto busy = static_cast<double>(each.duration->value() * each.groups[0].tasks);
    made.mean_gpus += busy * static_cast<double>(each.groups[0].gpu_count * each.groups[0].gpu_milli.value()) / 1000;
    made.mean_whole_gpus += busy * each.groups[0].gpu_count;
  }
  made.recurring_jobs *= 100 / static_cast<double>(made.jobs);
  made.gang_instances *= 100 / static_cast<double>(made.instances);
  made.top_user_instances *= 100 / static_cast<double>(made.instances);
  made.mean_gpus /= static_cast<double>(options_.days * 86400);
  made.mean_whole_gpus /= static_cast<double>(options_.days * 86400);
  return made;
}

std::vector<TraceJob> pai_like_jobs(const PaiLikeOptions& options) {
  const PaiLikeTrace trace(options);
  std::vector<TraceJob> jobs;
  jobs.reserve(static_cast<std::size_t>(trace.jobs()));
  for (std::int64_t j = 0; j < trace.jobs(); ++j) jobs.push_back(trace.job(j));
  return jobs;
}

}  // namespace berth
