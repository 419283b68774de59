// Nodes as their executor knows them, into the tables: IMPORT NODES FROM EXECUTOR, FROM LOCAL.
//
// Nodes that are in the tables already stay as they are; what differs is told. Nodes that nobody knows any more are
// told too: they are not removed, DROP NODES does that. RUN SYNC makes the same comparison now and then and keeps what
// differs in the table inventory_drift; it adds nodes only where the setting import_new_nodes says so.
#pragma once

#include <string>
#include <vector>

#include "engine/exec/executor.h"
#include "engine/runtime/import.h"
#include "engine/runtime/observe.h"

namespace berth {

struct InventoryReport {
  ImportReport imported;
  std::vector<std::string> known;      // were there already
  std::vector<std::string> different;  // "n1: 64 cores here, 96 there"
  std::vector<std::string> gone;       // of this executor's pools, and unknown to it
  std::vector<std::string> elsewhere;  // what is placed there goes to another executor
  std::vector<std::string> remarks;    // "n3: not ready (...)"
};
// New nodes go to the pool that the executor names, else to options.pool; pools made for it use this executor.
Result<InventoryReport> import_inventory(Runtime& runtime, const std::string& executor, ImportOptions options);

// An executor whose inventory is empty knows nothing of nodes: nothing is compared. kUnavailable when it did not
// answer.
Status watch_inventory(Runtime& runtime, LiveExecutor& live, bool adds_new_nodes, SyncReport& report);

// The executor of this machine: the first of type local, made (named "local") when there is none. `given` changes its
// options.
Result<std::string> local_executor(Runtime& runtime, const ExecutorOptions& given);

}  // namespace berth
