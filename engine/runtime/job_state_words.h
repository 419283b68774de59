// What is said of a job that no round looks at: it runs, is held, or has ended.
#pragma once

#include <cstdint>
#include <string>

#include "engine/base/status.h"
#include "engine/model/job.h"
#include "engine/store/sqlite.h"

namespace berth {

// A running job was told to stop, by an eviction, the end of a loan or CANCEL.
Result<bool> is_stopping(Database& db, std::int64_t job);

// One sentence. Of a running job also for whom it was told to stop and until when, or why tasks that were launched have
// not begun; of a failed one how it ended.
Result<std::string> state_sentence(Database& db, std::int64_t job, JobState state);

}  // namespace berth
