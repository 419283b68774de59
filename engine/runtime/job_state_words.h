// What is said of a job that no round looks at: it runs, is held, or has ended.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/base/status.h"
#include "engine/base/units.h"
#include "engine/model/job.h"
#include "engine/store/sqlite.h"

namespace berth {

// A running job that is to stop.
struct JobStop {
  std::string beneficiary;  // "job big (rule reclaim)"; empty = it is not evicted
  bool is_cancelled = false;
  bool has_executor = false;
  bool is_told = false;  // the executor, if there is one
  Seconds end;           // at the latest, once it was told
  std::string silence;   // "executor here could not be reached since ..."; empty = its executors answer
};
Result<std::optional<JobStop>> job_stop(Database& db, std::int64_t job);
// Of one whose end is past: "its executor has not yet said that it ended".
std::string overdue_words(const JobStop& stop);

// Of an executor that does not answer and whose nodes get nothing new for that; empty = there is none.
Result<std::string> silence_of_closed_nodes(Database& db);

// A running job was told to stop, by an eviction, the end of a loan or CANCEL.
Result<bool> is_stopping(Database& db, std::int64_t job);

// One sentence. Of a running job also for whom it was told to stop and until when, or why tasks that were launched have
// not begun; of a failed one how it ended.
Result<std::string> state_sentence(Database& db, std::int64_t job, JobState state, Seconds now);

}  // namespace berth
