// DIFF STATE: what differs between two moments, by object and in words.
//
// Only the outcome counts: what came and went in between, or was changed and changed back, is not named.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/runtime/change_words.h"
#include "engine/runtime/runtime.h"

namespace berth {

// Objects of which the same can be said.
struct StateChange {
  std::string kind;
  std::string what;
  std::int64_t count = 0;
  std::vector<std::string> names;  // the first few
};

struct CellChange {
  std::string table;
  std::string key;  // values of its columns, "|" between them
  std::string column;
  TableValue before;  // NULL also where there was no row
  TableValue after;
};

struct StateDiff {
  Moment from;
  Moment to;
  std::vector<StateChange> changes;  // jobs, nodes, queues, then the rest
  std::vector<CellChange> cells;     // of all tables asked for, when they are wanted
};

struct StateDiffRequest {
  std::string from;
  std::string to;
  std::optional<ChangeScope> scope;
  bool cells = false;
  std::size_t most_names = 5;
};
Result<StateDiff> diff_state(Runtime& runtime, const StateDiffRequest& request);

}  // namespace berth
