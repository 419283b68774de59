#include "engine/store/change.h"

#include "engine/base/text.h"
#include "engine/store/borrowing.h"
#include "engine/store/history_recorder.h"
#include "engine/store/lease.h"
#include "engine/store/loan_records.h"
#include "engine/store/queue_use.h"

namespace berth {

namespace {

// "run sync" of "RUN SYNC WITH (...)".
std::string verb_of(std::string_view statement) {
  std::string verb;
  int words = 0;
  for (const std::string_view word : split(statement, ' ')) {
    if (word.empty()) continue;
    if (words++ > 0) verb += ' ';
    verb += to_lower(word);
    if (words == 2) break;
  }
  return verb.empty() ? "change" : verb;
}

}  // namespace

Result<Change> Change::begin(Database& db, Author author, Seconds now) {
  Result<Transaction> begun = Transaction::begin_write(db);
  if (!begun.ok()) return name_writer(db, std::move(begun).status());
  Transaction transaction = *std::move(begun);
  set_history_time(db, now);
  BERTH_ASSIGN(const std::int64_t version, state_version(db));
  BERTH_TRY(pass_dates(db, now));
  return Change(db, std::move(author), now, std::move(transaction), version);
}

Status Change::record(std::string_view kind, std::string_view object, std::string_view detail) {
  BERTH_ASSIGN(Statement insert, db_->prepare("INSERT INTO events (time, state_version, kind, object, actor, detail, "
                                              "statement) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"));
  is_recorded_ = true;
  return insert.run(now_, version_after(), kind, object, author_.name, detail, author_.statement);
}

Status Change::settle() {
  if (!use_changed_) return {};
  if (devices_changed_) BERTH_TRY(recount_use(*db_));
  BERTH_TRY(end_loans(*this));
  return refresh_borrowing(*db_, now_);
}

Result<std::int64_t> Change::commit() {
  BERTH_TRY(settle());
  if (!is_recorded_) BERTH_TRY(record(verb_of(author_.statement), ""));
  BERTH_ASSIGN(Statement update, db_->prepare("UPDATE meta SET value = ?1 WHERE key = 'state_version'"));
  BERTH_TRY(update.run(version_after()));
  BERTH_TRY(transaction_.commit());
  return version_after();
}

Result<std::int64_t> state_version(Database& db) {
  return db.integer("SELECT value FROM meta WHERE key = 'state_version'");
}

}  // namespace berth
