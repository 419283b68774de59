// Everything one round may look at.
//
// A Snapshot is immutable while a round plans. It holds the cluster, what runs (allocations), what waits (jobs with
// tasks still to place, in id order), the policies chosen and the seed; equal snapshots give equal plans, byte for
// byte. Rows of the database, a file of a trace and a test's text all become the same Snapshot.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/model/cluster.h"
#include "engine/model/job.h"
#include "engine/model/quota.h"
#include "engine/model/rules.h"
#include "engine/model/running_job.h"
#include "engine/model/script_policy.h"

namespace berth {

struct Queue {
  std::int64_t id = 0;
  std::string name;
  std::int32_t parent = -1;           // index; -1 = a root
  double weight = 1.0;                // share of the surplus among its siblings
  std::int32_t priority_band = 0;     // surplus goes to higher bands first
  double decayed_usage = 0;           // milli-GPU-seconds it used, decayed; 0 = not kept
  std::int64_t eviction_budget = -1;  // milli-GPU-seconds its jobs may lose in an hour; -1 = the rules'
  std::int64_t lost_this_hour = 0;    // milli-GPU-seconds they lost in the hour before now
};

struct PriorityClass {
  std::int64_t id = 0;
  std::string name;
  std::int64_t value = 0;  // higher goes first
};

// One task holding a part of one node.
struct Allocation {
  std::int64_t job = 0;
  std::int32_t group = 0;
  std::int32_t task = 0;  // index within the group
  NodeIndex node = 0;
  DeviceMask devices = 0;
  MilliGpu gpu_milli;  // of each device
  MiB gpu_memory;      // of each device
  MilliCpu cpu;
  MiB memory;
  Seconds start{0};

  bool operator==(const Allocation&) const = default;
};

// One typical shape of the workload and the share of tasks that have it (FGD's target workload M).
struct WorkloadShape {
  TaskShape shape;
  double popularity = 0;
};

// The row of a job among rows in job order; null = there is none.
template <class Row>
const Row* find_of_job(std::span<const Row> rows, std::int64_t job) {
  const auto found = std::ranges::lower_bound(rows, job, {}, &Row::job);
  return found != rows.end() && found->job == job ? &*found : nullptr;
}

// A job that a round gives nothing, because starting it would break an assertion.
struct AssertionHold {
  std::int64_t job = 0;
  std::int64_t assertion = 0;  // id
  std::int64_t like_job = 0;   // 0 = tried; else it was not, but is like this job, which would break the assertion

  bool operator==(const AssertionHold&) const = default;
};

// `holds` in job order; null = it is not held.
inline const AssertionHold* find_hold(std::span<const AssertionHold> holds, std::int64_t job) {
  return find_of_job(holds, job);
}

// Nodes that a job may not use in a round: there it would break an assertion. It may start elsewhere, but makes no
// claims.
struct KeptOffNodes {
  std::int64_t job = 0;
  std::vector<NodeIndex> nodes;  // ascending

  bool operator==(const KeptOffNodes&) const = default;
};

// `rows` in job order; null = it may use all nodes.
inline const KeptOffNodes* find_kept_off(std::span<const KeptOffNodes> rows, std::int64_t job) {
  return find_of_job(rows, job);
}

// A node that takes no job for a while that may run for so long: what the cluster has planned there would end it.
struct KeptOutNode {
  NodeIndex node = -1;
  Seconds limit;                 // kNoLimit = it keeps out only those without a time limit
  bool takes_unlimited = false;  // those without a time limit it takes all the same: the system gives them a short one

  bool operator==(const KeptOutNode&) const = default;
};

// A waiting job that was given room where nothing of it could begin: until then nobody is evicted for it.
struct EvictsNobody {
  std::int64_t job = 0;
  Seconds until;

  bool operator==(const EvictsNobody&) const = default;
};

// A job that an assertion refused by itself, and when last. For RoundRules::reservation_ttl from then on it may start
// when it fits, but no room is made or kept for it and it closes nothing for others.
struct AssertionRefusal {
  std::int64_t job = 0;
  std::int64_t assertion = 0;  // id
  Seconds at;

  bool counts(Seconds now, const RoundRules& rules) const { return at <= now && now < at + rules.reservation_ttl; }
  bool operator==(const AssertionRefusal&) const = default;
};

// `refusals` in job order; null = it was not refused.
inline const AssertionRefusal* find_refusal(std::span<const AssertionRefusal> refusals, std::int64_t job) {
  return find_of_job(refusals, job);
}

struct Snapshot {
  std::int64_t version = 0;  // of the state it was read from
  Seconds now;
  std::uint64_t seed = 0;
  Cluster cluster;
  std::vector<Queue> queues;
  std::vector<PriorityClass> priority_classes;
  QuotaTable quotas;                      // what holds now
  std::vector<Allocation> allocations;    // in (node, job, group, task) order
  std::vector<RunningJob> running;        // what those belong to, in id order; without tasks: allocations has them
  std::vector<Reservation> reservations;  // made by earlier rounds, in job order
  std::vector<Job> jobs;                  // pending jobs and running ones with tasks still to place, in id order
  std::vector<WorkloadShape> workload;    // typical shapes, most popular first
  std::string order_policy = "priority";
  std::string score_policy = "berth";
  std::string filter_policy;     // a script that says where tasks may run; empty = none
  std::string victim_policy;     // a script that says what ending a task costs; empty = none
  ScriptPolicies scripts;        // those that the four name
  Seconds aging_interval{3600};  // one class step of priority is worth this much waiting; see policy/priority_order.h
  RoundRules rules;              // backfill and preemption
  OrderKnobs order_knobs;
  std::vector<AssertionHold> holds;          // in job order
  std::vector<AssertionHold> surplus_holds;  // of jobs that get only the tasks they need; in job order
  std::vector<AssertionRefusal> refused;     // that count now; in job order
  std::vector<KeptOffNodes> kept_off;        // in job order
  std::vector<KeptOutNode> kept_out;         // in node order; apply_kept_out() makes it count
  std::vector<EvictsNobody> evict_nobody;    // in job order; the same
};

// Nodes that keep jobs out get kinds of their own (NodeKind::keeps_out), and the shapes of jobs say how long those may
// run, in classes (TaskShape::limit_class). Jobs that are to evict nobody know it (EvictionTerms::evicts_from). May be
// done again.
void apply_kept_out(Snapshot& snapshot);

}  // namespace berth
