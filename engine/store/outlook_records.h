// What rounds say of queues, into the standings.
#pragma once

#include <span>

#include "engine/model/plan.h"
#include "engine/store/sqlite.h"

namespace berth {

// Inside a round's transaction, before the standings are written anew. A queue starves since the job was submitted that
// its quota would cover, but not since before the standings were last looked at: then nothing starved.
Status write_outlook(Database& db, std::span<const QueueOutlook> outlook);

}  // namespace berth
