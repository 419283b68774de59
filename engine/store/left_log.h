// A log (<path>-wal) that a killed process left beside a database, before SQLite takes it for the file's own.
//
// SQLite applies what it finds. Where the file was replaced since, as by a backup that was put in its place, that mixes
// pages of two states, or silently brings back what the backup was to undo. A log is another file's where the file
// is one that has none (a copy by SNAPSHOT SAVE says so in its head), and where the file is younger than the log and
// does not hold together with it. It is looked at once by each process, while no process has the file open.
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

// `path` is about to be replaced: its log goes into it and away. kBusy when a process has it open.
Status end_log(const std::string& path);
// `path` has been replaced: what is left of the log goes.
void remove_log(const std::string& path);
// By a process that has the file open which lay at the path of `db` before it was moved, replaced or removed. What the
// log has goes into that file, where it lies now, unless somebody uses it there. Then the log goes; it stays only where
// it is all that there is of what was committed, and no other file would take it for its own.
void part_from_log(Database& db);

}  // namespace berth
