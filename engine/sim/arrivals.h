// SIMULATE ARRIVALS: tasks arrive one after the other, none ever leaves, one that does not fit is dropped.
//
// The protocol of the FGD paper (fgd.md sections 2 and 6), which measures packing alone. Each task is one call of
// round/placer's place_task, the same code as in a live round. What is reported after each event - allocation, and
// fragmentation by FGD's F with the workload of the untuned trace, for every policy - is folded into one point per
// percent of arrived demand.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/model/snapshot.h"
#include "engine/sim/simulation.h"
#include "engine/sim/trace.h"

namespace berth {

struct ArrivalTask {
  std::string name;
  TaskShape shape;
};

struct ArrivalInput {
  const Cluster* cluster = nullptr;     // must outlive the input
  std::vector<ArrivalTask> tasks;       // the trace as it is, in file order
  std::vector<WorkloadShape> workload;  // typical shapes of it
  std::vector<std::int32_t> order;      // who arrives: indices into tasks
  std::vector<std::int32_t> rank;       // per node, lowest wins ties; empty = node order
};

struct ArrivalOptions {
  std::uint64_t seed = 0;  // of policies that draw
  bool measure_fragmentation = true;
  bool keep_tasks = true;
  ScriptPolicies scripts = {};  // that the score may name
  SimulationControl control = {};
};

// Every task of every job, job by job; order is file order until set. Jobs in the past, queues and gangs do not matter
// here.
Result<ArrivalInput> arrivals_from(const Cluster& cluster, std::span<const TraceJob> jobs);

// One policy; run_policies for several. kInterrupted when stopped. row.simulation is left for the caller to fill.
Result<SimulationResult> simulate_arrivals(const ArrivalInput& input, std::string_view score,
                                           const ArrivalOptions& options);

}  // namespace berth
