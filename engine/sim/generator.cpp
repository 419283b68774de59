#include "engine/sim/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/base/env.h"

namespace berth {

namespace {

constexpr std::int64_t kGib = 1024;

struct NodeTemplate {
  std::string_view name;
  std::int64_t share;  // of the cluster's devices, in percent
  std::int64_t cores;
  std::int64_t memory_gib;
  std::int32_t devices;
  std::string_view model;
  std::int64_t device_gib;
  std::string_view link_groups;
  std::string_view pool;
};

constexpr std::array<NodeTemplate, 5> kNodeTemplates = {{
    {"a100", 40, 128, 1024, 8, "A100", 80, "[0 1 2 3] [4 5 6 7]", "train"},
    {"h100", 20, 192, 2048, 8, "H100", 80, "", "train"},
    {"v100", 20, 96, 384, 8, "V100", 32, "[[0 1] [2 3]] [[4 5] [6 7]]", "train"},
    {"l40s", 10, 64, 256, 4, "L40S", 48, "[0 1] [2 3]", "serve"},
    {"t4", 10, 48, 192, 4, "T4", 16, "", "serve"},
}};
constexpr NodeTemplate kCpuNode = {"cpu", 0, 64, 256, 0, "", 0, "", "serve"};
constexpr std::int64_t kGpuNodesPerCpuNode = 12;

// How many nodes of each template make `gpus` devices: always one of the kind furthest below its share, so that small
// clusters are mixed too.
std::array<std::int64_t, kNodeTemplates.size()> node_counts(std::int64_t gpus) {
  std::array<std::int64_t, kNodeTemplates.size()> counts{};
  for (std::int64_t made = 0; made < gpus;) {
    std::size_t next = 0;
    const auto lead = [&](std::size_t t) {
      return counts[t] * kNodeTemplates[t].devices * 100 - made * kNodeTemplates[t].share;
    };
    for (std::size_t t = 1; t < kNodeTemplates.size(); ++t) {
      if (lead(t) < lead(next)) next = t;
    }
    ++counts[next];
    made += kNodeTemplates[next].devices;
  }
  return counts;
}

// A table of (weight, value); draws a value.
template <class Value>
struct Weighted {
  std::int64_t weight;
  Value value;
};
template <class Value, std::size_t size>
const Value& draw(Random& random, const std::array<Weighted<Value>, size>& table) {
  std::int64_t total = 0;
  for (const auto& entry : table) total += entry.weight;
  auto at = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(total)));
  for (const auto& entry : table) {
    if (at < entry.weight) return entry.value;
    at -= entry.weight;
  }
  return table.back().value;
}

std::int64_t between(Random& random, std::int64_t least, std::int64_t most) {
  return least + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most - least + 1)));
}

// Most jobs are short, most of the time is used by a few: minutes to two days.
Seconds draw_duration(Random& random) {
  struct Range {
    std::int64_t least;
    std::int64_t most;
  };
  static constexpr std::array<Weighted<Range>, 6> kRanges = {{
      {20, {60, 300}},
      {30, {300, 1800}},
      {25, {1800, 7200}},
      {15, {7200, 21600}},
      {8, {21600, 86400}},
      {2, {86400, 172800}},
  }};
  const Range& range = draw(random, kRanges);
  return Seconds(between(random, range.least, range.most));
}

// Percent of the busiest hour's submissions, by hour of the day.
constexpr std::array<std::uint64_t, 24> kSubmitRate = {20, 15, 12,  10, 10, 12, 18, 30, 55, 80, 95, 100,
                                                       85, 90, 100, 95, 90, 80, 60, 50, 45, 40, 35, 28};

Seconds draw_submit(Random& random, const GeneratorOptions& options) {
  for (;;) {
    const std::int64_t offset = between(random, 0, std::max<std::int64_t>(options.span.value() - 1, 0));
    const Seconds moment = options.start + Seconds(offset);
    const auto hour = static_cast<std::size_t>(moment.value() / 3600 % 24);
    if (random.below(100) < kSubmitRate[hour]) return moment;
  }
}

enum class Department : std::uint8_t { kNlp, kVision, kSearch, kAds, kPlatform };

constexpr std::array<GeneratedQueue, 7> kGeneratedQueues = {{{"research", ""},
                                                             {"product", ""},
                                                             {"platform", ""},
                                                             {"nlp", "research"},
                                                             {"vision", "research"},
                                                             {"search", "product"},
                                                             {"ads", "product"}}};
constexpr std::array<GeneratedClass, 3> kGeneratedClasses = {{{"low", -10}, {"normal", 0}, {"high", 10}}};

