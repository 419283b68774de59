// Two simulations task by task.
//
// Tasks are paired by name, and tasks of one name by occurrence (an inflated arrival sequence repeats rows). What one
// run has and the other does not is counted, not paired.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/sim/simulation.h"

namespace berth {

struct ComparedTask {
  std::string task;
  std::int64_t sequence_a = 0;
  std::int64_t sequence_b = 0;
  TaskOutcome state_a = TaskOutcome::kFailed;
  TaskOutcome state_b = TaskOutcome::kFailed;
  std::string node_a;
  std::string node_b;
  DeviceMask devices_a = 0;
  DeviceMask devices_b = 0;
  std::optional<Seconds> wait_difference;  // wait in b less wait in a, where both started
};

struct Comparison {
  std::int64_t paired = 0;
  std::int64_t only_in_a = 0;  // tasks the other run does not have
  std::int64_t only_in_b = 0;
  std::int64_t placed_in_both = 0;
  std::int64_t same_devices = 0;  // of these: same node and devices
  std::int64_t same_node = 0;     // same node, other devices
  std::int64_t moved = 0;         // another node
  std::int64_t placed_only_in_a = 0;
  std::int64_t placed_only_in_b = 0;
  std::int64_t placed_in_neither = 0;
  std::int64_t earlier_in_b = 0;  // of those with a start time in both
  std::int64_t later_in_b = 0;
  std::optional<double> wait_difference_mean;
  std::vector<ComparedTask> differences;  // pairs that differ in anything, in a's order
};

Comparison compare_simulations(std::span<const TaskResult> a, std::span<const TaskResult> b);

}  // namespace berth
