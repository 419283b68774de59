#include "engine/round/loan_return.h"

#include <algorithm>
#include <map>
#include <set>

namespace berth {

namespace {

// No loan needs it any more, and it has not begun to write its last checkpoint for one that is over.
bool may_run_on(const RunningJob& run, std::span<const LoanReturn> returns, Seconds now) {
  bool is_over = true;
  for (const LoanReturn& each : returns) {
    if (std::ranges::find(each.stops, run.job.id, &LoanStop::job) != each.stops.end()) return false;
    is_over = is_over && (each.loan.id != run.stops_for || each.loan.until <= now);
  }
  return !is_over || run.stop_at - now > run.job.eviction.checkpoint_grace + run.end_delay;
}

// What lenders own and do not use, of the loans that have just ended, is not borrowed anew in this one.
void keep_what_came_back(RoundState& state, Seconds now) {
  QuotaLedger& quotas = state.quotas();
  const auto branch_at = [&](std::int32_t queue, int depth) {
    while (quotas.depth(queue) > depth) queue = state.setup().queues[static_cast<std::size_t>(queue)].parent;
    return queue;
  };
  std::map<std::size_t, std::set<std::int32_t>> lenders;  // branches, by resource
  for (const LoanTerms& loan : quotas.table().ended_loans) {
    const int fork = quotas.fork_depth(loan.lender, loan.borrower);
    if (fork >= 0) lenders[static_cast<std::size_t>(loan.resource)].insert(branch_at(loan.lender, fork));
  }
  for (const auto& [r, branches] : lenders) {
    std::int64_t spare = quotas.capacity(r) - quotas.used_by_all(r);
    std::vector<QuotaLedger::DueRoom> due;
    for (const std::int32_t lender : branches) {
      due.push_back({lender, std::max<std::int64_t>(0, quotas.quota(lender, r) - quotas.used(lender, r))});
      spare -= due.back().amount;
    }
    quotas.keep_from(r, now, spare, std::move(due));
  }
}

void keep_what_is_due(RoundState& state, std::span<const LoanReturn> returns, Seconds now) {
  for (const LoanReturn& each : returns) {
    if (each.loan.until <= now) continue;
    state.quotas().keep_from(static_cast<std::size_t>(each.loan.resource), each.loan.until, each.spare, each.due);
  }
}

}  // namespace

Status return_loans(RoundState& state, std::span<const Job> waiting, Seconds now, const StartsThen& starts_then,
                    LoanStops& stops) {
  BERTH_ASSIGN(const std::vector<LoanReturn> returns, plan_loan_returns(state, waiting, now, starts_then));
  for (const RunningJob& run : state.running().all()) {
    if (!run.stops_for_a_loan()) continue;
    if (!state.rules().withdraws_evictions() && !may_run_on(run, returns, now)) continue;
    state.running().change(run.job.id)->run_on();
    stops.reprieves.push_back(run.job.id);
  }
  for (const LoanReturn& each : returns) {
    for (const LoanStop& stop : each.stops) {
      if (stop.was_told || state.rules().preemption == Preemption::kNone) continue;
      if (!stop.whole && stop.stop_at > now) continue;
      stops.evictions.push_back({.job = stop.job,
                                 .beneficiary = each.loan.id,
                                 .rule = EvictionRule::kLoan,
                                 .whole = stop.whole,
                                 .tasks = stop.tasks,
                                 .lost = stop.lost,
                                 .stop_at = stop.stop_at,
                                 .why = VictimChoiceReason::kLoan});
      if (stop.whole && stops.starts.empty()) stops.starts = each.starts;
      if (!stop.whole) {
        BERTH_TRY(state.shrink(stop.job, stop.tasks));
      } else if (stop.stop_at <= now) {
        BERTH_TRY(state.end(stop.job));
      } else {
        RunningJob& run = *state.running().change(stop.job);
        run.stop_at = stop.stop_at;
        run.stops_for = each.loan.id;
        run.stop_rule = EvictionRule::kLoan;
      }
    }
  }
  keep_what_is_due(state, returns, now);
  keep_what_came_back(state, now);
  return {};
}

Status spare_for_loans(RoundState& state, std::span<const Job> waiting, Seconds now, const StartsThen& starts_then,
                       std::vector<std::int64_t>& reprieves) {
  if (!starts_then) return {};
  // A job that an executor runs counts as one that stops in any case.
  const auto is_bound = [](const RunningJob& run) { return run.end_delay > Seconds(0); };
  std::map<std::int64_t, std::vector<std::int64_t>> due;  // by loan
  std::vector<EndedPart> all_due;
  std::vector<const RunningJob*> later;
  for (const RunningJob& run : state.running().all()) {
    if (!run.stops_for_a_loan()) continue;
    if (run.stop_at > now) {
      later.push_back(&run);
      continue;
    }
    all_due.push_back({.job = run.job.id});
    if (!is_bound(run)) due[run.stops_for].push_back(run.job.id);
  }
  if (due.empty()) return {};
  for (const LoanTerms& loan : state.quotas().table().ended_loans) {
    const auto found = due.find(loan.id);
    if (found == due.end()) continue;
    std::vector<EndedPart> with = all_due;
    std::vector<EndedPart> without = all_due;
    std::erase_if(without, [&](const EndedPart& part) {
      return std::ranges::find(found->second, part.job) != found->second.end();
    });
    for (const RunningJob* const run : later) {
      if (run->stops_for != loan.id) continue;
      with.push_back({.job = run->job.id});
      if (is_bound(*run)) without.push_back({.job = run->job.id});
    }
    const auto starts_of_lender = [&](std::span<const EndedPart> ended) -> Result<std::int64_t> {
      BERTH_ASSIGN(const std::vector<std::int64_t> started, starts_then(now, ended));
      return std::ranges::count_if(waiting, [&](const Job& job) {
        return job.queue >= 0 && state.quotas().lies_in(job.queue, loan.lender) &&
               std::ranges::binary_search(started, job.id);
      });
    };
    BERTH_ASSIGN(const std::int64_t most, starts_of_lender(with));
    BERTH_ASSIGN(const std::int64_t beside, starts_of_lender(without));
    if (most > beside) continue;
    for (const std::int64_t job : found->second) {
      state.running().change(job)->run_on();
      reprieves.push_back(job);
    }
  }
  return {};
}

Status keep_for_lenders(RoundState& state, std::span<const Job> waiting, Seconds now) {
  BERTH_ASSIGN(const std::vector<LoanReturn> returns, plan_loan_returns(state, waiting, now, {}));
  keep_what_is_due(state, returns, now);
  return {};
}

}  // namespace berth
