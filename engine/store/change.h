// One accepted statement: one transaction, one step of the state version, and events that say what happened.
//
//   BERTH_ASSIGN(Change change, Change::begin(db, "alice", env.now()));
//   BERTH_TRY(add_pool(change, {"train"}));
//   BERTH_ASSIGN(std::int64_t version, change.commit());
//
// Everything done through it becomes true together at commit() or not at all: it rolls back when destroyed before.
// Several records in one Change are one statement (an import is all of a file or none). After a record function has
// failed the change may hold half of it unless that function promises otherwise, so let it go. The state version is
// what plans are checked against: whatever a plan may depend on changes only through a Change.
#pragma once

#include <string>
#include <string_view>

#include "engine/store/sqlite.h"

namespace berth {

// Who changes something, and the statement that says so.
struct Author {
  Author() = default;
  Author(std::string who) : name(std::move(who)) {}
  Author(const char* who) : name(who) {}
  Author(std::string who, std::string text) : name(std::move(who)), statement(std::move(text)) {}
  std::string name;
  std::string statement = {};  // as typed; empty = nobody typed one
};

class Change {
 public:
  // Takes the write lock; kBusy when another process keeps it past the timeout. `author` is who asks, for the journal.
  static Result<Change> begin(Database& db, Author author, Seconds now);

  Database& db() { return *db_; }
  Seconds now() const { return now_; }
  const std::string& actor() const { return author_.name; }
  std::int64_t version_before() const { return version_; }
  std::int64_t version_after() const { return version_ + 1; }

  // Writes an event: a verb and a kind of thing ("create node"), its name, and what is worth adding.
  Status record(std::string_view kind, std::string_view object, std::string_view detail = {});

  // What queues use, own or are owed may have changed: commit() brings the borrow ledger up to date (see borrowing.h).
  void use_changed() { use_changed_ = true; }
  // Nodes that run tasks may have other devices: what queues use is counted anew.
  void devices_changed() { use_changed_ = devices_changed_ = true; }

  // Brings up to date what follows from the change: loans that have ended, the borrow ledger. commit() does it first.
  Status settle();
  // The new state version. Where nothing was recorded the first words of the statement are the event: every step of the
  // version has one.
  Result<std::int64_t> commit();

 private:
  Change(Database& db, Author author, Seconds now, Transaction transaction, std::int64_t version)
      : db_(&db), author_(std::move(author)), now_(now), transaction_(std::move(transaction)), version_(version) {}
  Database* db_;
  Author author_;
  Seconds now_;
  Transaction transaction_;
  std::int64_t version_;
  bool use_changed_ = false;
  bool devices_changed_ = false;
  bool is_recorded_ = false;
};

// The present state version.
Result<std::int64_t> state_version(Database& db);

}  // namespace berth
