#include "engine/round/placer.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "engine/policy/device_choice.h"
#include "engine/policy/feasibility.h"

namespace berth {

namespace {

constexpr int kMostOrders = 4;  // in which the groups of a job are tried

// What `count` tasks of `shape` ask of one node together. Exact for CPU tasks and whole devices.
TaskShape bundle_of(const TaskShape& shape, std::int32_t count, bool one_link_group) {
  TaskShape bundle = shape;
  bundle.cpu = shape.cpu * count;
  bundle.memory = shape.memory * count;
  bundle.gpu_count = shape.gpu_count * count;
  bundle.within_link_group = shape.within_link_group || one_link_group;
  return bundle;
}

// A node seen as if only the devices in `mask` were there.
struct MaskedView {
  MaskedView(const NodeView& node, DeviceMask mask) : view(node) {
    for (std::size_t d = 0; d < node.milli.size(); ++d) {
      const bool inside = ((mask >> d) & 1) != 0;
      milli[d] = inside ? node.milli[d] : 0;
      device_memory[d] = inside ? node.device_memory[d] : 0;
    }
    view.milli = {milli, node.milli.size()};
    view.device_memory = {device_memory, node.device_memory.size()};
  }
  MaskedView(const MaskedView&) = delete;
  MaskedView& operator=(const MaskedView&) = delete;