class JobGenerator {
 public:
  explicit JobGenerator(const GeneratorOptions& options)
      : options_(options), counts_(node_counts(options.gpus)), random_(options.seed) {}

  TraceJob next() {
    static constexpr std::array<Weighted<Department>, 5> kDepartments = {{{25, Department::kNlp},
                                                                          {25, Department::kVision},
                                                                          {20, Department::kSearch},
                                                                          {15, Department::kAds},
                                                                          {15, Department::kPlatform}}};
    static constexpr std::array<Weighted<std::string_view>, 3> kPriorities = {
        {{20, "low"}, {70, "normal"}, {10, "high"}}};
    TraceJob job;
    const Department department = draw(random_, kDepartments);
    job.priority = draw(random_, kPriorities);
    job.submit = draw_submit(random_, options_);
    job.duration = draw_duration(random_);
    switch (department) {
      case Department::kNlp: nlp(job); break;
      case Department::kVision: vision(job); break;
      case Department::kSearch: search(job); break;
      case Department::kAds: ads(job); break;
      case Department::kPlatform: platform(job); break;
    }
    job.user = fmt::format("{}-{}", job.queue, between(random_, 1, 6));
    return job;
  }

 private:
  // Language models: gangs of whole 8-device nodes in one rack, and single devices to try things out.
  void nlp(TraceJob& job) {
    job.queue = "nlp";
    TraceTaskGroup& group = job.groups.emplace_back();
    if (random_.below(100) < 55) {
      per_device(group, 1, 12, 64);
      group.models = present({"H100", "A100"});
      return;
    }
    static constexpr std::array<Weighted<std::int64_t>, 4> kNodes = {{{40, 1}, {30, 2}, {20, 4}, {10, 8}}};
    per_device(group, 8, 12, 96);
    group.models = random_.below(3) == 0 ? present({"H100"}) : present({"A100", "H100"});
    gang(group, std::min(draw(random_, kNodes), most_whole_nodes(group.models)));
    group.locality = Locality::kRack;
    group.locality_required = false;
  }

  // Vision: a few devices close together, some gangs of such.
  void vision(TraceJob& job) {
    job.queue = "vision";
    TraceTaskGroup& group = job.groups.emplace_back();
    static constexpr std::array<Weighted<std::int32_t>, 3> kDevices = {{{50, 1}, {30, 2}, {20, 4}}};
    per_device(group, draw(random_, kDevices), 8, 40);
    group.models = present({"V100", "A100"});
    if (group.gpu_count > 1) group.locality = Locality::kLinkGroup;
    if (random_.below(100) >= 20) return;
    gang(group, 2);
    group.locality = Locality::kNode;
    group.locality_required = random_.below(2) == 0;
  }

  // Search: many small models that share devices, by stated device memory.
  void search(TraceJob& job) {
    job.queue = "search";
    TraceTaskGroup& group = job.groups.emplace_back();
    static constexpr std::array<Weighted<std::int64_t>, 4> kShares = {{{20, 100}, {35, 250}, {35, 500}, {10, 750}}};
    const std::int64_t milli = draw(random_, kShares);
    group.gpu_count = 1;
    group.gpu_milli = MilliGpu(milli);
    group.gpu_memory = MiB(milli * 16 * kGib / 1000);
    group.cpu = MilliCpu(between(random_, 1, 6) * 1000);
    group.memory = MiB(between(random_, 4, 24) * kGib);
    group.models = present({"T4", "L40S"});
    if (random_.below(4) == 0) elastic(group, 1, between(random_, 2, 4));
  }

  // Ads: CPU work, pairs of devices, and workers with parameter servers beside them.
  void ads(TraceJob& job) {
    job.queue = "ads";
    TraceTaskGroup& group = job.groups.emplace_back();
    const std::uint64_t kind = random_.below(100);
    if (kind < 40) {
      group.cpu = MilliCpu(between(random_, 4, 24) * 1000);
      group.memory = MiB(between(random_, 8, 64) * kGib);
      if (random_.below(3) == 0) gang(group, between(random_, 2, 3));
    } else if (kind < 75) {
      per_device(group, 2, 8, 32);
    } else {
      group.name = "worker";
      per_device(group, 1, 10, 48);
      gang(group, std::min<std::int64_t>(between(random_, 2, 6), options_.gpus / 4 + 1));
      TraceTaskGroup& servers = job.groups.emplace_back();
      servers.name = "ps";
      servers.cpu = MilliCpu(8000);
      servers.memory = MiB(32 * kGib);
      gang(servers, 2);
    }
  }

