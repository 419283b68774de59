// RUN SYNC: tell executors what was decided, look at what is true, and tell them what follows from that.
#pragma once

#include "engine/runtime/dispatcher.h"
#include "engine/runtime/observe.h"

namespace berth {

struct SyncOutcome {
  DispatchReport dispatched;
  SyncReport seen;
};
// kBusy when somebody else runs a round. `also_down` asks executors that are left alone for a while, too.
Result<SyncOutcome> run_sync(Runtime& runtime, bool also_down, Inventories inventories = Inventories::kNowAndThen);
// The same for whoever holds the lease.
Result<SyncOutcome> sync_now(Runtime& runtime, Lease& lease, bool also_down,
                             Inventories inventories = Inventories::kNowAndThen);
// Tells executors what is in the outbox; nothing when there is nothing. For whoever holds the lease, after a round:
// that stands in a copy of the database, too, so there the report says why nobody was told.
Result<DispatchReport> dispatch_now(Runtime& runtime, Lease& lease);

}  // namespace berth