  NodeView view;
  std::int32_t milli[kMaxDevices];
  std::int32_t device_memory[kMaxDevices];
};

DeviceMask all_devices(const NodeKind& kind) {
  return kind.device_count == 0 ? 0 : ~DeviceMask{0} >> (64 - kind.device_count);
}

// The smallest set of devices that may hold `count` fractions of `shape`: the tightest link group that takes them all,
// or the whole node when they need not share one. 0 = none takes them.
DeviceMask devices_for_fractions(const NodeView& view, const TaskShape& shape, bool one_link_group,
                                 std::int32_t count) {
  const auto most_of = [&](DeviceMask group) {
    return std::popcount(group) * (kWholeDevice.value() / shape.gpu_milli.value());
  };
  const bool some_group_could =
      std::ranges::any_of(view.kind->link_groups, [&](DeviceMask group) { return most_of(group) >= count; });
  if (one_link_group && some_group_could) {
    const auto takes_all = [&](DeviceMask group) {
      return copies_that_fit(MaskedView(view, group).view, shape, count) >= count;
    };
    DeviceMask loose = all_devices(*view.kind);  // in no listed group: each a group of its own
    for (const DeviceMask group : view.kind->link_groups) loose &= ~group;
    for (; loose != 0; loose &= loose - 1) {
      if (takes_all(loose & -loose)) return loose & -loose;
    }
    for (const DeviceMask group : view.kind->link_groups) {  // smallest first
      if (takes_all(group)) return group;
    }
    return 0;
  }
  return copies_that_fit(view, shape, count) >= count ? all_devices(*view.kind) : 0;
}

// The next wider level of a preferred locality.
Locality wider(Locality locality) { return static_cast<Locality>(static_cast<std::uint8_t>(locality) - 1); }

}  // namespace

Placer::Placer(Ledger& ledger, NodeScore& policy, std::span<const std::int32_t> rank, std::uint64_t seed,
               const RunningJobs* running)
    : ledger_(ledger),
      policy_(policy),
      candidates_(ledger, policy, rank, seed),
      racks_(ledger, policy),
      running_(running) {}

std::optional<Holding> Placer::place_task(const TaskShape& shape) {
  const std::optional<NodeIndex> node = candidates_.best(shape);
  if (!node) return std::nullopt;
  const NodeView view = ledger_.view(*node);
  const std::optional<DeviceMask> devices = choose_devices(view, shape, policy_);
  if (!devices) return std::nullopt;
  const Holding holding = holding_for(shape, *view.kind, *node, *devices);
  if (!ledger_.place(holding).ok()) return std::nullopt;
  return holding;
}

bool Placer::place_on(const Request& request, NodeIndex node, DeviceMask devices, std::vector<PlacedTask>& placed) {
  const TaskGroup& group = *request.group;
  const Holding holding =
      holding_for(group.shape, ledger_.cluster().kind_of(static_cast<std::size_t>(node)), node, devices);
  if (!ledger_.place(holding).ok()) return false;
  placed.push_back({request.index, next_task_[static_cast<std::size_t>(request.index)]++, holding});
  return true;
}

std::int32_t Placer::place_anywhere(const Request& request, std::vector<PlacedTask>& placed) {
  for (std::int32_t done = 0; done < request.wanted; ++done) {
    const std::optional<NodeIndex> node = candidates_.best(request.group->shape);
    if (!node) return done;
    const std::optional<DeviceMask> devices = choose_devices(ledger_.view(*node), request.group->shape, policy_);
    if (!devices || !place_on(request, *node, *devices, placed)) return done;
  }
  return request.wanted;
}

std::int32_t Placer::place_in_rack(const Request& request, std::vector<PlacedTask>& placed) {
  const TaskShape& shape = request.group->shape;
  const std::span<const std::int64_t> copies = racks_.copies(shape);
  std::int32_t chosen = -1;
  if (request.group->anchor >= 0) {
    chosen = ledger_.cluster().nodes[static_cast<std::size_t>(request.group->anchor)].rack;
  } else {
    // The tightest rack that takes all; if none does, the one that takes most of them.
    const auto is_better = [&](std::int64_t a, std::int64_t b) {
      const bool a_takes_all = a >= request.wanted;
      const bool b_takes_all = b >= request.wanted;
      if (a_takes_all != b_takes_all) return a_takes_all;
      return a_takes_all ? a < b : a > b;
    };
    for (std::size_t rack = 0; rack < copies.size(); ++rack) {
      if (copies[rack] == 0 || copies[rack] < request.needed) continue;
      if (chosen < 0 || is_better(copies[rack], copies[static_cast<std::size_t>(chosen)]))
        chosen = static_cast<std::int32_t>(rack);
    }
  }
  if (chosen < 0) return 0;
  const std::span<const NodeIndex> nodes = racks_.nodes_of(chosen);
  for (std::int32_t done = 0; done < request.wanted; ++done) {
    const std::optional<NodeIndex> node = candidates_.best_among(shape, nodes);
    if (!node) return done;
    const std::optional<DeviceMask> devices = choose_devices(ledger_.view(*node), shape, policy_);
    if (!devices || !place_on(request, *node, *devices, placed)) return done;
  }
  return request.wanted;
}

namespace {

// Devices that more tasks of a group may use on its anchor: those of the smallest link group around what it holds.
DeviceMask devices_near_anchor(const TaskGroup& group, const NodeKind& kind, bool one_link_group) {
  if (one_link_group && group.anchor_devices != 0) {
    for (const DeviceMask link_group : kind.link_groups) {  // smallest first
      if ((group.anchor_devices & ~link_group) == 0) return link_group;
    }
  }
  return all_devices(kind);
}

}  // namespace

bool Placer::anchor_takes(const Request& request, bool one_link_group, std::int32_t count) const {
  const TaskGroup& group = *request.group;
  if (!ledger_.accepts_tasks(group.anchor)) return false;
  const NodeView view = ledger_.view(group.anchor);
  if (!policy_.allows(*view.kind, group.shape)) return false;
  const MaskedView near(view, devices_near_anchor(group, *view.kind, one_link_group));
  if (group.shape.is_fraction()) return devices_for_fractions(near.view, group.shape, false, count) != 0;
  return is_feasible(near.view, bundle_of(group.shape, count, false));
}

std::optional<NodeIndex> Placer::find_node(const Request& request, bool one_link_group, std::int32_t count) {
  const TaskShape& shape = request.group->shape;
  if (request.group->anchor >= 0) {
    return anchor_takes(request, one_link_group, count) ? std::optional(request.group->anchor) : std::nullopt;
  }
  if (!shape.is_fraction()) return candidates_.best(bundle_of(shape, count, one_link_group));
  // Fractions do not add up to a shape; they are rare enough to look at every node.
  std::optional<NodeIndex> best;
  Score best_score = kInfeasibleScore;
  for (std::size_t n = 0; n < ledger_.node_count(); ++n) {
    const NodeIndex node = static_cast<NodeIndex>(n);
    if (!ledger_.accepts_tasks(node)) continue;
    const Score score = candidates_.score_of(shape, node);
    if (score == kInfeasibleScore || (best && score <= best_score)) continue;
    if (devices_for_fractions(ledger_.view(node), shape, one_link_group, count) == 0) continue;
    best = node;
    best_score = score;
  }
  return best;
}

std::int32_t Placer::fill_node(const Request& request, NodeIndex node, bool one_link_group, std::int32_t count,
                               std::vector<PlacedTask>& placed) {
  const TaskShape& shape = request.group->shape;
  const NodeView view = ledger_.view(node);
  const bool anchored = request.group->anchor >= 0;
  const DeviceMask near =
      anchored ? devices_near_anchor(*request.group, *view.kind, one_link_group) : all_devices(*view.kind);
  const bool find_link_group = one_link_group && !anchored;
  if (shape.is_fraction()) {
    const DeviceMask allowed = devices_for_fractions(MaskedView(view, near).view, shape, find_link_group, count) & near;
    for (std::int32_t done = 0; done < count; ++done) {
      const MaskedView masked(ledger_.view(node), allowed);
      const std::optional<DeviceMask> device = choose_devices(masked.view, shape, policy_);
      if (!device || !place_on(request, node, *device, placed)) return done;
    }
    return count;
  }
  const std::optional<DeviceMask> all =
      choose_devices(MaskedView(view, near).view, bundle_of(shape, count, find_link_group), policy_);
  if (!all) return 0;
  DeviceMask left = *all;
  for (std::int32_t done = 0; done < count; ++done) {
    const DeviceMask mine = choose_linked_devices(*view.kind, left, shape.gpu_count);
    left &= ~mine;
    if (!place_on(request, node, mine, placed)) return done;
  }
  return count;
}

std::int32_t Placer::place_on_node(const Request& request, bool one_link_group, std::vector<PlacedTask>& placed) {
  // The most tasks, from all wanted down to those needed, that one node takes; what fits for n fits for fewer.
  std::int32_t low = std::max(request.needed, 1);
  std::int32_t high = request.wanted;
  std::int32_t best_count = 0;
  std::optional<NodeIndex> best_node;
  std::int32_t count = high;  // most groups fit whole or not at all: try that first
  while (low <= high) {
    if (const std::optional<NodeIndex> node = find_node(request, one_link_group, count)) {
      best_count = count;
      best_node = node;
      low = count + 1;
    } else {
      high = count - 1;
    }
    count = low + (high - low) / 2;
  }
  return best_node ? fill_node(request, *best_node, one_link_group, best_count, placed) : 0;
}

std::int32_t Placer::place_at(const Request& request, Locality locality, std::vector<PlacedTask>& placed) {
  switch (locality) {
    case Locality::kAny: return place_anywhere(request, placed);
    case Locality::kRack: return place_in_rack(request, placed);
    case Locality::kNode: return place_on_node(request, false, placed);
    case Locality::kLinkGroup: return place_on_node(request, true, placed);
  }
  return 0;
}

std::int32_t Placer::place_group(const Request& request, std::vector<PlacedTask>& placed) {
  if (request.wanted == 0) return 0;
  const std::size_t placed_before = placed.size();
  const std::int32_t next_before = next_task_[static_cast<std::size_t>(request.index)];
  const Ledger::Checkpoint mark = ledger_.checkpoint();
  // A preferred locality counts only when the whole group has it; otherwise the next wider level is tried.
  Request whole = request;
  whole.needed = request.wanted;
  for (Locality locality = request.group->locality;; locality = wider(locality)) {
    const bool last = request.group->locality_required || locality == Locality::kAny;
    const std::int32_t done = place_at(last ? request : whole, locality, placed);
    if (last || done == request.wanted) return done;
    ledger_.rollback(mark);
    placed.resize(placed_before);
    next_task_[static_cast<std::size_t>(request.index)] = next_before;
  }
}

// What would fit with locality aside, the job's other groups in place, tells one reason from the other.
void Placer::say_why_not(const Request& request, Ledger::Checkpoint before_job, JobOutcome& outcome) {
  Request anywhere = request;
  anywhere.wanted = request.needed;
  std::vector<PlacedTask> trial;
  outcome.group = request.index;
  outcome.needed = request.needed;
  outcome.fits = place_anywhere(anywhere, trial);
  ledger_.rollback(before_job);
  if (outcome.fits >= request.needed) {
    outcome.reason = Reason::kLocality;
  } else if (outcome.fits > 0 || (request.index > 0 && candidates_.best(request.group->shape))) {
    outcome.reason = Reason::kGang;  // some fit, or the job's other groups took the room
  }
}

// Nothing when all groups are placed, one after the other by order_; else the first that does not fit, with those
// before it in the ledger.
std::optional<std::size_t> Placer::first_unplaced(const Job& job, std::vector<PlacedTask>& placed) {
  next_task_.clear();
  for (const TaskGroup& group : job.groups) next_task_.push_back(group.placed);
  placed.clear();
  for (const std::size_t g : order_) {
    const Request request = needed_of(job, g);
    const Ledger::Checkpoint before_group = ledger_.checkpoint();
    if (place_group(request, placed) >= request.needed) continue;
    ledger_.rollback(before_group);
    return g;
  }
  return std::nullopt;
}

// A single group asks for all it wants at once, so that it lies well.
Placer::Request Placer::needed_of(const Job& job, std::size_t index) const {
  const TaskGroup& group = job.groups[index];
  const std::int32_t needed = std::max(0, group.min_tasks - group.placed);
  const std::int32_t wanted = job.groups.size() == 1 ? group.count - group.placed : needed;
  return {&group, static_cast<std::int32_t>(index), wanted, needed};
}

// Every group's needed tasks, or nothing and the reason. Where those before it have taken the room of one that has less
// choice, it goes first the next time.
void Placer::start_needed(const Job& job, JobOutcome& outcome) {
  const Ledger::Checkpoint before_job = ledger_.checkpoint();
  order_.resize(job.groups.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  JobOutcome why_not;
  for (int tries = 0; tries < kMostOrders; ++tries) {
    const std::optional<std::size_t> unplaced = first_unplaced(job, outcome.placed);
    if (!unplaced) {
      std::ranges::stable_sort(outcome.placed, {}, &PlacedTask::group);
      outcome.started = true;
      return;
    }
    if (tries == 0) say_why_not(needed_of(job, *unplaced), before_job, why_not);
    ledger_.rollback(before_job);
    if (*unplaced == order_.front()) break;
    const auto late = std::ranges::find(order_, *unplaced);
    std::rotate(order_.begin(), late, late + 1);
  }
  outcome = std::move(why_not);
}

// What the groups of a started job would like beyond what they need, close to what they have.
void Placer::add_surplus(const Job& job, std::vector<PlacedTask>& placed) {
  for (std::size_t g = 0; g < job.groups.size(); ++g) {
    TaskGroup group = job.groups[g];
    const std::int32_t surplus = group.count - next_task_[g];
    if (surplus <= 0) continue;
    for (const PlacedTask& task : placed) {
      if (task.group != static_cast<std::int32_t>(g)) continue;
      if (group.anchor < 0) group.anchor = task.holding.node;
      if (group.anchor == task.holding.node) group.anchor_devices |= task.holding.devices;
    }
    place_group({&group, static_cast<std::int32_t>(g), surplus, 0}, placed);
  }
}

void Placer::forget_changes() {
  candidates_.catch_up();
  racks_.forget();
  ledger_.forget_changes_before(ledger_.change_count());
}

// Of a job that gave tasks back: what it gains gets their numbers first. More may be placed than runs: by an earlier
// part of the same placement, which got the first free ones.
void Placer::number(const Job& job, std::vector<PlacedTask>& placed) const {
  const RunningJob* const run = running_ == nullptr ? nullptr : running_->find(job.id);
  if (run == nullptr) return;
  for (std::size_t g = 0; g < job.groups.size(); ++g) {
    std::vector<bool> is_taken(static_cast<std::size_t>(job.groups[g].count), false);
    std::int32_t placed_before = job.groups[g].placed;
    for (const RunningTask& task : run->tasks) {
      if (task.group != static_cast<std::int32_t>(g)) continue;
      --placed_before;
      if (const auto number = static_cast<std::size_t>(task.task); number < is_taken.size()) is_taken[number] = true;
    }
    auto free = is_taken.begin();
    for (; placed_before > 0 && free != is_taken.end(); --placed_before) {
      free = std::find(free, is_taken.end(), false);
      if (free != is_taken.end()) ++free;
    }
    for (PlacedTask& task : placed) {
      if (task.group != static_cast<std::int32_t>(g)) continue;
      free = std::find(free, is_taken.end(), false);
      if (free == is_taken.end()) break;
      task.task = static_cast<std::int32_t>(free++ - is_taken.begin());
    }
  }
}

JobOutcome Placer::place_job(const Job& job) {
  JobOutcome outcome;
  start_needed(job, outcome);
  if (outcome.started && job.groups.size() > 1) add_surplus(job, outcome.placed);
  const bool has_some = std::ranges::any_of(job.groups, [](const TaskGroup& group) { return group.placed > 0; });
  if (outcome.started && has_some) number(job, outcome.placed);
  outcome.started = outcome.started && !outcome.placed.empty();
  return outcome;
}

}  // namespace berth
