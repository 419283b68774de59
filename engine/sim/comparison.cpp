#include "engine/sim/comparison.h"

#include <unordered_map>

namespace berth {

namespace {

bool is_placed(const TaskResult& task) { return task.state == TaskOutcome::kPlaced; }

// Which task of `tasks` each task of a pairs with: name -> sequence of indices, taken in order.
class TaskPairing {
 public:
  explicit TaskPairing(std::span<const TaskResult> tasks) {
    for (std::size_t i = 0; i < tasks.size(); ++i) positions_[tasks[i].task].indices.push_back(i);
  }
  std::optional<std::size_t> take(const std::string& task) {
    const auto found = positions_.find(task);
    if (found == positions_.end() || found->second.next == found->second.indices.size()) return std::nullopt;
    return found->second.indices[found->second.next++];
  }

 private:
  struct Positions {
    std::vector<std::size_t> indices;
    std::size_t next = 0;
  };
  std::unordered_map<std::string_view, Positions> positions_;
};

void count_where(Comparison& comparison, const TaskResult& a, const TaskResult& b) {
  if (is_placed(a) && is_placed(b)) {
    ++comparison.placed_in_both;
    if (a.node != b.node) {
      ++comparison.moved;
    } else {
      ++(a.devices == b.devices ? comparison.same_devices : comparison.same_node);
    }
  } else if (is_placed(a)) {
    ++comparison.placed_only_in_a;
  } else {
    ++(is_placed(b) ? comparison.placed_only_in_b : comparison.placed_in_neither);
  }
}

// Both wait from their own submit; nothing unless both started.
std::optional<Seconds> wait_difference_of(const TaskResult& a, const TaskResult& b) {
  if (!a.submit || !a.start || !b.submit || !b.start) return std::nullopt;
  return (*b.start - *b.submit) - (*a.start - *a.submit);
}

}  // namespace

Comparison compare_simulations(std::span<const TaskResult> a, std::span<const TaskResult> b) {
  Comparison comparison;
  TaskPairing pairing(b);
  std::int64_t timed = 0;
  std::int64_t wait_difference_sum = 0;
  for (const TaskResult& one : a) {
    const std::optional<std::size_t> paired = pairing.take(one.task);
    if (!paired) {
      ++comparison.only_in_a;
      continue;
    }
    const TaskResult& other = b[*paired];
    ++comparison.paired;
    count_where(comparison, one, other);
    const std::optional<Seconds> wait_difference = wait_difference_of(one, other);
    if (wait_difference) {
      ++timed;
      wait_difference_sum += wait_difference->value();
      comparison.earlier_in_b += *wait_difference < Seconds(0) ? 1 : 0;
      comparison.later_in_b += *wait_difference > Seconds(0) ? 1 : 0;
    }
    const bool equal = one.state == other.state && one.node == other.node && one.devices == other.devices &&
                       wait_difference.value_or(Seconds(0)) == Seconds(0);
    if (equal) continue;
    comparison.differences.push_back({one.task, one.sequence, other.sequence, one.state, other.state, one.node,
                                      other.node, one.devices, other.devices, wait_difference});
  }
  comparison.only_in_b = static_cast<std::int64_t>(b.size()) - comparison.paired;
  if (timed > 0)
    comparison.wait_difference_mean = static_cast<double>(wait_difference_sum) / static_cast<double>(timed);
  return comparison;
}

}  // namespace berth
