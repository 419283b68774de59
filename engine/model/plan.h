// What a round wants to change, as data.
//
// A plan is an ordered list of placements and, for each job that stays waiting, the one dominant reason. It can be
// printed, saved, compared and refused; applying it is store's business. Equal input gives an equal plan.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/model/snapshot.h"

namespace berth {

// Why a job (or one task on one node) cannot start, from the most to the least fundamental. The first that holds for a
// node is the node's reason; the dominant reason of a job is worked out in round/explain.
enum class Reason : std::uint8_t {
  kNone,
  kNodeNotUp,        // draining, drained, down, booting
  kPool,             // not in the pool asked for
  kNoDevice,         // a CPU node, or fewer devices than asked for
  kDeviceModel,      // not one of the allowed models
  kDeviceMemory,     // no device of it ever has that much memory
  kNodeTooSmall,     // CPU or memory of the empty node do not suffice
  kUnhealthyDevice,  // enough devices but for those marked unhealthy
  kCpu,              // in use by others: CPU
  kMemory,           // in use by others: memory
  kGpu,              // in use by others: not enough free devices, or no device with that fraction free
  kGpuFragmented,    // enough free milli-GPU in total, but not on the devices it needs
  kGpuMemory,        // fraction free, device memory taken
  kLinkGroup,        // enough free devices, not inside one link group
  kLocality,         // each task fits somewhere, not together within the required node or rack
  kGang,             // some tasks fit, not min_tasks of them at once
  kOrder,            // it would fit now, but jobs ahead of it in the order take the room
};
std::string_view reason_name(Reason reason);  // "gpu_fragmented"
Result<Reason> read_reason(std::string_view text);

struct Placement {
  std::int64_t job = 0;
  std::int32_t group = 0;
  std::int32_t task = 0;
  NodeIndex node = 0;        // index into the snapshot's cluster
  std::int64_t node_id = 0;  // the same node's id, which outlives the snapshot
  DeviceMask devices = 0;
  MilliGpu gpu_milli;
  MiB gpu_memory;
  MilliCpu cpu;
  MiB memory;

  bool operator==(const Placement&) const = default;
};

struct Waiting {
  std::int64_t job = 0;
  Reason reason = Reason::kNone;
  std::int32_t group = 0;   // the group that does not fit
  std::int32_t fits = 0;    // tasks of that group that would fit now
  std::int32_t needed = 0;  // tasks of it that must start together

  bool operator==(const Waiting&) const = default;
};

struct Plan {
  std::int64_t version = 0;  // state version it was planned on
  Seconds planned_at;
  std::uint64_t seed = 0;
  std::string order_policy;
  std::string score_policy;
  std::vector<Placement> placements;  // in decision order
  std::vector<Waiting> waiting;       // in queue order

  bool operator==(const Plan&) const = default;
};

// One line an item, stable: what tests compare and hashes are taken of. Nodes and jobs by id.
std::string plan_to_text(const Plan& plan);
// Stable JSON and back (saved in the plans table).
std::string plan_to_json(const Plan& plan);
Result<Plan> plan_from_json(std::string_view json);

}  // namespace berth
