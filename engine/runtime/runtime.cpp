#include "engine/runtime/runtime.h"

#include <pwd.h>
#include <unistd.h>

#include <utility>

#include "engine/store/database_home.h"
#include "engine/store/history_recorder.h"
#include "engine/store/open.h"

namespace berth {

namespace {

std::string login_name() {
  const passwd* entry = getpwuid(geteuid());
  return entry != nullptr && entry->pw_name != nullptr ? entry->pw_name : std::to_string(geteuid());
}

}  // namespace

Runtime::Runtime(const RuntimeOptions& options, Database db, Database queries, std::string actor)
    : db_(std::move(db)),
      queries_(std::move(queries)),
      own_env_(options.env == nullptr ? std::make_unique<SystemEnv>() : nullptr),
      env_(options.env == nullptr ? own_env_.get() : options.env),
      actor_(std::move(actor)),
      read_only_(options.read_only),
      seed_(options.seed) {
  set_history_clock(db_, *env_);
}

Result<std::unique_ptr<Runtime>> Runtime::open(const RuntimeOptions& options) {
  const OpenOptions open_options{.access = options.read_only ? Access::kReadOnly : Access::kReadWrite,
                                 .create = !options.read_only};
  BERTH_ASSIGN(Database db, open_state(options.database, open_options));
  BERTH_ASSIGN(Database queries, open_for_queries(options.database));
  const std::unique_ptr<Env> clock = options.env == nullptr ? std::make_unique<SystemEnv>() : nullptr;
  // Before anything is said in it. Whoever tells executors notices it as well, so a failure is not the session's.
  if (!options.read_only) (void)notice_restoration(db, (clock ? clock.get() : options.env)->now());
  std::string actor = options.actor.empty() ? login_name() : options.actor;
  return std::unique_ptr<Runtime>(new Runtime(options, std::move(db), std::move(queries), std::move(actor)));
}

Status Runtime::check_writable() {
  if (!read_only_) return check_in_place(db_);
  return Status(Code::kConflict, "this session is read-only", "start without --read-only to change anything");
}

Status Runtime::begin_transaction() {
  BERTH_TRY(check_writable());
  if (in_transaction()) return Status(Code::kConflict, "this is within a transaction already; they are not nested");
  BERTH_ASSIGN(Transaction begun, Transaction::begin_enclosing(db_));
  enclosing_.emplace(std::move(begun));
  return {};
}

Status Runtime::commit_transaction() {
  // Gone on every way out, also when memory runs out here.
  std::optional<Transaction> ending = std::exchange(enclosing_, std::nullopt);
  return ending->commit();
}

Runtime::Reading Runtime::reading() {
  if (!in_transaction()) return {.db = queries_, .guard = std::nullopt};
  return {.db = db_, .guard = std::optional<ReadingOnly>(std::in_place, db_)};
}

}  // namespace berth
