// The engine on one database: what the shell, a program that embeds Berth, and cron talk to.
//
// A Runtime owns the connection that changes state, a second read-only one for SQL that users type, the clock, and the
// name under which changes are journalled. Rounds, explanations, simulations and imports are functions over it, one
// header each. It belongs to one thread.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "engine/base/env.h"
#include "engine/store/as_of.h"
#include "engine/store/change.h"
#include "engine/store/sqlite.h"

namespace berth {

struct RuntimeOptions {
  std::string database;  // created when missing, unless read_only
  bool read_only = false;
  std::string actor;                  // who changes things; empty = the user's login name
  const Env* env = nullptr;           // null = the system's clock; must outlive the runtime
  std::optional<std::uint64_t> seed;  // instead of the setting
};

enum class ChangeFate : std::uint8_t { kCommit, kTakeBack };

class Runtime {
 public:
  static Result<std::unique_ptr<Runtime>> open(const RuntimeOptions& options);

  Database& db() { return db_; }
  // Read-only, for SQL from users; sees what is committed.
  Database& queries() { return queries_; }
  // A SELECT on it, which may contain as_of(...).
  Result<Statement> query(std::string_view sql) { return past_queries_.prepare(sql, now()); }
  Seconds now() const { return env_->now(); }
  const Env& env() const { return *env_; }
  const std::string& actor() const { return actor_; }
  // The statement in whose name changes are journalled from now on; empty = none.
  void speak_for(std::string statement) { statement_ = std::move(statement); }
  Author author() const { return {actor_, statement_}; }
  bool read_only() const { return read_only_; }
  std::optional<std::uint64_t> seed() const { return seed_; }

  // One accepted statement: `body` works on the change, which commits when it succeeds. The new state version.
  template <std::invocable<Change&> Body>
  Result<std::int64_t> change(Body&& body) {
    BERTH_TRY(check_writable());
    BERTH_ASSIGN(Change change, Change::begin(db_, author(), now()));
    BERTH_TRY(check_right());
    BERTH_TRY(body(change));
    if (!judge_) return change.commit();
    BERTH_TRY(change.settle());
    BERTH_ASSIGN(const ChangeFate fate, judge_(change));
    return fate == ChangeFate::kCommit ? change.commit() : Result<std::int64_t>(change.version_before());
  }
  // Until it is called with nothing: changes are made, and `judge` looks at each, may add to it and says what becomes
  // of it.
  void judge_changes(std::function<Result<ChangeFate>(Change&)> judge) { judge_ = std::move(judge); }
  // Until it is called with nothing: each change begins with `check`, inside its transaction, and is not made where
  // that fails.
  void check_changes(std::function<Status()> check) { right_ = std::move(check); }
  // What check_changes() was given says; for transactions that are no changes, at their beginning.
  Status check_right() const { return right_ ? right_() : Status(); }
  // kConflict in a read-only session.
  Status check_writable();

  // Until commit_transaction(), changes are parts of one transaction: each keeps its step of the state version and its
  // events, and one that fails is rolled back alone; others see all of it at its end, or nothing. Nobody else can
  // change anything meanwhile, and nothing that reaches beyond the database (a round) may be done.
  Status begin_transaction();
  Status commit_transaction();
  void roll_back_transaction() { enclosing_.reset(); }
  bool in_transaction() const { return enclosing_.has_value(); }

  // The connection for SQL from users, which only reads as long as this lives: queries(), or within a transaction the
  // one that changes, so that they see what has been changed.
  struct Reading {
    Database& db;
    std::optional<ReadingOnly> guard;
  };
  Reading reading();

 private:
  Runtime(const RuntimeOptions& options, Database db, Database queries, std::string actor);

  Database db_;
  Database queries_;
  PastQueries past_queries_{queries_};
  std::unique_ptr<Env> own_env_;
  const Env* env_;
  std::string actor_;
  std::string statement_ = {};
  bool read_only_;
  std::optional<std::uint64_t> seed_;
  std::function<Result<ChangeFate>(Change&)> judge_;
  std::function<Status()> right_;
  std::optional<Transaction> enclosing_ = {};  // ends before its connection
};

// While it lives, changes are made only where `check` lets them.
class CheckedChanges {
 public:
  CheckedChanges(Runtime& runtime, std::function<Status()> check) : runtime_(runtime) {
    runtime_.check_changes(std::move(check));
  }
  CheckedChanges(const CheckedChanges&) = delete;
  CheckedChanges& operator=(const CheckedChanges&) = delete;
  ~CheckedChanges() { runtime_.check_changes({}); }

 private:
  Runtime& runtime_;
};

}  // namespace berth
