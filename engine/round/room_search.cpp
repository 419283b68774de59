#include "engine/round/room_search.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "engine/policy/feasibility.h"

namespace berth {

namespace {

// What is free on a node, and what victims add to that.
struct FreeRoom {
  FreeRoom(const Ledger& ledger, NodeIndex of)
      : index(of), unhealthy(ledger.cluster().nodes[static_cast<std::size_t>(of)].unhealthy) {
    const NodeView node = ledger.view(of);
    kind = node.kind;
    cpu = node.cpu;
    memory = node.memory;
    std::ranges::copy(node.milli, milli.begin());
    std::ranges::copy(node.device_memory, device_memory.begin());
    devices = node.milli.size();
  }
  // `sign` -1: takes it away again.
  void add(const Holding& holding, int sign = 1) {
    cpu += holding.cpu * sign;
    memory += holding.memory * sign;
    for (std::size_t d = 0; d < devices; ++d) {
      if (((holding.devices & ~unhealthy) >> d & 1) == 0) continue;
      milli[d] += sign * static_cast<std::int32_t>(holding.gpu_milli.value());
      device_memory[d] += sign * static_cast<std::int32_t>(holding.gpu_memory.value());
    }
  }
  // What the victim's tasks between two levels hold on the node.
  void add_tasks(const Victim& victim, std::size_t from, std::size_t to, int sign = 1) {
    for (std::size_t i = from; i < to; ++i) {
      if (victim.tasks[i].holding.node == index) add(victim.tasks[i].holding, sign);
    }
  }
  NodeView view() const {
    NodeView node;
    node.kind = kind;
    node.cpu = cpu;
    node.memory = memory;
    node.milli = {milli.data(), devices};
    node.device_memory = {device_memory.data(), devices};
    return node;
  }

