// Loans of quota are returned by planning ahead: when one ends, those of the lender that wait find its quota free.
//
// In the return grace of a loan, the time just before its end, a round looks ahead to the moment of the end: which
// running jobs still run then as far as is known, and what queues own without the loan. What must be freed until then
// is the least of
//   - the amount of the loan,
//   - what the borrower's branch of the queue tree (below the lowest common ancestor with the lender) uses then beyond
//     its quota,
//   - what the lender lacks: what its waiting jobs ask for and its quota then has room for, less what is free.
// So nobody stops for a lender of which nobody waits, or none of whose jobs would start (loan_trial.h). The borrower's
// jobs run on then; after the loan they are those of an ordinary borrower. Jobs of the borrower's branch are told to
// stop for that, as few as suffice, those first that were told already, then surplus tasks of elastic jobs, then lower
// classes, then whoever loses least per GPU. Only preemptible jobs whose queue, and every queue from there up to the
// branch, uses more than its quota then: nothing within its own quota is stopped. Minimum run time, cool-down and the
// eviction budget hold as for any eviction. Jobs that end before by themselves are left alone. The room is used until
// the lender needs it: a job stops at the end of the loan, told early enough that it is gone then - but one that writes
// checkpoints by itself at its last one before, if that is still to come, for what it did after that would be lost. Its
// checkpoint signal comes when its grace begins, not when it is chosen (store/eviction_records.h). Surplus tasks end in
// the first round after the end. A grace to write a checkpoint may end after the loan when the loan's own was shorter,
// rounds came late, or the lender's job did. Those told to stop run on when they are not needed any more: others have
// ended earlier than expected, the lender's jobs wait no longer, or the loan was returned.
//
// Meanwhile jobs that would borrow anew and outlast the loan may take no more than leaves the lender what it owns
// (QuotaLedger::keep_from). So it is in the first round after the end, whatever the order: the lender's jobs get what
// is theirs before somebody borrows it anew. From then on who uses what is not its own is an ordinary borrower.
//
// Time: running jobs times tasks, and waiting jobs, for each loan; nothing without loans in their grace.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/model/plan.h"
#include "engine/round/loan_trial.h"
#include "engine/round/round_state.h"

namespace berth {

// A job that makes room for the lender.
struct LoanStop {
  std::int64_t job = 0;
  bool whole = true;
  std::vector<TaskName> tasks;  // when not whole
  Seconds stop_at;
  std::int64_t lost = 0;  // milli-GPU-seconds
  bool was_told = false;  // by an earlier round
};

struct LoanReturn {
  LoanTerms loan;
  std::vector<LoanStop> stops;                 // in the order of their choice
  std::vector<Reservation> starts = {};        // of the lender's jobs, were those gone that no round has told yet
  std::int64_t spare = 0;                      // what is then free beyond what lenders own and do not use
  std::vector<QuotaLedger::DueRoom> due = {};  // that, by lender
  std::int64_t missing = 0;  // of what must be freed, nobody may be stopped for; milli-cores, MiB or milli-GPU
};

// How loans are returned whose grace has begun or begins within `ahead`, in the order in which they end, and those that
// have just ended; those without a grace are not. As things are `now`, the moment of the state.
// `waiting`: jobs in id order, those that run among them do not count.
// The state is as before afterwards. Errors: those of `starts_then`.
Result<std::vector<LoanReturn>> plan_loan_returns(RoundState& state, std::span<const Job> waiting, Seconds now,
                                                  const StartsThen& starts_then, Seconds ahead = Seconds(0));

struct LoanStops {
  std::vector<Eviction> evictions;      // new ones
  std::vector<std::int64_t> reprieves;  // jobs told to stop that run on
  std::vector<Reservation> starts;      // see Plan::loan_starts; of the first loan that stops a job
};
// Plans the returns and carries them out in the state: jobs and tasks that stop now are gone, other jobs are told to
// stop, and what is due to lenders is kept, also of loans that have just ended. With Preemption::kNone
// nobody is stopped.
Status return_loans(RoundState& state, std::span<const Job> waiting, Seconds now, const StartsThen& starts_then,
                    LoanStops& stops);
// Of a loan that has ended, jobs whose stop is due run on if their end would start no job of the lender, also together
// with the jobs that stop later for that loan: others run on that were to have ended. Adds them to `reprieves`.
Status spare_for_loans(RoundState& state, std::span<const Job> waiting, Seconds now, const StartsThen& starts_then,
                       std::vector<std::int64_t>& reprieves);
// Keeps what is due to lenders at the ends of loans in the state, as a round in their grace does, and stops nobody.
Status keep_for_lenders(RoundState& state, std::span<const Job> waiting, Seconds now);

}  // namespace berth
