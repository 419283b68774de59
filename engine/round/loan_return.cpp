#include "engine/round/loan_return.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "engine/round/reserved_room.h"
#include "engine/round/victims.h"

namespace berth {

namespace {

// The first moment at which the rules of kind and time let it be stopped; nothing = never.
std::optional<Seconds> first_stop(const RunningJob& run, const RoundRules& rules) {
  const EvictionTerms& terms = run.job.eviction;
  if (!terms.preemptible || run.is_told_to_end()) return std::nullopt;
  Seconds first = run.start + terms.min_runtime;
  if (cools_down(run)) first = std::max(first, run.start + rules.eviction_cooldown);
  return first;
}

// When it is to stop for a loan that ends then.
std::optional<Seconds> stop_for_end(const RunningJob& run, const RoundRules& rules, Seconds now, Seconds end) {
  const EvictionTerms& terms = run.job.eviction;
  std::optional<Seconds> stop = first_stop(run, rules);
  if (!stop) return stop;
  stop = std::max(*stop, now + run.end_delay);
  if (terms.checkpoint_grace > Seconds(0)) return std::max({*stop, end, now + terms.checkpoint_grace + run.end_delay});
  if (*stop > end) return std::nullopt;
  if (terms.checkpoint_interval > Seconds(0)) {
    const Seconds last_checkpoint = end - Seconds((end - run.start).value() % terms.checkpoint_interval.value());
    if (last_checkpoint >= *stop) return last_checkpoint;
  }
  return end;
}

// Of the job's tasks that it needs to start, what counts for the resource if they run where they count for it.
std::int64_t wish_of(const QuotaLedger& quotas, const Job& job, std::size_t resource) {
  Amounts wish = quotas.none();
  for (const TaskGroup& group : job.groups) {
    quotas.add_wish(group.shape, std::max(0, group.min_tasks - group.placed), wish);
  }
  return wish[resource];
}

// Who could be stopped for a loan, and what that frees.
struct LoanVictim {
  const RunningJob* run = nullptr;
  std::vector<std::size_t> surplus = {};  // places of its tasks, as they go
  Seconds stop = {};
  Seconds surplus_stop = {};
  std::int64_t lost_seconds = 0;  // of each GPU
  std::int64_t class_value = 0;
  bool was_told = false;
  std::size_t level = 0;  // surplus tasks given up; all() = everything

  std::size_t all() const { return run->tasks.size(); }
};

class LoanReturnPlanner {
 public:
  LoanReturnPlanner(RoundState& state, std::span<const Job> waiting, Seconds now, Seconds ahead)
      : state_(state), waiting_(waiting), now_(now), ahead_(ahead) {
    for (const Queue& queue : state.setup().queues) lost_.push_back(queue.lost_this_hour);
    lost_.push_back(0);
  }

  std::vector<LoanReturn> plan() {
    std::vector<LoanReturn> returns;
    for (const LoanTerms& loan : due_loans()) returns.push_back(plan_one(loan));
    return returns;
  }

 private:
  std::vector<LoanTerms> due_loans() const;
  LoanReturn plan_one(const LoanTerms& loan);
  void look_ahead_to(Seconds end);
  std::int32_t branch_of(std::int32_t queue, int depth) const;
  bool lies_in(std::int32_t queue, std::int32_t branch) const;
  std::int64_t to_free(const LoanTerms& loan, std::int32_t branch) const;
  std::int64_t unused_quota(std::int32_t lender, std::size_t resource) const;
  bool needs_the_end(const Job& job, std::int32_t lender) const;
  std::int64_t needed(std::int32_t lender, std::size_t resource) const;
  std::int64_t room(std::size_t resource) const { return then_->capacity(resource) - then_->used_by_all(resource); }
  std::vector<QuotaLedger::DueRoom> due(std::size_t resource) const;
  std::int64_t lacking(std::size_t resource) const;
  bool uses_more_than_its_own(std::int32_t queue, std::int32_t branch, std::size_t resource) const;
  std::vector<LoanVictim> victims_for(const LoanTerms& loan, std::int32_t branch) const;
  void raise(const LoanTerms& loan, std::int32_t branch, LoanVictim& victim, std::size_t level);
  void move(LoanVictim& victim, std::size_t level);
  Amounts held_between(const LoanVictim& victim, std::size_t from, std::size_t to) const;
  std::int64_t lost_at(const LoanVictim& victim, std::size_t level) const;
  Seconds looked_at(const LoanTerms& loan) const;
  bool is_over(const LoanTerms& loan) const { return loan.until <= now_; }
  // When what was lent is due back: the end of the loan, or now.
  Seconds due_at(const LoanTerms& loan) const { return std::max(now_, loan.until); }
  bool affords(const LoanVictim& victim, std::size_t level) const;
  LoanStop stop_of(const LoanVictim& victim) const;
  bool serves(const LoanTerms& loan, std::int32_t lender, std::span<const LoanVictim> victims);
  std::vector<Reservation> started_of(std::int32_t lender, std::size_t resource);
  std::vector<Reservation> started_without(const LoanTerms& loan, std::int32_t lender,
                                           std::span<const LoanVictim> victims);
  void release(const RunningJob& run, const std::vector<std::size_t>& order, std::size_t level);

