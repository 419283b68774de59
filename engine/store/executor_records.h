// Executors as rows: what there is, how they answered last, and which pools use them.
//
// What their options mean is known in exec/; here they are names and texts that were checked before.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/store/change.h"

namespace berth {

struct ExecutorRecord {
  std::int64_t id = 0;
  std::string name;
  std::string type;
  std::map<std::string, std::string, std::less<>> options;  // those that were given
  bool is_default = false;                                  // of nodes whose pool names none
  std::string state = "unknown";                            // 'up', 'down'
  std::optional<Seconds> last_contact;
  std::int64_t failures = 0;  // calls in a row
  Seconds next_try{0};
  std::string error;
  Seconds inventory_at{0};  // its nodes were last compared with those here
};

// Something really runs there.
inline bool runs_work(const ExecutorRecord& executor) { return executor.type != "simulated"; }

Result<std::vector<ExecutorRecord>> list_executors(Database& db);  // by id
// kNotFound with the nearest name.
Result<ExecutorRecord> find_executor(Database& db, std::string_view name);

inline constexpr Seconds kLongestPause{60};  // between calls to one that is down

// kInvalid for one that its folder could not be called after.
Status check_executor_name(std::string_view name);
// The first one becomes the default. kExists, kInvalid for a name that cannot be.
Status create_executor(Change& change, const ExecutorRecord& executor);
// Its options and whether it is the default; its type stays.
Status alter_executor(Change& change, const ExecutorRecord& executor);
// Names of the nodes in its pools; of the default one also those in pools without an executor, and in none.
Result<std::vector<std::string>> nodes_of_executor(Database& db, const ExecutorRecord& executor);
// kConflict while a task of it lives, or something is to be told to it.
Status check_idle(Database& db, const ExecutorRecord& executor);
// kConflict while it runs anything or a pool uses it, or when it is the default one and there are others.
Status drop_executor(Change& change, std::string_view name);
// Nothing = the default one.
Status set_pool_executor(Change& change, std::string_view pool, std::optional<std::string_view> executor);

// No version of the state.
Status note_inventory(Database& db, const ExecutorRecord& executor, Seconds now);
// It answered, or did not: not asked again before a time that doubles with each failure, up to a minute. No version of
// the state; the event is written when it goes down or comes back. The record follows.
Status note_contact(Database& db, ExecutorRecord& executor, const Status& answer, Seconds now);

}  // namespace berth
