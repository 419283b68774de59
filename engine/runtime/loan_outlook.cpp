#include "engine/runtime/loan_outlook.h"

#include "engine/round/loan_return.h"
#include "engine/round/schedule.h"
#include "engine/runtime/policies.h"
#include "engine/runtime/reason_words.h"
#include "engine/runtime/round_driver.h"
#include "engine/store/names.h"

namespace berth {

Result<std::vector<LoanOutlook>> loan_outlook(Runtime& runtime) {
  constexpr Seconds kAlways(100LL * 365 * 86400);
  std::vector<LoanOutlook> outlook;
  BERTH_ASSIGN(const std::int64_t open,
               runtime.db().integer("SELECT count(*) FROM loans WHERE state = 'open' AND return_grace_s > 0"));
  if (open == 0) return outlook;
  BERTH_ASSIGN(Loaded loaded,
               load_for_planning(runtime, {.now = runtime.now(), .node_names = false, .also_job = std::nullopt}));
  BERTH_TRY(replace_failing_scripts(runtime.db(), loaded.snapshot, nullptr));
  const Snapshot& snapshot = loaded.snapshot;
  BERTH_ASSIGN(const Planning planning, planning_of(snapshot));
  RoundState& state = *planning.state;
  BERTH_ASSIGN(const std::vector<LoanReturn> returns,
               plan_loan_returns(state, snapshot.jobs, snapshot.now, starts_then(snapshot, {}), kAlways));
  for (const LoanReturn& each : returns) {
    if (each.loan.until <= snapshot.now) continue;
    LoanOutlook& loan = outlook.emplace_back();
    loan.loan = each.loan.id;
    const QuotaResource& resource = state.quotas().resource(static_cast<std::size_t>(each.loan.resource));
    if (each.missing > 0) loan.missing = describe_amount(resource, each.missing);
    for (const LoanStop& stop : each.stops) {
      const std::int32_t queue = state.running().find(stop.job)->job.queue;
      LoanOutlook::Stop& said = loan.stops.emplace_back();
      BERTH_ASSIGN(said.job, job_name(runtime.db(), stop.job));
      said.queue = snapshot.queues[static_cast<std::size_t>(queue)].name;
      said.tasks = static_cast<std::int64_t>(stop.tasks.size());
      said.stop_at = stop.stop_at;
      said.lost = stop.lost;
      said.was_told = stop.was_told;
    }
  }
  return outlook;
}

}  // namespace berth
