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
  kReserved,         // room that it would take is kept for a job that has a reservation
  kBlocked,          // a job ahead of it does not fit, and nobody passes it
  kQuota,            // its queue uses its quota, and may not borrow that much
  kLimit,            // it would exceed the limit of its queue or of one above
  kLenderKeeps,      // what is idle is quota that its owner does not lend
  kDependency,       // jobs it depends on have not finished
  kAssertion,        // it would start, but that would break an assertion
  kPolicy,           // a script holds it back, or lets it run on no node that has room
  kKeptOut,          // its time limit reaches into what the cluster has planned for the node
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

struct TaskName {
  std::int32_t group = 0;
  std::int32_t task = 0;

  bool operator==(const TaskName&) const = default;
};

struct Waiting {
  std::int64_t job = 0;
  Reason reason = Reason::kNone;
  std::int32_t group = 0;   // the group that does not fit
  std::int32_t fits = 0;    // tasks of that group that would fit now
  std::int32_t needed = 0;  // tasks of it that must start together
  // Of kQuota, kLimit, kLenderKeeps: which amount, and where it is short.
  std::int64_t queue = 0;     // id of the queue whose quota or limit it is
  std::string resource = {};  // "A100"
  std::int64_t short_by = 0;  // milli-cores, MiB or milli-GPU
  bool in_pieces = false;     // of GPUs as much is free as it lacks, but scattered
  bool passed_over = false;   // it fitted before the round: jobs ahead of it took the room
  // Of kOrder, kReserved, kBlocked, and wherever somebody has what it waits for. 0 = nobody in particular.
  std::int64_t behind_job = 0;
  std::int64_t beneficiary = 0;  // id of the queue that has what the job waits for
  std::string words = {};        // of kPolicy: what the script says

  bool operator==(const Waiting&) const = default;
};

// A job, or the surplus of an elastic one, that makes room.
struct Eviction {
  std::int64_t job = 0;
  std::int64_t beneficiary = 0;  // job; of EvictionRule::kLoan the loan
  EvictionRule rule = EvictionRule::kReclaim;
  bool whole = true;  // else only `tasks`, its gang runs on
  std::vector<TaskName> tasks = {};
  std::int64_t lost = 0;  // milli-GPU-seconds since the last checkpoint, and of the restart
  Seconds stop_at;        // now, or when it has had its grace
  VictimChoiceReason why = VictimChoiceReason::kUnknown;
  std::int32_t candidates = 0;  // running jobs that the rules allowed to evict for it, this one among them

  // The beneficiary is this job, not the loan of the same number.
  bool makes_room_for(std::int64_t waiting) const { return rule != EvictionRule::kLoan && beneficiary == waiting; }
  // An earlier round decided it, and said why.
  bool was_told_before() const { return why == VictimChoiceReason::kUnknown; }
  bool operator==(const Eviction&) const = default;
};

// See RunningJob::quota_mark.
struct QuotaMark {
  std::int64_t job = 0;
  std::uint32_t mark = 0;

  bool operator==(const QuotaMark&) const = default;
};

// What the round leaves a queue with, of one governed resource; see policy/queue_outlook.h.
struct QueueOutlook {
  std::int64_t queue = 0;  // id
  std::string resource;
  std::int64_t fair_share = 0;  // milli-cores, MiB or milli-GPU
  Seconds starves_since{-1};    // submission of the oldest job that starves; -1 = none

  bool operator==(const QueueOutlook&) const = default;
};

struct Plan {
  std::int64_t version = 0;  // state version it was planned on
  Seconds planned_at;
  std::uint64_t seed = 0;
  std::string order_policy;
  std::string score_policy;
  // In the order in which they are applied: evictions that end now, placements, the rest.
  std::vector<Eviction> evictions;        // in decision order
  std::vector<std::int64_t> reprieves;    // jobs told to stop that may run on: nobody needs their room any more
  std::vector<Placement> placements;      // in decision order
  std::vector<Waiting> waiting;           // in queue order
  std::vector<Reservation> reservations;  // all that hold after the round, in job order
  std::vector<QuotaMark> marks;           // of running jobs, where they changed, and of those that start; in job order
  std::vector<QueueOutlook> outlook;      // by queue, then resource; empty = not worked out
  std::vector<AssertionHold> holds;       // jobs that get nothing, for an assertion; in job order
  std::vector<AssertionHold> surplus_holds;  // jobs that get only the tasks they need, for one; in job order
  // Where jobs of lenders would start if those whom the plan tells to stop for loans were gone: what assertions are
  // asked about, before anybody stops. Nothing else comes of it.
  std::vector<Reservation> loan_starts;

  bool operator==(const Plan&) const = default;
};

// That it starts; those that run and get more tasks are not counted.
std::int64_t started_jobs(const Plan& plan);

// One line an item, stable: what tests compare and hashes are taken of. Nodes and jobs by id.
std::string plan_to_text(const Plan& plan);
// Stable JSON and back (saved in the plans table).
std::string plan_to_json(const Plan& plan);
Result<Plan> plan_from_json(std::string_view json);

}  // namespace berth
