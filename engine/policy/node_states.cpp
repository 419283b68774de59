#include "engine/policy/node_states.h"

#include <algorithm>
#include <limits>

namespace berth {

namespace {

// Classes are numbered anew beyond this many, and twice the nodes.
constexpr std::size_t kMostClasses = 65536;

std::int32_t clamped(std::int64_t amount) {
  return static_cast<std::int32_t>(std::min<std::int64_t>(amount, std::numeric_limits<std::int32_t>::max()));
}

}  // namespace

Score memory_entry(MiB memory) { return clamped(memory.value()); }

NodeStates::NodeStates(const Ledger& ledger, ScoreSensitivity sensitivity, std::span<const std::int32_t> rank)
    : ledger_(&ledger),
      ledger_position_(ledger.change_count()),
      read_at_(ledger.node_count()),
      node_at_(ledger.node_count()),
      place_of_(ledger.node_count()),
      places_(ledger.node_count()),
      classes_(ledger.cluster(), sensitivity),
      memory_(ledger.node_count()),
      recent_(ledger.node_count()) {
  for (std::size_t node = 0; node < place_of_.size(); ++node) {
    place_of_[node] = rank.empty() ? node : static_cast<std::size_t>(rank[node]);
    node_at_[place_of_[node]] = static_cast<NodeIndex>(node);
  }
  for (std::size_t place = 0; place < places_.size(); ++place) (void)read(place);
}

bool NodeStates::read(std::size_t place) {
  const NodeIndex node = node_at_[place];
  PlaceState& state = places_[place];
  const PlaceState before = state;
  if (!ledger_->accepts_tasks(node)) {
    if (state.memory < 0) return false;
    memory_.set(place, state.memory = -1);
    return true;
  }
  const NodeView view = ledger_->view(node);
  state.node_class = classes_.intern(view);
  state.memory = memory_entry(view.memory);
  state.cpu = clamped(view.cpu.value());
  state.most_milli = 0;
  state.whole_devices = 0;
  for (const std::int32_t milli : view.milli) {
    state.most_milli = std::max(state.most_milli, static_cast<std::int16_t>(milli));
    if (milli == kWholeDevice.value()) ++state.whole_devices;
  }
  if (state.memory != before.memory) memory_.set(place, state.memory);
  return state != before;
}

bool NodeStates::follow() {
  ++follows_;
  for (const NodeIndex node : ledger_->changes_since(ledger_position_)) {
    const std::size_t place = place_of(node);
    if (read_at_[place] == follows_) continue;
    read_at_[place] = follows_;
    if (read(place)) recent_.touch(static_cast<std::int32_t>(place));
  }
  ledger_position_ = ledger_->change_count();
  if (classes_.count() <= std::max(kMostClasses, 2 * places_.size())) return false;
  renumber_classes();
  return true;
}

void NodeStates::renumber_classes() {
  std::vector<ClassIndex> number_of(classes_.count(), -1);
  std::vector<ClassIndex> kept;
  for (PlaceState& state : places_) {
    if (state.node_class < 0) continue;
    ClassIndex& number = number_of[static_cast<std::size_t>(state.node_class)];
    if (number < 0) {
      number = static_cast<ClassIndex>(kept.size());
      kept.push_back(state.node_class);
    }
    state.node_class = number;
  }
  classes_.keep(kept);
}

}  // namespace berth
