// The end of an attempt, whatever ended it: what the job held is free, what it used is remembered.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "engine/model/plan.h"
#include "engine/store/change.h"
#include "engine/store/run_records.h"

namespace berth {

// Of a running job: writes the attempt to runs as having ended in that state at that moment, adds to its attained
// service and to the use of its queue, frees what it holds, forgets its marks and that it was told to stop. Draining
// nodes that thereby become empty are drained. The job's state is left to the caller.
Status end_attempt(Change& change, std::int64_t job, RunState ended, std::string_view detail, Seconds at);
// The same for some tasks of a job that runs on. kConflict when it does not hold one of them.
Status end_tasks(Change& change, std::int64_t job, std::span<const TaskName> tasks);
// Of a running job that has gained tasks in that round: what it held until now (end_tasks does it where it gives some
// up).
Status note_size(Change& change, std::int64_t job, std::int64_t gained_in_round);

}  // namespace berth
