// GPU time that each queue used, decaying: use counts half after one half-life. fair_share remembers by it.
//
// The table has what ended attempts used; what runs now is added when it is read, so no round has to write. The two add
// up to the same at any moment, whenever an attempt ends.
#pragma once

#include "engine/model/snapshot.h"
#include "engine/store/change.h"

namespace berth {

// What ended attempts count now, into Queue::decayed_usage of the queue itself (not of those above it).
Status read_usage(Database& db, Snapshot& snapshot);
// Tasks of `queue` that end now have used so much, see policy/decayed_use.h.
Status add_usage(Change& change, std::int64_t queue, double service, Seconds half_life);

}  // namespace berth
