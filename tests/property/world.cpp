#include "tests/property/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "engine/policy/workload.h"

namespace berth::test {

namespace {

std::vector<DeviceMask> random_link_groups(Random& random, std::int32_t devices) {
  using Groups = std::vector<DeviceMask>;
  if (devices == 4) return one_of<Groups>(random, {{}, {0b0011, 0b1100}, {0b0011}, {0b0101, 0b1010}});
  if (devices == 8) return one_of<Groups>(random, {{}, {0x0F, 0xF0}, {0x03, 0x0C, 0x30, 0xC0, 0x0F, 0xF0}, {0x55}});
  return {};
}

NodeKind random_kind(Random& random, const Cluster& cluster, const WorldSize& size) {
  NodeKind kind;
  kind.cpu = MilliCpu(one_of<std::int64_t>(random, {8000, 32000, 96000}));
  kind.memory = MiB(one_of<std::int64_t>(random, {32768, 262144}));
  kind.device_count = std::min(size.most_devices, one_of(random, {0, 1, 2, 4, 4, 8, 8}));
  if (kind.device_count > 0) {
    kind.model = static_cast<std::int32_t>(random.below(cluster.models.size()));
    kind.device_memory = cluster.models[static_cast<std::size_t>(kind.model)].memory;
    kind.link_groups = random_link_groups(random, kind.device_count);
  }
  kind.pool = static_cast<std::int32_t>(random.below(3)) - 1;
  return kind;
}

DeviceMask devices_of(const NodeKind& kind) { return (DeviceMask{1} << kind.device_count) - 1; }

void learn_workload(Snapshot& snapshot) {
  std::vector<WorkloadTask> tasks;
  for (const Job& job : snapshot.jobs) {
    for (const TaskGroup& group : job.groups) tasks.push_back({group.shape, {}, group.count});
  }
  snapshot.workload = typical_workload(tasks);
}

}  // namespace

Cluster random_cluster(Random& random, const WorldSize& size) {
  Cluster cluster;
  for (int model = 0; model < 3; ++model) {
    const MiB memory(one_of<std::int64_t>(random, {0, 40960, 81920}));
    cluster.models.push_back({model + 1, "model" + std::to_string(model), memory});
  }
  cluster.pools = {"train", "serve"};
  cluster.racks = {"r0", "r1", "r2"};
  for (std::size_t kinds = 1 + random.below(4); kinds > 0; --kinds) {
    cluster.add_kind(random_kind(random, cluster, size));
  }
  const std::size_t count = 1 + random.below(size.most_nodes);
  for (std::size_t i = 0; i < count; ++i) {
    Node node;
    node.id = static_cast<std::int64_t>(i + 1);
    node.kind = static_cast<std::int32_t>(random.below(cluster.kinds.size()));
    node.rack = static_cast<std::int32_t>(random.below(4)) - 1;
    if (random.below(12) == 0) node.state = one_of(random, {NodeState::kDraining, NodeState::kDown});
    if (random.below(8) == 0) {
      node.unhealthy = random.below(256) & devices_of(cluster.kinds[static_cast<std::size_t>(node.kind)]);
    }
    cluster.nodes.push_back(node);
    cluster.node_names.push_back("n" + std::to_string(node.id));
  }
  return cluster;
}

TaskGroup random_group(Random& random, const WorldSize& size) {
  TaskGroup group;
  TaskShape& shape = group.shape;
  shape.cpu = MilliCpu(one_of<std::int64_t>(random, {0, 500, 1000, 4000, 12000}));
  shape.memory = MiB(one_of<std::int64_t>(random, {0, 1000, 8192, 20000}));
  shape.gpu_count = std::min(size.most_devices, one_of(random, {0, 1, 1, 1, 1, 2, 2, 4, 8}));
  if (shape.gpu_count > 0) shape.gpu_milli = kWholeDevice;
  if (shape.gpu_count == 0 && shape.memory == MiB(0)) shape.cpu = MilliCpu(1000);  // a task asks for something
  if (shape.gpu_count == 1 && random.below(2) == 0) {
    shape.gpu_milli = MilliGpu(one_of<std::int64_t>(random, {50, 250, 333, 500, 810}));
    shape.gpu_memory = MiB(one_of<std::int64_t>(random, {0, 0, 10000, 30000, 60000}));
  }
  if (shape.gpu_count > 0 && random.below(4) == 0) shape.models = 1 + random.below(7);
  if (random.below(6) == 0) shape.pool = static_cast<std::int32_t>(random.below(2));
  const auto one_to = [&](std::int32_t most) {
    return 1 + static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(most)));
  };
  if (random.below(2) == 0) group.count = one_to(size.most_tasks);
  group.min_tasks = group.count;
  if (random.below(3) == 0) group.min_tasks = one_to(group.count);
  group.locality =
      one_of(random, {Locality::kAny, Locality::kAny, Locality::kRack, Locality::kNode, Locality::kLinkGroup});
  group.locality_required = random.below(3) != 0;
  return group;
}

