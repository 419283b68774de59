// Room held for jobs, from round to round.
#pragma once

#include <span>
#include <vector>

#include "engine/model/cluster.h"
#include "engine/model/rules.h"
#include "engine/store/change.h"
#include "engine/store/id_index.h"

namespace berth {

// In job order. A reservation on a node or device that is gone is left out: nothing of it is worth keeping.
Result<std::vector<Reservation>> read_reservations(Database& db, IdIndex& nodes, const Cluster& cluster);
// Makes the tables say `wanted` (in job order): only what differs is written.
Status write_reservations(Change& change, std::span<const Reservation> wanted);
// A reservation that evictions made for the job lapses at `until` at the earliest.
Status keep_reservation(Change& change, std::int64_t job, Seconds until);
// Of a job that no longer waits.
Status drop_reservation(Change& change, std::int64_t job);

}  // namespace berth
