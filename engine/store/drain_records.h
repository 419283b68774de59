// Nodes that a statement has drained, as rows: until somebody resumes them, and why.
//
// A node can be draining for other reasons (somebody else drains it in the system behind its executor); only those here
// are Berth's to tell that system, and to take back.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "engine/store/change.h"

namespace berth {

struct Drain {
  std::int64_t node = 0;
  std::string reason;
  std::optional<Seconds> told_at;  // the system behind the executor has it
};
Result<std::map<std::string, Drain>> read_drains(Database& db);  // by name of the node
Result<bool> is_drained_by_us(Database& db, std::int64_t node);

// Empty reason: who does it.
Status add_drain(Change& change, std::int64_t node, const std::string& reason);
Status remove_drain(Change& change, std::int64_t node);

// No version of the state.
Status note_drain_told(Database& db, std::int64_t node, Seconds now);

}  // namespace berth
