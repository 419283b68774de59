// The executors of a database, ready to be asked.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/exec/executor.h"
#include "engine/runtime/runtime.h"
#include "engine/store/executor_records.h"

namespace berth {

struct LiveExecutor {
  ExecutorRecord record;
  std::unique_ptr<Executor> executor;
  // By the last call. Who did not answer is not asked again in the same run; who cannot be opened has no executor.
  Status reached = {};
};

// To be told and asked: kConflict in a copy of the database that drives the work (store/database_home.h).
// All but those that failed a moment ago and are left alone for a while; `also_down` asks those too. One that cannot be
// opened (options of another version, a missing program or folder) is noted as down; `reached` says why.
Result<std::vector<LiveExecutor>> reach_executors(Runtime& runtime, bool also_down = false);
// As this record would have it; the tables are not asked and not changed. kUnavailable when it cannot be made.
Result<std::unique_ptr<Executor>> open_executor(Runtime& runtime, const ExecutorRecord& executor);
// kInvalid: its options can never do. Whether it can be reached is another matter.
Status check_executor(Runtime& runtime, const ExecutorRecord& executor);
// Takes over its options and whether it is the default. kConflict, about the option: its tasks would not be found where
// they are.
Status change_executor(Change& change, const ExecutorRecord& executor);
// This file drives the work from now on (adopt_home). What ran in folders of executors that are missing is given up:
// empty ones take their place.
Status adopt_database(Change& change);
// By name. kUnavailable when it cannot be made.
Result<LiveExecutor> reach_executor(Runtime& runtime, std::string_view name);

}  // namespace berth
