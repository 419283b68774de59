// A log (<path>-wal) that a killed process left beside a database, before SQLite takes it for the file's own.
//
// SQLite applies what it finds. Where the file was replaced since, as by a backup that was put in its place, that mixes
// pages of two states. Each log therefore has a name. Its first transaction writes the name into the table meta, with
// the name of the log before it and the state version of that moment. A file is not the log's own where it names
// another log, or is older than the log. A file that has no log says so in its head (a copy by SNAPSHOT SAVE). Where
// neither has a name yet, a file that is younger than the log is another one if its rows agree with each other alone,
// and not with the log. Each process looks once.
#pragma once

#include <string>

#include "engine/base/status.h"
#include "engine/store/sqlite.h"

namespace berth {

// With what to do: kCorrupt, the log is another file's; kConflict, the database was moved, and its log was not.
// Nothing has been changed. `is_sound`: the rows of a database agree with each other; a file that is sound alone and
// not with the log has another one's.
using IsSound = bool (*)(Database& db);
Status check_left_log(const std::string& path, IsSound is_sound);
// At the beginning of a write transaction of a file with a log: names the log where this may be its first.
Status name_new_log(Database& db);
// `db` is about to be what `present` is: its log goes on.
Status take_log_name(Database& db, Database& present);

// `path` is about to be replaced: its log goes into it and away. kBusy when a process has it open.
Status end_log(const std::string& path);
// `path` has been replaced: what is left of the log goes.
void remove_log(const std::string& path);
// By a process that has the file open which lay at the path of `db` before it was moved, replaced or removed. What the
// log has goes into that file, where it lies now, unless somebody uses it there. Then the log goes; it stays only where
// it is all that there is of what was committed, and no other file would take it for its own.
void part_from_log(Database& db);

}  // namespace berth
