// What an admit policy makes of a job that is submitted: changed, or refused with its words.
//
// The script sees the job as a table, the queues' use and quota, and what is free. It is asked before anything else is;
// a script that errs, overruns its budget or gives back what is no job refuses the submission with the reason: better
// nobody gets in than the wrong ones.
#pragma once

#include "engine/store/job_records.h"

namespace berth {

// Changes `request` as the setting admit_policy wants it; nothing without one. kInvalid with the policy's name when it
// refuses or fails.
Status admit_by_policy(Change& change, JobRequest& request);

}  // namespace berth
