// Why a task does not fit: every node's reason counted, the one that dominates, and the node that comes nearest.
//
// Nodes that could run the task if they were empty are eligible. While there are any, the dominant reason is the most
// frequent one among them; else it is the reason of the nodes that got furthest through the checks (Reason's order).
// The nearest node is the eligible one with the least missing, each amount taken relative to what the task asks.
#pragma once

#include <vector>

#include "engine/model/ledger.h"
#include "engine/model/plan.h"
#include "engine/round/round_state.h"

namespace berth {

// What one node is short of for one more task; 0 = enough.
struct Shortfall {
  MilliCpu cpu;
  MiB memory;
  std::int32_t devices = 0;  // whole devices
  MilliGpu gpu;              // for a fraction: on its freest device
  MiB gpu_memory;            // for a fraction: on the device with most memory free
};

struct ReasonCount {
  Reason reason = Reason::kNone;
  std::int32_t nodes = 0;
  std::int32_t eligible_nodes = 0;  // of them, nodes that could run it when empty
  NodeIndex nearest = -1;           // of the eligible ones that are up, the one with the least missing
  Shortfall lacks;                  // of that node
};

struct ShapeExplanation {
  std::vector<ReasonCount> reasons;  // most nodes first, then Reason order; kNone = nodes where it fits
  Reason dominant = Reason::kNone;   // kNone when it fits somewhere
  std::int32_t nodes = 0;
  std::int32_t eligible = 0;
  NodeIndex nearest = -1;  // -1 = no eligible node that is up
  Shortfall lacks;         // of the nearest node
};

ShapeExplanation explain_shape(const Ledger& ledger, const TaskShape& shape);
// What one queue holds on the nodes that could run a task of `shape` when empty.
struct QueueHolding {
  std::int32_t queue = -1;  // index; -1 = no queue
  std::int32_t jobs = 0;
  MilliGpu gpu;
  MilliCpu cpu;
};
// Most of what the shape asks for first (GPU, or CPU of a CPU task), then by queue.
std::vector<QueueHolding> holders_of(const RoundState& state, const TaskShape& shape);
// Of the jobs running there, the one expected to end first; null = none. Valid until the state changes.
const RunningJob* next_to_end(const RoundState& state, const TaskShape& shape, Seconds now);

Reason reason_on_node(const Ledger& ledger, const TaskShape& shape, NodeIndex node);
Shortfall shortfall_on(const NodeView& view, const TaskShape& shape);

}  // namespace berth
