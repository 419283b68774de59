// Work on our nodes that is not ours, as executors see it: counted as used, never touched.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/model/snapshot.h"
#include "engine/store/change.h"
#include "engine/store/id_index.h"

namespace berth {

struct ForeignUseRow {
  MilliCpu cpu;
  MiB memory;
  std::int64_t gpu_count = 0;
  DeviceMask devices = 0;  // which, where it is known

  bool operator==(const ForeignUseRow&) const = default;
};
using ForeignUseRows = std::map<std::pair<std::int64_t, std::string>, ForeignUseRow>;  // by node, then what it is

// Of these nodes.
Result<ForeignUseRows> read_foreign_use(Database& db, const std::vector<std::int64_t>& nodes);
// Instead of `before`; what stays keeps its `since`.
Status write_foreign_use(Change& change, const ForeignUseRows& before, const ForeignUseRows& now);

// Adds to the snapshot what foreign work takes of what our own tasks leave, as allocations of jobs that nobody knows
// (negative ids): such are never evicted and count against no quota. Devices whose number alone is known are taken
// from the lowest that are wholly free.
Status load_foreign_use(Database& db, IdIndex& nodes, Snapshot& snapshot);

}  // namespace berth
