// The judge of a plan and the brute-force planner of world.h.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <set>

#include "tests/property/world.h"

namespace berth::test {

namespace {

// Free amounts of one node, counted from the rows.
struct FreeNode {
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  std::array<std::int64_t, kMaxDevices> milli{};
  std::array<std::int64_t, kMaxDevices> device_memory{};

  // Allocations and placements have the same fields.
  template <class Row>
  void take(const Row& row) {
    cpu -= row.cpu.value();
    memory -= row.memory.value();
    for (std::size_t d = 0; d < kMaxDevices; ++d) {
      if (((row.devices >> d) & 1) == 0) continue;
      milli[d] -= row.gpu_milli.value();
      device_memory[d] -= row.gpu_memory.value();
    }
  }
};

const Node& node_at(const Snapshot& snapshot, NodeIndex node) {
  return snapshot.cluster.nodes[static_cast<std::size_t>(node)];
}
const NodeKind& kind_at(const Snapshot& snapshot, NodeIndex node) {
  return snapshot.cluster.kind_of(static_cast<std::size_t>(node));
}

std::vector<FreeNode> free_nodes(const Snapshot& snapshot, const Plan& plan) {
  std::vector<FreeNode> nodes(snapshot.cluster.nodes.size());
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const NodeKind& kind = snapshot.cluster.kind_of(n);
    nodes[n].cpu = kind.cpu.value();
    nodes[n].memory = kind.memory.value();
    std::fill_n(nodes[n].milli.begin(), kind.device_count, 1000);
    std::fill_n(nodes[n].device_memory.begin(), kind.device_count, kind.device_memory.value());
  }
  for (const Allocation& a : snapshot.allocations) {
    if (!is_evicted(plan, a)) nodes[static_cast<std::size_t>(a.node)].take(a);
  }
  for (const Placement& p : plan.placements) nodes[static_cast<std::size_t>(p.node)].take(p);
  return nodes;
}

bool fits_anything_negative(const FreeNode& node) {
  const auto negative = [](std::int64_t amount) { return amount < 0; };
  return node.cpu < 0 || node.memory < 0 || std::ranges::any_of(node.milli, negative) ||
         std::ranges::any_of(node.device_memory, negative);
}

// Memory of each device that a task takes: what it says, or the same part of the device as it takes of its compute.
std::int64_t device_memory_of(const TaskShape& shape, const NodeKind& kind) {
  const std::int64_t all = kind.device_memory.value();
  if (shape.gpu_count == 0 || all == 0) return 0;
  if (shape.gpu_milli == kWholeDevice) return all;
  if (shape.gpu_memory != MiB(0)) return shape.gpu_memory.value();
  return all * shape.gpu_milli.value() / 1000;  // rounded down, so that parts of a device never ask for more than it
}

// May a task of the shape take these devices of the node, whoever else is there? Empty = yes.
std::string against(const Snapshot& snapshot, const TaskShape& shape, NodeIndex node, DeviceMask devices) {
  const NodeKind& kind = kind_at(snapshot, node);
  if (node_at(snapshot, node).state != NodeState::kUp) return "the node is not up";
  if (shape.pool >= 0 && kind.pool != shape.pool) return "the node is in another pool";
  if (std::popcount(devices) != shape.gpu_count) return "another number of devices";
  if ((devices >> kind.device_count) != 0) return "devices that the node does not have";
  if ((devices & node_at(snapshot, node).unhealthy) != 0) return "an unhealthy device";
  if (shape.gpu_count > 0 && shape.models != 0 && ((shape.models >> kind.model) & 1) == 0) return "another model";
  if (shape.gpu_count > 0 && kind.device_memory != MiB(0) && shape.gpu_memory > kind.device_memory) {
    return "devices with less memory";
  }
  return {};
}

// Where the tasks of one group lie.
struct Spot {
  NodeIndex node;
  DeviceMask devices;
};

// Inside one listed link group, or one device; where no group could hold so many tasks, the node is the one group there
// is.
bool lies_in_link_group(const NodeKind& kind, const TaskShape& shape, DeviceMask devices, std::size_t tasks) {
  const auto holds = [&](DeviceMask group) { return (devices & ~group) == 0; };
  const auto could_hold = [&](DeviceMask group) {
    const std::int64_t size = std::popcount(group);
    return shape.is_fraction()
               ? size * (kWholeDevice.value() / shape.gpu_milli.value()) >= static_cast<std::int64_t>(tasks)
               : size >= std::popcount(devices);
  };
  if (std::ranges::any_of(kind.link_groups, holds) || std::popcount(devices) <= 1) return true;
  return std::ranges::none_of(kind.link_groups, could_hold);
}

// `is_growing`: the group had tasks before; those keep a node or a rack, not a link group.
bool keeps_locality(const Snapshot& snapshot, const TaskGroup& group, const std::vector<Spot>& spots) {
  const bool is_growing = group.placed > 0;
  DeviceMask together = 0;
  for (const Spot& spot : spots) {
    const NodeIndex first = is_growing ? group.anchor : spots.front().node;
    const bool same_node = spot.node == first;
    if (group.locality == Locality::kRack &&
        (node_at(snapshot, spot.node).rack < 0 || node_at(snapshot, spot.node).rack != node_at(snapshot, first).rack)) {
      return false;
    }
    if ((group.locality == Locality::kNode || group.locality == Locality::kLinkGroup) && !same_node) return false;
    together |= spot.devices;
  }
  return group.locality != Locality::kLinkGroup || spots.empty() ||
         lies_in_link_group(kind_at(snapshot, spots.front().node), group.shape, together, spots.size());
}

class Judge {
 public:
  Judge(const Snapshot& snapshot, const Plan& plan) : snapshot_(snapshot), plan_(plan) {}

