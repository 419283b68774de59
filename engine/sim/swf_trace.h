// The Standard Workload Format of the Parallel Workloads Archive: 18 numbers a line, -1 = not known, comments after
// ';'.
//
//   1 job  2 submit  3 wait  4 run time  5 processors used  6 CPU time used  7 memory used (KB a processor)
//   8 processors asked for  9 time asked for  10 memory asked for (KB a processor)  11 status  12 user  13 group
//   14 program  15 queue  16 partition  17 job before  18 think time
//
// A job is a gang of one task per processor (asked for, else used): one core, or one GPU with processors_are_gpus.
// Times count from "; UnixStartTime: n", else from 0. The time asked for is the time limit; program n is the tag
// "program-n", user n "user-n", queue n "queue-n". Lines that tell parts of a job (status 2 to 4) are passed over: its
// line of status 0, 1 or 5 tells all. Partitions, groups, predecessors and think times are not used.
#pragma once

#include "engine/sim/trace.h"

namespace berth {

Result<std::unique_ptr<JobReader>> open_swf_jobs(const std::string& path, const TraceOptions& options);

}  // namespace berth
