// An executor on which nothing really runs: tasks start at once and end by themselves after a time.
//
// For trying things out, and for measuring what dispatch and sync themselves cost. What was launched is one line in a
// file of its folder, so it is found again by any process; what has become of it follows from the clock. Option `fail`
// makes every n-th job fail, `down` the whole executor unreachable, `bad_nodes` some of its nodes. Cordons are lines of
// another file: "1 n1 memory errors" and "0 n1", the last one counts.
#pragma once

#include "engine/exec/executor.h"

namespace berth {

inline constexpr ExecutorOption kSimulatedExecutorOptions[] = {
    {"runtime", "duration", "60s", "How long every task runs."},
    {"when_told", "text", "",
     "How its tasks end when they get a signal or are stopped, in turn: 'exit:0', 'exit:3', 'signal:10', 'done' (they "
     "have done their work all the same), 'gone' (nobody knows how), 'on' (only a stop ends it); empty = only a stop "
     "ends them, with signal 15."},
    {"clock_offset", "integer", "0", "Seconds that the clocks of its nodes are ahead; less than 0: behind."},
    {"waits", "text", "", "Why its tasks do not start; empty = they do."},
    {"fail", "integer", "0", "Every so-many-th job fails; 0 = none."},
    {"down", "boolean", "false", "It cannot be reached."},
    {"bad_nodes", "text", "", "Nodes that are not in order: 'n1,n2'."},
    {"nodes", "text", "",
     "The nodes it has, with cores, memory, and devices and their model where they have some: 'n[1-2] 8 16GiB, g1 32 "
     "256GiB 4 A100'; empty = whichever there are."},
    {"strays", "boolean", "false", "It tells of tasks that it was not asked about, as real ones do."},
    {"cordoned_nodes", "text", "", "Nodes that somebody else drains: 'n1,n2'."},
    {"foreign_on", "text", "", "Nodes on which somebody else's work uses two cores, 1 GiB and a GPU: 'n1,n2'."},
};

Result<std::unique_ptr<Executor>> make_simulated_executor(const ExecutorContext& context,
                                                          const ExecutorOptions& options);

}  // namespace berth
