#include "engine/runtime/sync.h"

#include "engine/runtime/node_watch.h"
#include "engine/runtime/round_driver.h"

namespace berth {

Result<DispatchReport> dispatch_now(Runtime& runtime, Lease& lease) {
  BERTH_ASSIGN(const std::int64_t waiting, runtime.db().integer("SELECT count(*) FROM outbox WHERE told_at IS NULL"));
  if (waiting == 0) return DispatchReport();
  Result<std::vector<LiveExecutor>> executors = reach_executors(runtime);
  const Code code = executors.status().code();
  if (code == Code::kConflict || code == Code::kUnavailable) {  // the round stands
    DispatchReport report;
    report.waiting = waiting;
    report.refusal = executors.status();
    return report;
  }
  BERTH_TRY(executors.status());
  return dispatch(runtime, lease, *executors, DispatchStops::kNew);
}

Result<SyncOutcome> sync_now(Runtime& runtime, Lease& lease, bool also_down, Inventories inventories) {
  SyncOutcome outcome;
  BERTH_ASSIGN(std::vector<LiveExecutor> executors, reach_executors(runtime, also_down));
  if (!executors.empty()) {
    BERTH_ASSIGN(outcome.dispatched, dispatch(runtime, lease, executors, DispatchStops::kNew));
    BERTH_ASSIGN(outcome.seen, observe_executors(runtime, lease, executors, inventories));
  }
  {
    const CheckedChanges checked(runtime, [&] { return lease.check(); });
    BERTH_TRY(close_silent_nodes(runtime, outcome.seen));
  }
  BERTH_ASSIGN(const DispatchReport after, dispatch(runtime, lease, executors));
  outcome.dispatched.launches += after.launches;
  outcome.dispatched.tasks += after.tasks;
  outcome.dispatched.stops += after.stops;
  outcome.dispatched.refused += after.refused;
  outcome.dispatched.waiting = after.waiting;
  return outcome;
}

Result<SyncOutcome> run_sync(Runtime& runtime, bool also_down, Inventories inventories) {
  BERTH_TRY(runtime.check_writable());
  BERTH_ASSIGN(Lease lease, take_round_lease(runtime));
  return sync_now(runtime, lease, also_down, inventories);
}

}  // namespace berth
