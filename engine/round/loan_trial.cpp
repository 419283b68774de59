#include "engine/round/loan_trial.h"

#include <algorithm>
#include <set>
#include <utility>

#include "engine/round/schedule.h"

namespace berth {

namespace {

void end_parts(Snapshot& snapshot, std::span<const EndedPart> ended) {
  for (const EndedPart& part : ended) {
    const auto is_ended = [&](const Allocation& each) {
      const auto names_it = [&](const TaskName& task) { return task.group == each.group && task.task == each.task; };
      return each.job == part.job && (part.tasks.empty() || std::ranges::any_of(part.tasks, names_it));
    };
    std::erase_if(snapshot.allocations, is_ended);
    if (!part.tasks.empty()) continue;
    std::erase_if(snapshot.running, [&](const RunningJob& run) { return run.job.id == part.job; });
    std::erase_if(snapshot.jobs, [&](const Job& job) { return job.id == part.job; });
  }
}

Snapshot snapshot_at(Seconds moment, const Snapshot& snapshot, std::span<const EndedPart> ended) {
  Snapshot then = snapshot;
  then.now = std::max(snapshot.now, moment);
  then.quotas = quotas_at(snapshot.quotas, then.now);
  for (const LoanTerms& loan : snapshot.quotas.loans) {
    if (loan.until > snapshot.now && loan.until <= then.now) then.quotas.ended_loans.push_back(loan);
  }
  end_parts(then, ended);
  for (RunningJob& run : then.running) {
    if (run.stops_for_a_loan()) run.run_on();  // who stops for one is among those that have ended
  }
  for (LoanTerms& loan : then.quotas.ended_loans) loan.return_grace = Seconds(0);  // what is due is kept, nobody stops
  constexpr Seconds kLongerThanAnybodyWaits{std::int64_t{100} * 366 * 86400};
  then.rules.pending_delay = kLongerThanAnybodyWaits;
  return then;
}

}  // namespace

QuotaTable quotas_at(QuotaTable table, Seconds end) {
  if (const auto at = std::ranges::find(table.at_ends, end, &QuotaAtEnd::from); at != table.at_ends.end()) {
    table.loans = at->loans;
    for (std::size_t q = 0; q < at->terms.size(); ++q) std::ranges::copy(at->terms[q], table.terms[q].begin());
  }
  return table;
}

StartsThen starts_then(const Snapshot& snapshot, const ScheduleOptions& options) {
  return [&snapshot, interrupted = options.interrupted](
             Seconds moment, std::span<const EndedPart> ended) -> Result<std::vector<std::int64_t>> {
    const Snapshot then = snapshot_at(moment, snapshot, ended);
    BERTH_ASSIGN(const ScheduleResult result, plan_schedule(then, {.interrupted = interrupted, .tries_loans = false}));
    std::set<std::int64_t> started;
    for (const Placement& placement : result.plan.placements) started.insert(placement.job);
    return std::vector<std::int64_t>(started.begin(), started.end());
  };
}

}  // namespace berth
