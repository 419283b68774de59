// Which file drives the work: a copy of a database must not.
//
// A copy has the same tag, so it would claim the same launches and stop what it does not know. The first executor on
// which something really runs is created in a file whose path and inode are remembered; where both differ the file is a
// copy. A file that was moved (same inode) or restored in place (same path) is still the one, and remembered anew.
#pragma once

#include "engine/store/change.h"

namespace berth {

// This file drives the work from now on. Nothing for a database in memory. No version of the state.
Status record_home(Database& db);
// The first time: records it. kConflict in a copy, with what it is a copy of and what to do.
Status check_home(Database& db);

// This copy becomes a database of its own, which touches nothing of the original's: a new tag, simulated executors, and
// what runs waits again, as if never started.
Status fork_database(Change& change);

}  // namespace berth