  std::vector<std::string> judge() {
    const std::vector<FreeNode> nodes = free_nodes(snapshot_, plan_);
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      if (fits_anything_negative(nodes[n])) say(fmt::format("node {} is over-allocated", n));
    }
    for (const Allocation& a : snapshot_.allocations) {
      if (!is_evicted(plan_, a)) seen_.insert({a.job, a.group, a.task});
    }
    for (const Placement& p : plan_.placements) judge_placement(p);
    for (const Waiting& w : plan_.waiting) {
      if (!waiting_.insert(w.job).second) say(fmt::format("job {} waits twice", w.job));
      if (w.reason == Reason::kNone || w.needed <= 0 || w.fits >= w.needed + (w.reason == Reason::kLocality ? 1 : 0)) {
        if (w.reason != Reason::kGang) say(fmt::format("job {} waits without a good reason", w.job));
      }
    }
    for (const Job& job : snapshot_.jobs) judge_job(job);
    return std::move(broken_);
  }

 private:
  void say(std::string sentence) { broken_.push_back(std::move(sentence)); }

  void judge_placement(const Placement& p) {
    const std::string name = fmt::format("task {}.{}.{}", p.job, p.group, p.task);
    if (!seen_.insert({p.job, p.group, p.task}).second) say(name + " is placed twice");
    const auto job = std::ranges::find(snapshot_.jobs, p.job, &Job::id);
    if (job == snapshot_.jobs.end() || p.group < 0 || static_cast<std::size_t>(p.group) >= job->groups.size()) {
      return say(name + " does not exist");
    }
    const TaskGroup& group = job->groups[static_cast<std::size_t>(p.group)];
    if (p.task < group.placed || p.task >= group.count) say(name + " has a number outside its group");
    if (node_at(snapshot_, p.node).id != p.node_id) say(name + " names two nodes");
    if (const std::string why = against(snapshot_, group.shape, p.node, p.devices); !why.empty()) {
      say(name + ": " + why);
    }
    const NodeKind& kind = kind_at(snapshot_, p.node);
    if (p.cpu != group.shape.cpu || p.memory != group.shape.memory ||
        p.gpu_milli != (group.shape.gpu_count == 0 ? MilliGpu(0) : group.shape.gpu_milli) ||
        p.gpu_memory.value() != device_memory_of(group.shape, kind)) {
      say(name + " does not get what it asks for");
    }
    spots_[{p.job, p.group}].push_back({p.node, p.devices});
  }