  // Platform: notebooks on a tenth or half of any device, and tests on a whole one.
  void platform(TraceJob& job) {
    job.queue = "platform";
    TraceTaskGroup& group = job.groups.emplace_back();
    static constexpr std::array<Weighted<std::int64_t>, 4> kShares = {{{35, 100}, {25, 200}, {25, 500}, {15, 1000}}};
    group.gpu_count = 1;
    group.gpu_milli = MilliGpu(draw(random_, kShares));
    group.cpu = MilliCpu(between(random_, 1, 4) * 1000);
    group.memory = MiB(between(random_, 4, 16) * kGib);
  }

  void per_device(TraceTaskGroup& group, std::int32_t devices, std::int64_t most_cores, std::int64_t most_gib) {
    group.gpu_count = devices;
    group.gpu_milli = kWholeDevice;
    group.cpu = MilliCpu(between(random_, most_cores / 2, most_cores) * 1000 * devices);
    group.memory = MiB(between(random_, most_gib / 4, most_gib) / 2 * kGib * devices);
  }
  static void gang(TraceTaskGroup& group, std::int64_t tasks) { elastic(group, tasks, tasks); }
  static void elastic(TraceTaskGroup& group, std::int64_t least, std::int64_t most) {
    group.min_tasks = static_cast<std::int32_t>(least);
    group.tasks = static_cast<std::int32_t>(most);
  }

  // Those of the models that the cluster has; any model when it has none of them.
  std::string present(std::initializer_list<std::string_view> models) const {
    std::string text;
    for (const std::string_view model : models) {
      for (std::size_t t = 0; t < kNodeTemplates.size(); ++t) {
        if (kNodeTemplates[t].model != model || counts_[t] == 0) continue;
        if (!text.empty()) text += '|';
        text += model;
      }
    }
    return text;
  }
  // Half of the 8-device nodes of these models, at least one.
  std::int64_t most_whole_nodes(std::string_view models) const {
    std::int64_t nodes = 0;
    for (std::size_t t = 0; t < kNodeTemplates.size(); ++t) {
      const bool allowed = models.empty() || models.find(kNodeTemplates[t].model) != std::string_view::npos;
      if (kNodeTemplates[t].devices == 8 && allowed) nodes += counts_[t];
    }
    return std::max<std::int64_t>(nodes / 2, 1);
  }

  GeneratorOptions options_;
  std::array<std::int64_t, kNodeTemplates.size()> counts_;
  Random random_;
};

TraceNode node_from(const NodeTemplate& node, std::int64_t number, std::int64_t rack) {
  TraceNode made;
  made.name = fmt::format("{}-{:03}", node.name, number);
  made.cpu = MilliCpu(node.cores * 1000);
  made.memory = MiB(node.memory_gib * kGib);
  made.devices = node.devices;
  made.model = node.model;
  made.device_memory = MiB(node.device_gib * kGib);
  made.rack = fmt::format("r{:02}", rack);
  made.pool = node.pool;
  made.link_groups = node.link_groups;
  return made;
}

}  // namespace

std::vector<TraceNode> generate_nodes(const GeneratorOptions& options) {
  const auto counts = node_counts(options.gpus);
  std::vector<TraceNode> nodes;
  const auto add = [&](const NodeTemplate& node, std::int64_t count) {
    for (std::int64_t i = 1; i <= count; ++i) {
      nodes.push_back(node_from(node, i, static_cast<std::int64_t>(nodes.size()) / options.nodes_per_rack + 1));
    }
  };
  for (std::size_t t = 0; t < kNodeTemplates.size(); ++t) add(kNodeTemplates[t], counts[t]);
  add(kCpuNode, divide_up(static_cast<std::int64_t>(nodes.size()), kGpuNodesPerCpuNode));
  return nodes;
}

std::vector<TraceJob> generate_jobs(const GeneratorOptions& options) {
  JobGenerator generator(options);
  std::vector<TraceJob> jobs;
  for (std::int64_t i = 0; i < options.jobs; ++i) jobs.push_back(generator.next());
  std::ranges::stable_sort(jobs, {}, &TraceJob::submit);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].name = fmt::format("{}-{:04}", jobs[i].queue, i + 1);
    jobs[i].place = fmt::format("generated job {}", i + 1);
  }
  return jobs;
}

std::span<const GeneratedQueue> generated_queues() { return kGeneratedQueues; }
std::span<const GeneratedClass> generated_priority_classes() { return kGeneratedClasses; }

}  // namespace berth
