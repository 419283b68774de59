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

bool is_chosen(const LoanVictim& victim) { return victim.level > 0; }

class LoanReturnPlanner {
 public:
  LoanReturnPlanner(RoundState& state, std::span<const Job> waiting, Seconds now, Seconds ahead,
                    const StartsThen& starts_then)
      : state_(state), waiting_(waiting), now_(now), ahead_(ahead), starts_then_(starts_then) {
    for (const Queue& queue : state.setup().queues) lost_.push_back(queue.lost_this_hour);
    lost_.push_back(0);
  }

  Result<std::vector<LoanReturn>> plan() {
    std::vector<LoanReturn> returns;
    for (const LoanTerms& loan : due_loans()) returns.push_back(plan_one(loan));
    if (!trial_.ok()) return trial_;
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
  void choose(const LoanTerms& loan, std::int32_t branch, std::vector<LoanVictim>& victims, LoanVictim* first);
  void choose_who_serves(const LoanTerms& loan, std::int32_t branch, std::vector<LoanVictim>& victims);
  void spare_needless(const LoanTerms& loan, std::vector<LoanVictim>& victims);
  void raise(const LoanTerms& loan, std::int32_t branch, LoanVictim& victim, std::size_t level);
  void move(LoanVictim& victim, std::size_t level);
  enum class On { kAnyNode, kNodesThatAreUp };
  Amounts held_between(const LoanVictim& victim, std::size_t from, std::size_t to, On on = On::kAnyNode) const;
  void count(const LoanVictim& victim, std::size_t from, std::size_t to, std::int64_t sign);
  std::int64_t lost_at(const LoanVictim& victim, std::size_t level) const;
  Seconds looked_at(const LoanTerms& loan) const;
  bool is_over(const LoanTerms& loan) const { return loan.until <= now_; }
  // When what was lent is due back: the end of the loan, or now.
  Seconds due_at(const LoanTerms& loan) const { return std::max(now_, loan.until); }
  bool affords(const LoanVictim& victim, std::size_t level) const;
  LoanStop stop_of(const LoanVictim& victim) const;
  std::vector<std::int64_t> starts_with(const LoanTerms& loan, std::span<const LoanVictim> victims);
  std::vector<EndedPart> ended_by(const LoanTerms& loan) const;
  static EndedPart part_of(const RunningJob& run, const std::vector<std::size_t>& order, std::size_t level);
  std::vector<Reservation> started_of(std::int32_t lender, std::size_t resource);
  std::vector<Reservation> started_without(const LoanTerms& loan, std::int32_t lender,
                                           std::span<const LoanVictim> victims);
  void release(std::span<const EndedPart> parts);

  RoundState& state_;
  std::span<const Job> waiting_;
  Seconds now_;
  Seconds ahead_;
  const StartsThen& starts_then_;
  std::vector<std::int64_t> started_ = {};    // of the lender's jobs, with those that have been chosen
  Status trial_ = {};                         // of the last question to starts_then_
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
  then_.emplace(state_.cluster(), state_.setup().queues, quotas_at(state_.quotas().table(), end), end);
  for (const RunningJob& run : state_.running().all()) {
    if (state_.lasts_until(run) <= end) continue;
    const auto gone = gone_.find(run.job.id);
    LoanVictim rest{.run = &run, .surplus = surplus_tasks(run)};
    count(rest, gone == gone_.end() ? 0 : gone->second, rest.all(), 1);
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

Amounts LoanReturnPlanner::held_between(const LoanVictim& victim, std::size_t from, std::size_t to, On on) const {
  Amounts amounts = state_.quotas().none();
  const std::vector<RunningTask>& tasks = victim.run->tasks;
  std::vector<std::size_t> order = victim.surplus;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (std::ranges::find(victim.surplus, i) == victim.surplus.end()) order.push_back(i);
  }
  for (std::size_t i = from; i < to; ++i) {
    const Holding& holding = tasks[order[i]].holding;
    if (on == On::kAnyNode || state_.is_on_an_up_node(holding)) state_.quotas().add_holding(holding, amounts);
  }
  return amounts;
}

// Those tasks run at the end of the loan (`sign` 1), or do not (-1).
void LoanReturnPlanner::count(const LoanVictim& victim, std::size_t from, std::size_t to, std::int64_t sign) {
  const Amounts all = held_between(victim, from, to);
  Amounts elsewhere = held_between(victim, from, to, On::kNodesThatAreUp);
  for (std::size_t r = 0; r < all.size(); ++r) elsewhere[r] = all[r] - elsewhere[r];
  then_->add_capacity(elsewhere, sign);
  if (sign > 0) {
    then_->take(victim.run->job.queue, all);
  } else {
    then_->give_back(victim.run->job.queue, all);
  }
}

std::int64_t LoanReturnPlanner::lost_at(const LoanVictim& victim, std::size_t level) const {
  if (level == victim.all()) return lost_work(*victim.run, victim.stop);
  std::int64_t lost = 0;
  for (std::size_t i = 0; i < level; ++i)
    lost += lost_work(*victim.run, victim.run->tasks[victim.surplus[i]], victim.surplus_stop, Stops::kAlone);
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
  if (level > victim.level) count(victim, victim.level, level, -1);
  if (level < victim.level) count(victim, level, victim.level, 1);
  victim.level = level;
}

void LoanReturnPlanner::raise(const LoanTerms& loan, std::int32_t branch, LoanVictim& victim, std::size_t level) {
  const auto r = static_cast<std::size_t>(loan.resource);
  if (!uses_more_than_its_own(victim.run->job.queue, branch, r) || !affords(victim, level)) return;
  if (held_between(victim, victim.level, level, On::kNodesThatAreUp)[r] > 0) move(victim, level);
}

// When a round first looks at it.
Seconds LoanReturnPlanner::looked_at(const LoanTerms& loan) const {
  return std::max(now_, loan.until - loan.return_grace);
}

bool share_a_node(const LoanVictim& one, const LoanVictim& other) {
  return std::ranges::any_of(one.run->tasks, [&](const RunningTask& task) {
    return std::ranges::find(other.run->tasks, task.holding.node,
                             [](const RunningTask& each) { return each.holding.node; }) != other.run->tasks.end();
  });
}

// As few as suffice by amount, those that were told first, then those on the nodes of `first`.
void LoanReturnPlanner::choose(const LoanTerms& loan, std::int32_t branch, std::vector<LoanVictim>& victims,
                               LoanVictim* first) {
  const auto is_enough = [&] { return to_free(loan, branch) == 0; };
  for (LoanVictim& victim : victims) {
    const bool comes_first = victim.was_told || (first != nullptr && share_a_node(victim, *first));
    if (comes_first && !is_enough()) raise(loan, branch, victim, victim.all());
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
}

// How often choose_who_serves and spare_needless each try others.
constexpr std::size_t kMostTried = 32;

// Those that suffice by amount may free parts of several nodes, where the lender's jobs do not fit. Then those on one
// node go first. Nobody is chosen where no more of the lender's jobs start; started_ says which start.
void LoanReturnPlanner::choose_who_serves(const LoanTerms& loan, std::int32_t branch,
                                          std::vector<LoanVictim>& victims) {
  const std::size_t beside = starts_with(loan, {}).size();
  const auto serve = [&](LoanVictim* first) {
    for (LoanVictim& victim : victims) move(victim, 0);
    choose(loan, branch, victims, first);
    if (std::ranges::none_of(victims, is_chosen)) return false;
    started_ = starts_with(loan, victims);
    return started_.size() > beside;
  };
  bool do_serve = serve(nullptr);
  const std::size_t others = is_over(loan) ? 0 : std::min(victims.size(), kMostTried);
  for (std::size_t i = 0; i < others && !do_serve; ++i) do_serve = !victims[i].was_told && serve(&victims[i]);
  if (do_serve) return spare_needless(loan, victims);
  for (LoanVictim& victim : victims) move(victim, 0);
}

// Whom it takes not for as many of the lender's jobs to start, the dearest first.
void LoanReturnPlanner::spare_needless(const LoanTerms& loan, std::vector<LoanVictim>& victims) {
  const std::size_t most = started_.size();
  std::size_t tries = kMostTried;
  for (auto victim = victims.rbegin(); victim != victims.rend(); ++victim) {
    for (bool is_spared = true; is_spared && victim->level > 0 && tries > 0; --tries) {
      const std::size_t level = victim->level;
      move(*victim, level == victim->all() ? 0 : level - 1);
      std::vector<std::int64_t> started = starts_with(loan, victims);
      is_spared = started.size() >= most;
      if (is_spared) started_ = std::move(started);
      if (!is_spared) move(*victim, level);
    }
  }
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
  if (!victims.empty()) choose_who_serves(loan, branch, victims);
  if (std::ranges::any_of(victims, is_chosen)) result.starts = started_without(loan, lender, victims);
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

void LoanReturnPlanner::release(std::span<const EndedPart> parts) {
  for (const EndedPart& part : parts) {
    for (const RunningTask& task : state_.running().find(part.job)->tasks) {
      const TaskName name{task.group, task.task};
      if (part.tasks.empty() || std::ranges::find(part.tasks, name) != part.tasks.end())
        (void)state_.ledger().release(task.holding);
    }
  }
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
  std::vector<EndedPart> parts;
  for (const LoanVictim& victim : victims) {
    if (is_chosen(victim) && !victim.was_told) parts.push_back(part_of(*victim.run, victim.surplus, victim.level));
  }
  release(parts);
  std::vector<Reservation> started = started_of(lender, static_cast<std::size_t>(loan.resource));
  std::erase_if(started,
                [&](const Reservation& each) { return std::ranges::find(started_, each.job) == started_.end(); });
  state_.ledger().rollback(before);
  return started;
}

// What runs no more at the end of the loan, beside the victims.
std::vector<EndedPart> LoanReturnPlanner::ended_by(const LoanTerms& loan) const {
  std::vector<EndedPart> ended;
  for (const RunningJob& run : state_.running().all()) {
    const auto gone = gone_.find(run.job.id);
    if (gone != gone_.end()) {
      ended.push_back(part_of(run, surplus_tasks(run), gone->second));
    } else if (state_.lasts_until(run) <= due_at(loan)) {
      ended.push_back({.job = run.job.id});
    }
  }
  return ended;
}

EndedPart LoanReturnPlanner::part_of(const RunningJob& run, const std::vector<std::size_t>& order, std::size_t level) {
  EndedPart part{.job = run.job.id};
  if (level == run.tasks.size()) return part;
  for (std::size_t i = 0; i < level; ++i) part.tasks.push_back({run.tasks[order[i]].group, run.tasks[order[i]].task});
  return part;
}

// The lender's waiting jobs that a round at the end of the loan would start, with the victims gone. Where no round can
// be played: those that find room on the nodes.
std::vector<std::int64_t> LoanReturnPlanner::starts_with(const LoanTerms& loan, std::span<const LoanVictim> victims) {
  const std::int32_t lender = branch_of(loan.lender, then_->fork_depth(loan.lender, loan.borrower));
  std::vector<EndedPart> ended = ended_by(loan);
  for (const LoanVictim& victim : victims) {
    if (is_chosen(victim)) ended.push_back(part_of(*victim.run, victim.surplus, victim.level));
  }
  std::vector<std::int64_t> started;
  if (!starts_then_) {
    const Ledger::Checkpoint before = state_.ledger().checkpoint();
    release(ended);
    for (const Reservation& start : started_of(lender, static_cast<std::size_t>(loan.resource)))
      started.push_back(start.job);
    state_.ledger().rollback(before);
    return started;
  }
  if (!trial_.ok()) return started;
  const Result<std::vector<std::int64_t>> then = starts_then_(due_at(loan), ended);
  trial_ = then.status();
  if (!then.ok()) return started;
  for (const Job& job : waiting_) {
    if (needs_the_end(job, lender) && std::ranges::binary_search(*then, job.id)) started.push_back(job.id);
  }
  return started;
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

}  // namespace

Result<std::vector<LoanReturn>> plan_loan_returns(RoundState& state, std::span<const Job> waiting, Seconds now,
                                                  const StartsThen& starts_then, Seconds ahead) {
  return LoanReturnPlanner(state, waiting, now, ahead, starts_then).plan();
}

}  // namespace berth
