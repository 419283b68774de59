// Writes down what every committed transaction replaces, in the same transaction, so that any moment can be looked at
// later (past_tables.h).
//
// Method: SQLite's preupdate hook shows each row as it is about to change, whoever changes it - a statement, a trigger,
// a foreign key. What it takes to undo the change goes to memory (undo_log.h): of an inserted row its key, of a changed
// one the old values of the columns that differ, of a deleted one all of it. At the commit there is one row for each
// table that changed, compressed where it is large; no statement is run for single rows.
//
// The setting record_history turns it off; what was written before is dropped then, for nothing can be undone across
// a gap. Programs that write to the file past Berth are not seen.
#pragma once

#include "engine/base/env.h"
#include "engine/store/sqlite.h"

namespace berth {

// From now on, for this connection. Read-write connections of open_state() do it themselves.
void record_history(Database& db);
// The clock for transactions that are not a Change; must outlive the connection. Without it they count to the moment of
// the last one.
void set_history_clock(Database& db, const Env& env);
// When the present transaction takes place.
void set_history_time(Database& db, Seconds now);

// The present transaction loads a snapshot: what was here since the snapshot's last moment is not known.
void mark_history_load(Database& db);

struct HistoryCost {
  double seconds = 0;        // at commits; what the hook costs is not in it
  std::int64_t bytes = 0;    // stored
  std::int64_t changes = 0;  // rows
};
// Of this connection since it was opened.
HistoryCost history_cost(const Database& db);

}  // namespace berth
