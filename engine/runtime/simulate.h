// SIMULATE: files and policies in, rows in the simulation tables out.
//
// ARRIVALS replays tasks that only arrive (the FGD protocol, sim/arrivals.h); JOBS replays submit times and durations
// (sim/timed.h). The cluster comes from a node file or is the open database's, empty. Each policy is saved as soon as
// it is complete, so an interrupted simulation keeps what it has. The cluster's state is never touched.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/runtime/runtime.h"
#include "engine/sim/comparison.h"
#include "engine/sim/simulation.h"
#include "engine/sim/timed.h"
#include "engine/sim/trace.h"

namespace berth {

struct SimulationSource {
  std::string jobs;         // file of tasks or jobs
  std::string jobs_format;  // name in sim/trace.h
  std::string nodes;        // node file; empty = the nodes of the open database
  std::string nodes_format;
  TraceOptions files = {};  // what the files do not say of themselves
};

struct SimulationTarget {
  std::string name;       // in the tables; empty = nothing is saved
  std::string statement;  // as typed, kept beside it
  bool replace = false;
  bool by_queue = false;  // JOBS: what became of each queue, too
};

struct ArrivalsRequest {
  SimulationSource source;
  SimulationTarget target;
  std::vector<std::string> policies;  // scores
  std::string order_file;             // row numbers; empty = inflated and shuffled by seed
  std::string rank_file;              // node ranks; empty = node order, or shuffled with shuffle_rank
  std::int64_t inflate_milli = 1300;  // demand to reach, in thousandths of the cluster's devices
  bool shuffle_rank = false;
  std::uint64_t seed = 42;
  bool measure_fragmentation = true;
  SimulationControl control;
};

struct JobsRequest {
  SimulationSource source;
  SimulationTarget target;
  std::vector<std::string> policies;  // "fifo + berth"
  std::string history;                // file of jobs that ran before, of the jobs' format; empty = none
  TimedOptions options;               // seed and all; keep_tasks and control are set here
  bool sort = false;                  // the file is not in order of submission
  bool skip_bad_rows = false;         // leave out bad rows and jobs without a duration, and report them
  SimulationControl control;
};

Result<SimulationSet> simulate(Runtime& runtime, const ArrivalsRequest& request);
Result<SimulationSet> simulate(Runtime& runtime, const JobsRequest& request);

// What saves a simulation, nothing where the target has no name: the simulation itself, and one policy after the other.
Status begin_saving(Runtime& runtime, const SimulationTarget& target, std::string_view kind, std::uint64_t seed);
Status save_simulated(Runtime& runtime, const SimulationTarget& target, const SimulationResult& result,
                      MilliGpu capacity);

// Two saved runs of one policy each, task by task; an empty policy means the simulation's only one, an
// order alone the only one of that order. kNotFound names what there is.
Result<Comparison> compare_saved_simulations(Runtime& runtime, const std::string& a, const std::string& policy_a,
                                             const std::string& b, const std::string& policy_b);

// The saved result of each policy: row, curves, and queues where they were saved (no tasks).
Result<std::vector<SimulationResult>> load_saved_simulation(Runtime& runtime, const std::string& name);

}  // namespace berth