Job random_job(Random& random, const WorldSize& size, std::int64_t id, Seconds now) {
  Job job;
  job.id = id;
  job.priority_class = static_cast<std::int32_t>(random.below(4)) - 1;
  job.submit = now - Seconds(static_cast<std::int64_t>(random.below(20)) * 1000);
  for (std::size_t groups = random.below(4) == 0 ? 1 + random.below(3) : 1; groups > 0; --groups) {
    job.groups.push_back(random_group(random, size));
  }
  return job;
}

Snapshot random_snapshot(Random& random, const WorldSize& size, std::size_t jobs) {
  Snapshot snapshot;
  snapshot.version = 1;
  snapshot.now = Seconds(100000);
  snapshot.seed = random.next();
  snapshot.cluster = random_cluster(random, size);
  for (std::int64_t i = 0; i < 3; ++i) snapshot.priority_classes.push_back({i + 1, "c" + std::to_string(i), i * 2});
  for (std::size_t i = 0; i < jobs; ++i) {
    snapshot.jobs.push_back(random_job(random, size, static_cast<std::int64_t>(i + 1), snapshot.now));
  }
  learn_workload(snapshot);
  return snapshot;
}

bool is_evicted(const Plan& plan, const Allocation& allocation) {
  return std::ranges::any_of(plan.evictions, [&](const Eviction& eviction) {
    if (eviction.job != allocation.job || eviction.stop_at > plan.planned_at) return false;
    return eviction.whole ||
           std::ranges::find(eviction.tasks, TaskName{allocation.group, allocation.task}) != eviction.tasks.end();
  });
}

Snapshot after_plan(const Snapshot& before, const Plan& plan) {
  Snapshot after = before;
  std::erase_if(after.allocations, [&](const Allocation& a) { return is_evicted(plan, a); });
  ++after.version;
  after.now += Seconds(600);
  for (const Placement& p : plan.placements) {
    after.allocations.push_back(
        {p.job, p.group, p.task, p.node, p.devices, p.gpu_milli, p.gpu_memory, p.cpu, p.memory});
    const auto job = std::ranges::find(after.jobs, p.job, &Job::id);
    job->state = JobState::kRunning;
    TaskGroup& group = job->groups[static_cast<std::size_t>(p.group)];
    if (group.anchor < 0) group.anchor = p.node;
    ++group.placed;
  }
  const auto key = [](const Allocation& a) { return std::tuple(a.node, a.job, a.group, a.task); };
  std::ranges::sort(after.allocations, {}, key);
  std::erase_if(after.jobs, [](const Job& job) {
    return std::ranges::all_of(job.groups, [](const TaskGroup& group) { return group.placed == group.count; });
  });
  return after;
}

void end_some_jobs(Snapshot& snapshot, Random& random) {
  const std::uint64_t salt = random.next();
  const auto ends = [&](std::int64_t job) { return Random(salt ^ static_cast<std::uint64_t>(job)).below(3) == 0; };
  std::erase_if(snapshot.allocations, [&](const Allocation& a) { return ends(a.job); });
  std::erase_if(snapshot.jobs, [&](const Job& job) { return job.state == JobState::kRunning && ends(job.id); });
}

std::string print_free(const Ledger& ledger) {
  std::string text;
  for (std::size_t n = 0; n < ledger.node_count(); ++n) {
    const NodeView view = ledger.view(static_cast<NodeIndex>(n));
    text +=
        fmt::format("node {}: cpu {} memory {} tenants {} milli {} device memory {}\n", n, view.cpu.value(),
                    view.memory.value(), view.tenants, fmt::join(view.milli, " "), fmt::join(view.device_memory, " "));
  }
  return text + fmt::format("used {}\n", ledger.gpu_used().value());
}

}  // namespace berth::test