  void judge_job(const Job& job) {
    bool is_placed = false;
    bool is_short = false;  // of what it needs to run at all
    for (std::size_t g = 0; g < job.groups.size(); ++g) {
      const TaskGroup& group = job.groups[g];
      const std::vector<Spot>& spots = spots_[{job.id, static_cast<std::int32_t>(g)}];
      is_placed |= !spots.empty();
      is_short |= group.placed + static_cast<std::int32_t>(spots.size()) < group.min_tasks;
      if (group.locality_required && !keeps_locality(snapshot_, group, spots)) {
        say(fmt::format("group {} of job {} does not keep its locality", g, job.id));
      }
    }
    if (is_placed && is_short) say(fmt::format("job {} starts below min_tasks", job.id));
    if (is_placed && waiting_.contains(job.id)) say(fmt::format("job {} starts and waits", job.id));
    if (is_short && !is_placed && !waiting_.contains(job.id)) say(fmt::format("job {} has no answer", job.id));
  }

  const Snapshot& snapshot_;
  const Plan& plan_;
  std::vector<std::string> broken_;
  std::set<std::tuple<std::int64_t, std::int32_t, std::int32_t>> seen_;
  std::set<std::int64_t> waiting_;
  std::map<std::pair<std::int64_t, std::int32_t>, std::vector<Spot>> spots_;
};

// Every way to give `left` tasks of the group a place; equal tasks, so each is tried only after the one before.
class BruteForce {
 public:
  BruteForce(const Snapshot& snapshot, const Plan& plan, const TaskGroup& group)
      : snapshot_(snapshot), group_(group), nodes_(free_nodes(snapshot, plan)) {
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      const NodeIndex node = static_cast<NodeIndex>(n);
      for (DeviceMask devices = 0; (devices >> snapshot.cluster.kind_of(n).device_count) == 0; ++devices) {
        if (against(snapshot, group.shape, node, devices).empty()) spots_.push_back({node, devices});
      }
    }
  }

  bool can_place(std::int32_t left, std::size_t from = 0) {
    if (left == 0) return keeps_locality_if_asked();
    for (std::size_t i = from; i < spots_.size(); ++i) {
      const Spot spot = spots_[i];
      FreeNode& node = nodes_[static_cast<std::size_t>(spot.node)];
      const FreeNode before = node;
      node.take(Placement{.devices = spot.devices,
                          .gpu_milli = group_.shape.gpu_milli,
                          .gpu_memory = MiB(device_memory_of(group_.shape, kind_at(snapshot_, spot.node))),
                          .cpu = group_.shape.cpu,
                          .memory = group_.shape.memory});
      chosen_.push_back(spot);
      const bool found = !fits_anything_negative(node) && can_place(left - 1, i);
      chosen_.pop_back();
      node = before;
      if (found) return true;
    }
    return false;
  }

 private:
  bool keeps_locality_if_asked() const {
    return !group_.locality_required || keeps_locality(snapshot_, group_, chosen_);
  }

  const Snapshot& snapshot_;
  const TaskGroup& group_;
  std::vector<FreeNode> nodes_;
  std::vector<Spot> spots_;
  std::vector<Spot> chosen_;
};

}  // namespace

std::vector<std::string> broken_promises(const Snapshot& snapshot, const Plan& plan) {
  return Judge(snapshot, plan).judge();
}

bool could_start(const Snapshot& snapshot, const Plan& plan, const Job& job) {
  const TaskGroup& group = job.groups.front();
  return BruteForce(snapshot, plan, group).can_place(group.min_tasks - group.placed);
}

}  // namespace berth::test
