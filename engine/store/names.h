// From names to ids, with the nearest match when there is none.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/store/sqlite.h"

namespace berth {

enum class Thing {
  kPool,
  kDeviceModel,
  kNodeType,
  kNode,
  kQueue,
  kPriorityClass,
  kJob,
  kExecutor,
  kAssertion,
  kPolicy
};
std::string_view thing_word(Thing thing);  // "device model"

// kNotFound: "no queue 'trian'", hint "did you mean 'train'?".
Result<std::int64_t> find_id(Database& db, Thing thing, std::string_view name);
// Jobs go by name, or by id; a new job's name is never a number, so the two do not meet. Of several jobs of a name it
// is the one that has not ended, else the last that was submitted; ids name the others.
Result<std::int64_t> find_job(Database& db, std::string_view name_or_id);
Result<std::string> name_of(Database& db, Thing thing, std::int64_t id);
// In id order; at most `most` (completion).
Result<std::vector<std::string>> names_of(Database& db, Thing thing, std::size_t most = 100000);

// kInvalid unless it is UTF-8 without control characters; `what` begins the sentence.
Status check_plain_text(std::string_view what, std::string_view text);
// kInvalid unless it is 1 to 200 bytes of such text and not blank; a job's must not be all digits, as ids are.
Status check_name_text(Thing thing, std::string_view name);
// Whether anything is called so; of jobs also one that has ended.
Result<bool> has_name(Database& db, Thing thing, std::string_view name);
// As check_name_text(), and kExists when taken; but for jobs also when a name differs from it in upper and lower case
// only. A job that has ended has given up its name. `renamed`: the id of what gets the name, 0 = something new.
Status check_new_name(Database& db, Thing thing, std::string_view name, std::int64_t renamed = 0);

// What may refer to a thing: a count over ?1 = its id (and ?2 = its name), and the word for one of those counted;
// "job" counts ended ones too.
struct Use {
  std::string_view sql;
  std::string_view word;
};
// kConflict: "pool 'train' is in use: 64 nodes, 3 jobs" when any count is above zero.
Status check_unused(Database& db, Thing thing, std::string_view name, std::int64_t id, std::span<const Use> uses);

// "train001", or "train001 .. train064 (64)" for many.
std::string summarize_names(std::span<const std::string> names);

}  // namespace berth