  RoundState& state_;
  std::span<const Job> waiting_;
  Seconds now_;
  Seconds ahead_;
  std::vector<std::int64_t> lost_;            // this hour, by queue, last that of jobs without one
  std::map<std::int64_t, std::size_t> gone_;  // for loans before: job and level
  std::optional<QuotaLedger> then_;           // at the end of the loan
  Seconds then_at_{-1};
  // What is needed then, by resource and branch; of the loans looked at.
  std::map<std::pair<std::size_t, std::int32_t>, std::int64_t> lenders_;
};

std::vector<LoanTerms> LoanReturnPlanner::due_loans() const {
  std::vector<LoanTerms> due;
  for (const LoanTerms& loan : state_.quotas().table().ended_loans) {
    if (is_over(loan) && loan.return_grace > Seconds(0)) due.push_back(loan);
  }
  for (const LoanTerms& loan : state_.quotas().table().loans) {
    if (loan.until >= Seconds(kNoLimit) || loan.until <= now_ || loan.return_grace <= Seconds(0)) continue;
    if (now_ + ahead_ >= loan.until - loan.return_grace) due.push_back(loan);
  }
  std::ranges::stable_sort(due, {}, [](const LoanTerms& loan) { return std::tuple(loan.until, loan.id); });
  return due;
}

// What is used at the end of a loan, by whom, and what queues own then.
void LoanReturnPlanner::look_ahead_to(Seconds end) {
  if (then_ && then_at_ == end) return;
  then_at_ = end;
  QuotaTable table = state_.quotas().table();
  if (const auto at = std::ranges::find(table.at_ends, end, &QuotaAtEnd::from); at != table.at_ends.end()) {
    table.loans = at->loans;
    for (std::size_t q = 0; q < at->terms.size(); ++q) std::ranges::copy(at->terms[q], table.terms[q].begin());
  }
  then_.emplace(state_.cluster(), state_.setup().queues, table, end);
  for (const RunningJob& run : state_.running().all()) {
    const bool lasts = run.makes_room_for_a_job() ? run.stop_at > end : untold_end_of(run, state_.rules(), now_) > end;
    if (!lasts) continue;
    const auto gone = gone_.find(run.job.id);
    LoanVictim rest{.run = &run, .surplus = surplus_tasks(run)};
    then_->take(run.job.queue, held_between(rest, gone == gone_.end() ? 0 : gone->second, rest.all()));
  }
}

std::int32_t LoanReturnPlanner::branch_of(std::int32_t queue, int depth) const {
  while (queue >= 0 && then_->depth(queue) > depth)
    queue = state_.setup().queues[static_cast<std::size_t>(queue)].parent;
  return queue;
}

bool LoanReturnPlanner::lies_in(std::int32_t queue, std::int32_t branch) const {
  return queue >= 0 && branch_of(queue, then_->depth(branch)) == branch;
}

std::int64_t LoanReturnPlanner::to_free(const LoanTerms& loan, std::int32_t branch) const {
  const auto r = static_cast<std::size_t>(loan.resource);
  const std::int64_t over = then_->used(branch, r) - then_->quota(branch, r);
  return std::max<std::int64_t>(0, std::min({loan.amount, over, lacking(r)}));
}

std::int64_t LoanReturnPlanner::unused_quota(std::int32_t lender, std::size_t resource) const {
  return std::max<std::int64_t>(0, then_->quota(lender, resource) - then_->used(lender, resource));
}

bool LoanReturnPlanner::needs_the_end(const Job& job, std::int32_t lender) const {
  return job.state != JobState::kRunning && job.after.empty() && lies_in(job.queue, lender) &&
         find_hold(state_.setup().holds, job.id) == nullptr && !state_.is_refused(job.id, now_);
}

// What its waiting jobs could take then within its quota.
std::int64_t LoanReturnPlanner::needed(std::int32_t lender, std::size_t resource) const {
  std::int64_t left = unused_quota(lender, resource);
  const std::int64_t unused = left;
  std::optional<QuotaLedger> served;
  for (const Job& job : waiting_) {
    if (left == 0) break;
    const std::int64_t wish = needs_the_end(job, lender) ? wish_of(*then_, job, resource) : 0;
    if (wish <= 0 || wish > left) continue;
    if (!served) served = then_;
    const Amounts demand = served->demand_to_start(job);
    const QuotaVerdict verdict = served->judge(job.queue, demand);
    const bool is_limited = verdict.reason == Reason::kLimit || verdict.reason == Reason::kQuota;
    if (is_limited && lies_in(verdict.queue, lender)) continue;
    served->take(job.queue, demand);
    left -= wish;
  }
  return unused - left;
}

// What the lenders own then and do not use.
std::vector<QuotaLedger::DueRoom> LoanReturnPlanner::due(std::size_t resource) const {
  std::vector<QuotaLedger::DueRoom> due;
  for (const auto& [lender, needs] : lenders_) {
    if (lender.first == resource) due.push_back({lender.second, unused_quota(lender.second, resource)});
  }
  return due;
}

std::int64_t LoanReturnPlanner::lacking(std::size_t resource) const {
  std::int64_t lacking = -room(resource);
  for (const auto& [lender, needs] : lenders_) {
    if (lender.first == resource) lacking += needs;
  }
  return lacking;
}

bool LoanReturnPlanner::uses_more_than_its_own(std::int32_t queue, std::int32_t branch, std::size_t resource) const {
  for (;; queue = state_.setup().queues[static_cast<std::size_t>(queue)].parent) {
    if (then_->used(queue, resource) <= then_->quota(queue, resource)) return false;
    if (queue == branch) return true;
  }
}

// The first to go in front.
std::vector<LoanVictim> LoanReturnPlanner::victims_for(const LoanTerms& loan, std::int32_t branch) const {
  std::vector<LoanVictim> victims;
  for (const RunningJob& run : state_.running().all()) {
    if (run.makes_room_for_a_job() || gone_.contains(run.job.id) || !lies_in(run.job.queue, branch)) continue;
    if (untold_end_of(run, state_.rules(), now_) <= due_at(loan)) continue;
    LoanVictim victim{.run = &run, .surplus_stop = due_at(loan), .was_told = run.stops_for_a_loan()};
    if (victim.was_told) {
      victim.stop = run.stop_at;
    } else if (is_over(loan)) {
      // From now on whole jobs are taken back from as from any borrower (reclaim.h).
      const std::optional<Seconds> first = first_stop(run, state_.rules());
      victim.surplus = surplus_tasks(run);
      if (!first || *first > now_ || victim.surplus.empty()) continue;
      victim.stop = now_;
    } else {
      const std::optional<Seconds> stop = stop_for_end(run, state_.rules(), looked_at(loan), loan.until);
      if (!stop) continue;
      victim.stop = *stop;
      victim.surplus = surplus_tasks(run);
    }
    victim.lost_seconds = lost_per_gpu(run, victim.stop);
    victim.class_value = state_.class_value(run.job);
    victims.push_back(std::move(victim));
  }
  std::ranges::sort(victims, {}, [](const LoanVictim& v) {
    return std::tuple(!v.was_told, v.class_value, v.lost_seconds, Seconds(0) - v.run->start, v.run->job.id);
  });
  return victims;
}

Amounts LoanReturnPlanner::held_between(const LoanVictim& victim, std::size_t from, std::size_t to) const {
  Amounts amounts = state_.quotas().none();
  const std::vector<RunningTask>& tasks = victim.run->tasks;
  if (to == victim.all() && from == 0) {
    for (const RunningTask& task : tasks) state_.quotas().add_holding(task.holding, amounts);
    return amounts;
  }
  std::vector<std::size_t> order = victim.surplus;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (std::ranges::find(victim.surplus, i) == victim.surplus.end()) order.push_back(i);
  }
  for (std::size_t i = from; i < to; ++i) state_.quotas().add_holding(tasks[order[i]].holding, amounts);
  return amounts;
}

std::int64_t LoanReturnPlanner::lost_at(const LoanVictim& victim, std::size_t level) const {
  if (level == victim.all()) return lost_work(*victim.run, victim.stop);
  std::int64_t lost = 0;
  for (std::size_t i = 0; i < level; ++i) {
    const RunningTask& task = victim.run->tasks[victim.surplus[i]];
    lost += lost_time(*victim.run, task, victim.surplus_stop, Stops::kAlone).value() * task.gpu_held().value();
  }
  return lost;
}

bool LoanReturnPlanner::affords(const LoanVictim& victim, std::size_t level) const {
  const std::int32_t queue = victim.run->job.queue;
  const std::int64_t budget = eviction_budget_of(state_, queue);
  if (budget < 0 || victim.was_told) return true;  // what was told to stop is in lost_this_hour
  const std::int64_t more = lost_at(victim, level) - lost_at(victim, victim.level);
  return lost_[static_cast<std::size_t>(queue)] + more <= budget;
}

void LoanReturnPlanner::move(LoanVictim& victim, std::size_t level) {
  const std::int32_t queue = victim.run->job.queue;
  if (!victim.was_told)
    lost_[static_cast<std::size_t>(queue)] += lost_at(victim, level) - lost_at(victim, victim.level);
  if (level > victim.level) {
    then_->give_back(queue, held_between(victim, victim.level, level));
  } else {
    then_->take(queue, held_between(victim, level, victim.level));
  }
  victim.level = level;
}

void LoanReturnPlanner::raise(const LoanTerms& loan, std::int32_t branch, LoanVictim& victim, std::size_t level) {
  const auto r = static_cast<std::size_t>(loan.resource);
  if (!uses_more_than_its_own(victim.run->job.queue, branch, r) || !affords(victim, level)) return;
  if (held_between(victim, victim.level, level)[r] > 0) move(victim, level);
}

// When a round first looks at it.
Seconds LoanReturnPlanner::looked_at(const LoanTerms& loan) const {
  return std::max(now_, loan.until - loan.return_grace);
}

LoanReturn LoanReturnPlanner::plan_one(const LoanTerms& loan) {
  LoanReturn result{.loan = loan, .stops = {}};
  look_ahead_to(due_at(loan));
  const int fork = then_->fork_depth(loan.lender, loan.borrower);
  if (fork < 0) return result;
  const std::int32_t lender = branch_of(loan.lender, fork);
  const std::int32_t branch = branch_of(loan.borrower, fork);
  const auto r = static_cast<std::size_t>(loan.resource);
  lenders_.insert({{r, lender}, 0});
  for (auto& [each, needs] : lenders_) needs = needed(each.second, each.first);
  std::vector<LoanVictim> victims;
  if (to_free(loan, branch) > 0) victims = victims_for(loan, branch);
  const auto is_enough = [&] { return to_free(loan, branch) == 0; };
  for (LoanVictim& victim : victims) {
    if (victim.was_told && !is_enough()) raise(loan, branch, victim, victim.all());
  }
  for (LoanVictim& victim : victims) {
    for (std::size_t level = 1; level <= victim.surplus.size() && !is_enough(); ++level) {
      if (victim.level + 1 == level) raise(loan, branch, victim, level);
    }
  }
  for (LoanVictim& victim : victims) {
    if (victim.level < victim.all() && !is_over(loan) && !is_enough()) raise(loan, branch, victim, victim.all());
  }
  // The dearest first: whom it takes not.
  for (auto victim = victims.rbegin(); victim != victims.rend(); ++victim) {
    if (victim->level == 0) continue;
    const std::size_t level = victim->level;
    move(*victim, 0);
    if (!is_enough()) move(*victim, level);
  }
  const auto is_chosen = [](const LoanVictim& victim) { return victim.level > 0; };
  if (std::ranges::any_of(victims, is_chosen)) {
    if (serves(loan, lender, victims)) {
      result.starts = started_without(loan, lender, victims);
    } else {
      for (LoanVictim& victim : victims) move(victim, 0);
    }
  }
  for (const LoanVictim& victim : victims) {
    if (victim.level == 0) continue;
    gone_[victim.run->job.id] = victim.level;
    result.stops.push_back(stop_of(victim));
    if (!result.stops.back().whole) result.stops.back().stop_at = victim.surplus_stop;
  }
  result.missing = to_free(loan, branch);
  result.due = due(r);
  result.spare = room(r);
  for (const QuotaLedger::DueRoom& each : result.due) result.spare -= each.amount;
  return result;
}

void LoanReturnPlanner::release(const RunningJob& run, const std::vector<std::size_t>& order, std::size_t level) {
  const bool is_whole = level == run.tasks.size();
  for (std::size_t i = 0; i < level; ++i) (void)state_.ledger().release(run.tasks[is_whole ? i : order[i]].holding);
}

// The lender's waiting jobs that its quota has room for, one after the other, where they would start.
std::vector<Reservation> LoanReturnPlanner::started_of(std::int32_t lender, std::size_t resource) {
  std::int64_t left = unused_quota(lender, resource);
  std::vector<Reservation> started;
  for (const Job& job : waiting_) {
    const std::int64_t wish = needs_the_end(job, lender) ? wish_of(*then_, job, resource) : 0;
    if (wish <= 0 || wish > left) continue;
    const JobOutcome outcome = state_.placer().place_job(gang_of(job));
    if (!outcome.started) continue;
    left -= wish;
    started.push_back({.job = job.id,
                       .kind = ReservationKind::kEviction,
                       .made_at = now_,
                       .expected = now_,
                       .tasks = reserved_tasks(outcome.placed, state_.cluster())});
  }
  return started;
}

// The same if the victims that are to be told now were gone, and nobody else.
std::vector<Reservation> LoanReturnPlanner::started_without(const LoanTerms& loan, std::int32_t lender,
                                                            std::span<const LoanVictim> victims) {
  const Ledger::Checkpoint before = state_.ledger().checkpoint();
  for (const LoanVictim& victim : victims) {
    if (!victim.was_told) release(*victim.run, victim.surplus, victim.level);
  }
  std::vector<Reservation> started = started_of(lender, static_cast<std::size_t>(loan.resource));
  state_.ledger().rollback(before);
  return started;
}

// More of the lender's jobs find room on the nodes with the victims gone, of all that still runs then.
bool LoanReturnPlanner::serves(const LoanTerms& loan, std::int32_t lender, std::span<const LoanVictim> victims) {
  const auto r = static_cast<std::size_t>(loan.resource);
  Ledger& ledger = state_.ledger();
  const Ledger::Checkpoint before = ledger.checkpoint();
  for (const RunningJob& run : state_.running().all()) {
    const auto gone = gone_.find(run.job.id);
    const Seconds end = run.makes_room_for_a_job() ? run.stop_at : untold_end_of(run, state_.rules(), now_);
    if (gone != gone_.end()) {
      release(run, surplus_tasks(run), gone->second);
    } else if (end <= due_at(loan)) {
      release(run, {}, run.tasks.size());
    }
  }
  const Ledger::Checkpoint with_victims = ledger.checkpoint();
  const std::size_t beside = started_of(lender, r).size();
  ledger.rollback(with_victims);
  for (const LoanVictim& victim : victims) release(*victim.run, victim.surplus, victim.level);
  const std::size_t without = started_of(lender, r).size();
  ledger.rollback(before);
  return without > beside;
}

LoanStop LoanReturnPlanner::stop_of(const LoanVictim& victim) const {
  LoanStop stop{.job = victim.run->job.id,
                .whole = victim.level == victim.all(),
                .tasks = {},
                .stop_at = victim.stop,
                .lost = lost_at(victim, victim.level),
                .was_told = victim.was_told};
  if (stop.whole) return stop;
  for (std::size_t i = 0; i < victim.level; ++i) {
    const RunningTask& task = victim.run->tasks[victim.surplus[i]];
    stop.tasks.push_back({task.group, task.task});
  }
  return stop;
}

// No loan needs it any more, and it has not begun to write its last checkpoint for one that is over.
bool may_run_on(const RunningJob& run, std::span<const LoanReturn> returns, Seconds now) {
  bool is_over = true;
  for (const LoanReturn& each : returns) {
    if (std::ranges::find(each.stops, run.job.id, &LoanStop::job) != each.stops.end()) return false;
    is_over = is_over && (each.loan.id != run.stops_for || each.loan.until <= now);
  }
  return !is_over || run.stop_at - now > run.job.eviction.checkpoint_grace + run.end_delay;
}

// What lenders own and do not use, of the loans that are over since the last round, is not borrowed anew in this one.
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

}  // namespace

std::vector<LoanReturn> plan_loan_returns(RoundState& state, std::span<const Job> waiting, Seconds now, Seconds ahead) {
  return LoanReturnPlanner(state, waiting, now, ahead).plan();
}

Status return_loans(RoundState& state, std::span<const Job> waiting, Seconds now, LoanStops& stops) {
  const std::vector<LoanReturn> returns = plan_loan_returns(state, waiting, now);
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
  for (const LoanReturn& each : returns) {
    if (each.loan.until <= now) continue;
    state.quotas().keep_from(static_cast<std::size_t>(each.loan.resource), each.loan.until, each.spare, each.due);
  }
  keep_what_came_back(state, now);
  return {};
}

}  // namespace berth
