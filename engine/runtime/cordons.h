// DRAIN NODE and RESUME NODE passed on: what the system behind an executor may put on our nodes.
//
// Nothing is queued: at every sync the drains in the tables (store/drain_records.h) are compared with the cordons of
// ours that the executor sees, and the difference is mended. So a drain is told after it was committed, again until it
// is there, and taken back as soon as nobody wants it. Somebody else's cordon is neither replaced nor lifted.
#pragma once

#include "engine/runtime/observe.h"

namespace berth {

// kUnavailable when the executor did not answer.
Status mend_cordons(Runtime& runtime, LiveExecutor& live, const Observation& seen, SyncReport& report);

}  // namespace berth