  NodeIndex index;
  DeviceMask unhealthy;
  const NodeKind* kind = nullptr;
  MilliCpu cpu;
  MiB memory;
  std::array<std::int32_t, kMaxDevices> milli{};
  std::array<std::int32_t, kMaxDevices> device_memory{};
  std::size_t devices = 0;
};

std::int32_t needed_of(const TaskGroup& group) { return std::max(0, group.min_tasks - group.placed); }

std::int32_t units_in(const NodeView& node, const TaskGroup& group, std::int32_t tasks, std::int32_t most) {
  if (tasks == 1) return copies_that_fit(node, group.shape, most);
  if (group.shape.is_fraction() || group.shape.gpu_count == 0) {
    return copies_that_fit(node, group.shape, tasks) >= tasks ? 1 : 0;
  }
  TaskShape together = group.shape;
  together.cpu = group.shape.cpu * tasks;
  together.memory = group.shape.memory * tasks;
  together.gpu_count = group.shape.gpu_count * tasks;
  together.within_link_group = together.within_link_group || group.locality == Locality::kLinkGroup;
  return is_feasible(node, together) ? 1 : 0;
}

// With what is chosen gone.
FreeRoom room_on(const Ledger& ledger, const VictimIndex& index, const VictimChoice& choice, NodeIndex node) {
  FreeRoom room(ledger, node);
  for (const std::int32_t v : index.on_node(node)) {
    const auto victim = static_cast<std::size_t>(v);
    room.add_tasks(index[victim], 0, choice.level(victim));
  }
  return room;
}

}  // namespace

bool RoomSearch::Offer::is_better_than(const Offer& other) const {
  if (is_possible != other.is_possible) return is_possible;
  return std::tuple(loses_quota, highest_class, lost_per_gain, victims, runtime) <
         std::tuple(other.loses_quota, other.highest_class, other.lost_per_gain, other.victims, other.runtime);
}

std::vector<NodeIndex> RoomSearch::nodes_for(const TaskGroup& group) const {
  std::vector<NodeIndex> nodes;
  const Ledger& ledger = state_.ledger();
  const std::vector<Node>& all = ledger.cluster().nodes;
  for (std::size_t n = 0; n < ledger.node_count(); ++n) {
    const auto node = static_cast<NodeIndex>(n);
    const NodeKind& kind = ledger.cluster().kind_of(n);
    if (!ledger.accepts_tasks(node) || !state_.may_ever_run(kind, group.shape)) continue;
    if (group.anchor >= 0 && group.locality_required) {
      if (must_share_node(group) && node != group.anchor) continue;
      if (group.locality == Locality::kRack && all[n].rack != all[static_cast<std::size_t>(group.anchor)].rack)
        continue;
    }
    if (group.locality == Locality::kRack && group.locality_required && all[n].rack < 0) continue;
    nodes.push_back(node);
  }
  return nodes;
}

// The next level of the victim that frees something on the node; its level now when there is none.
std::size_t RoomSearch::next_level(std::size_t v, NodeIndex node, bool whole) const {
  const Victim& victim = index_[v];
  const std::size_t now = choice_.level(v);
  const auto is_here = [&](std::size_t task) { return victim.tasks[task].holding.node == node; };
  if (whole) {
    if (reach_[v] != VictimReach::kAll || now == victim.all()) return now;
    for (std::size_t i = now; i < victim.all(); ++i) {
      if (is_here(i)) return victim.all();
    }
    return now;
  }
  if (reach_[v] == VictimReach::kNone) return now;
  for (std::size_t i = now; i < victim.surplus; ++i) {
    if (is_here(i)) return i + 1;
  }
  return now;
}

std::int32_t RoomSearch::count(NodeIndex node, const Unit& unit, std::int32_t most) const {
  return units_in(room_on(state_.ledger(), index_, choice_, node).view(), *unit.group, unit.tasks, most);
}

RoomSearch::Offer RoomSearch::offer(NodeIndex node, const Unit& unit) {
  Offer offer;
  const std::int32_t most = unit.group->count + 1;
  FreeRoom room = room_on(state_.ledger(), index_, choice_, node);
  const auto units = [&] { return units_in(room.view(), *unit.group, unit.tasks, most); };
  const std::int32_t before = units();
  const std::int64_t lost_before = choice_.lost_then();
  for (const bool whole : {false, true}) {
    for (const std::int32_t v : index_.on_node(node)) {
      const auto victim = static_cast<std::size_t>(v);
      while (units() == before) {
        const std::size_t from = choice_.level(victim);
        const std::size_t to = next_level(victim, node, whole);
        if (to == from || !choice_.raise(victim, to)) break;
        room.add_tasks(index_[victim], from, to);
        offer.steps.push_back({victim, from, to});
      }
    }
  }
  offer.is_possible = units() > before;
  for (std::size_t i = offer.steps.size(); offer.is_possible && i-- > 0;) {
    const Step step = offer.steps[i];
    if (choice_.level(step.victim) != step.to) continue;  // it went further in a later step
    room.add_tasks(index_[step.victim], step.from, step.to, -1);
    if (units() > before) {
      choice_.lower(step.victim, step.from);
      offer.steps.erase(offer.steps.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      room.add_tasks(index_[step.victim], step.from, step.to);
    }
  }
  for (const Step& step : offer.steps) {
    const Victim& victim = index_[step.victim];
    offer.highest_class = offer.victims == 0 ? victim.class_value : std::max(offer.highest_class, victim.class_value);
    offer.loses_quota = offer.loses_quota || victim.loses_quota(step.to);
    ++offer.victims;
    offer.runtime += (now_ - victim.start).value();
  }
  offer.lost_per_gain = static_cast<double>(choice_.lost_then() - lost_before) / std::max(1, units() - before);
  for (std::size_t i = offer.steps.size(); i-- > 0;) choice_.lower(offer.steps[i].victim, offer.steps[i].from);
  return offer;
}

// False: a budget that the offer counted on has been spent meanwhile; nothing has changed.
bool RoomSearch::take(const Offer& offer) {
  for (std::size_t i = 0; i < offer.steps.size(); ++i) {
    if (choice_.raise(offer.steps[i].victim, offer.steps[i].to)) continue;
    while (i-- > 0) choice_.lower(offer.steps[i].victim, offer.steps[i].from);
    return false;
  }
  return true;
}

bool RoomSearch::make_room_on(const Unit& unit, std::span<const NodeIndex> nodes, std::int64_t missing) {
  if (missing <= 0) return true;
  const std::int32_t most = unit.group->count + 1;
  std::vector<Offer> offers(nodes.size());
  std::vector<std::int32_t> fits(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    fits[i] = count(nodes[i], unit, most);
    offers[i] = offer(nodes[i], unit);
  }
  while (missing > 0) {
    const auto best =
        std::ranges::min_element(offers, [](const Offer& a, const Offer& b) { return a.is_better_than(b); });
    if (best == offers.end() || !best->is_possible) return false;
    const Offer taken = *best;
    if (!take(taken)) {
      for (std::size_t i = 0; i < nodes.size(); ++i) offers[i] = offer(nodes[i], unit);
      continue;
    }
    std::vector<NodeIndex> touched;
    for (const Step& step : taken.steps) {
      for (const RunningTask& task : index_[step.victim].tasks) touched.push_back(task.holding.node);
    }
    std::ranges::sort(touched);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (!std::ranges::binary_search(touched, nodes[i])) continue;
      missing += fits[i];
      fits[i] = count(nodes[i], unit, most);
      missing -= fits[i];
      offers[i] = offer(nodes[i], unit);
    }
  }
  return true;
}

bool RoomSearch::make_room_in_rack(const TaskGroup& group) {
  const Unit unit{&group, 1};
  std::vector<std::vector<NodeIndex>> racks(state_.cluster().racks.size());
  for (const NodeIndex node : nodes_for(group)) {
    racks[static_cast<std::size_t>(state_.cluster().nodes[static_cast<std::size_t>(node)].rack)].push_back(node);
  }
  const std::vector<std::size_t> before = choice_.levels();
  std::optional<std::vector<std::size_t>> best;
  std::optional<VictimChoice::Cost> least;
  for (const std::vector<NodeIndex>& nodes : racks) {
    std::int64_t missing = needed_of(group);
    for (const NodeIndex node : nodes) missing -= count(node, unit, needed_of(group));
    if (make_room_on(unit, nodes, missing) && (!least || choice_.cost() < *least)) {
      best = choice_.levels();
      least = choice_.cost();
    }
    choice_.restore(before);
  }
  if (best) choice_.restore(*best);
  return best.has_value();
}

bool RoomSearch::make_room(const TaskGroup& group) {
  const std::int32_t needed = needed_of(group);
  if (needed == 0) return true;
  if (group.locality_required && group.locality == Locality::kRack) return make_room_in_rack(group);
  const std::vector<NodeIndex> nodes = nodes_for(group);
  const Unit unit{&group, must_share_node(group) ? needed : 1};
  std::int64_t missing = must_share_node(group) ? 1 : needed;
  for (const NodeIndex node : nodes) missing -= count(node, unit, needed);
  return make_room_on(unit, nodes, missing);
}

bool RoomSearch::make_one_more(const TaskGroup& group) {
  const Unit unit{&group, must_share_node(group) ? std::max(1, needed_of(group)) : 1};
  return make_room_on(unit, nodes_for(group), 1);
}

}  // namespace berth
