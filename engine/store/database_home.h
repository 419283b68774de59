// Which file drives the work: a copy of a database must not, and one that was restored must not take what ran since
// for its own.
//
// A copy has the same tag, so it would claim the same launches and stop what it does not know. The first executor on
// which something really runs gives the database a tag of its own (copies that were made before get others), and the
// file's path, inode and device are remembered, with its host (name, machine id, boot). A file that was replaced where
// it was, on the same device of the same host, is still the one, and remembered anew; so is one that was moved, unless
// a copy lies where it was, and one whose container was started anew under another name. Any other is a copy.
//
// A restored file is told by a mark: a random word that is written into the database and into a new file in the folder
// of its executors whenever they are about to be told to start something. Where the two disagree, or the file is
// another one with the same word (the folder was restored with the database), the database went back in time, whoever
// did that and how, and a new generation of task keys begins (see exec/executor.h). The database has the mark before,
// too, so that a crash between the two writes is no restoration. What a file system takes back as a whole, files with
// their numbers and all, cannot be told.
#pragma once

#include <string>
#include <string_view>

#include "engine/store/change.h"

namespace berth {

// The name of this database in everything that executors keep. kCorrupt: it has none, or one that cannot name a file.
Result<std::string> database_tag(Database& db);

// Beside the file: in it executors keep what they must.
std::string executors_folder(const Database& db);
// kUnavailable: it is there, and somebody else made it or may write to it. Nothing in it is then read or written.
Status check_executors_folder(const Database& db);

// kConflict when the file was moved, replaced or removed after it was opened: what is written is lost with it.
Status check_in_place(Database& db);

// Executors' records under the old tag no longer belong to this database. No version of the state.
Status give_new_tag(Database& db);
// This file drives the work from now on. Nothing for a database in memory. No version of the state.
Status record_home(Database& db);
// Where no home is recorded: gives the database a new tag and records its home. Comes before Berth tells anybody
// anything.
Status begin_home(Database& db);
// The same for a copy, which begins a new generation.
Status adopt_home(Database& db);

// kConflict in a copy, with what it is a copy of and what to do. Reads only.
Status check_no_copy(Database& db);
// What an admin may do, beside putting it back, where a folder of executors is missing.
inline constexpr std::string_view kOrAdopt =
    "or ALTER DATABASE ADOPT goes on without it: what runs is given up as lost, and may start again";
// kConflict where executors have kept something for this database and its folder is not there, or is empty.
Status check_folder(Database& db);

enum class Restoration : std::uint8_t { kNone, kNoticed };
// The first time: records the home. Begins a new generation when the file was restored. kConflict in a copy, and where
// its executors' folder is not beside it.
Result<Restoration> check_home(Database& db, Seconds now);
// For whoever opens it: as check_home(), but only looks at the mark while that is right.
Status notice_restoration(Database& db, Seconds now);
// Before executors are told to start anything; after check_home().
Status move_mark(Database& db);

// `restored` becomes the content of the file that `present` is now: at home where that one is, in a new generation.
// kConflict where it is another database's and jobs of `present` run.
Status take_home_along(Database& restored, Database& present);

// This copy becomes a database of its own, which touches nothing of the original's: a new tag, simulated executors, and
// what runs waits again, as if never started.
Status fork_database(Change& change);

}  // namespace berth
