// Whom to evict for a job, and whether the rules allow it: see reclaim.h.
#include <algorithm>
#include <iterator>

#include "engine/round/loan_trial.h"
#include "engine/round/quota_placing.h"
#include "engine/round/reclaim.h"
#include "engine/round/room_search.h"

namespace berth {

namespace {

constexpr int kMostTries = 16;           // of placing one job
constexpr std::size_t kMostSpares = 16;  // victims that are each left out for a try

}  // namespace

bool Reclaim::is_nearer(const QuotaVerdict& now, const QuotaVerdict& before) {
  return now.admitted() || now.queue != before.queue || now.resource != before.resource ||
         now.short_by < before.short_by;
}

// Victims whose use stands in the way of the quota, until the gang is admitted.
bool Reclaim::make_room_in_quota(const Wanted& wanted, const Reaches& reaches, VictimChoice& choice) {
  const auto judge = [&] { return state_.quotas().judge(wanted.job.queue, wanted.demand, wanted.end); };
  QuotaVerdict verdict = judge();
  bool has_helped = false;
  const auto raise_if_it_helps = [&](std::size_t i, std::size_t level) {
    const std::size_t before = choice.level(i);
    if (level <= before || !choice.raise(i, level)) return;
    const QuotaVerdict now = judge();
    if (is_nearer(now, verdict)) {
      verdict = now;
      has_helped = true;
    } else {
      choice.lower(i, before);
    }
  };
  // A verdict names one resource: who holds another is looked at again when that one has enough.
  do {
    has_helped = false;
    for (std::size_t i = 0; i < index_->size() && !verdict.admitted(); ++i) {
      if (reaches.of[i] == VictimReach::kNone) continue;
      for (std::size_t level = 1; level <= (*index_)[i].surplus && !verdict.admitted(); ++level)
        raise_if_it_helps(i, level);
    }
    for (std::size_t i = 0; i < index_->size() && !verdict.admitted(); ++i) {
      if (reaches.of[i] == VictimReach::kAll) raise_if_it_helps(i, (*index_)[i].all());
    }
  } while (has_helped && !verdict.admitted());
  return verdict.admitted();
}

std::optional<JobOutcome> Reclaim::search(const Wanted& wanted, const Reaches& reaches, VictimChoice& choice) {
  if (!make_room_in_quota(wanted, reaches, choice)) return std::nullopt;
  RoomSearch search(state_, *index_, reaches.of, choice, now_);
  for (const TaskGroup& group : wanted.groups) {
    if (!search.make_room(group)) return std::nullopt;
  }
  Ledger& ledger = state_.ledger();
  const Ledger::Checkpoint before = ledger.checkpoint();
  for (int tries = 0; tries < kMostTries; ++tries) {
    end_chosen(choice);
    std::int32_t lacking = 0;
    std::optional<JobOutcome> outcome = place(wanted, [&](const JobOutcome& tried) {
      lacking = tried.group;
      return tried.started;
    });
    if (outcome && choice.chosen().size() > kMostSpares) spare_unused(wanted, choice, *outcome);
    ledger.rollback(before);
    if (!outcome) {
      if (!search.make_one_more(wanted.groups[static_cast<std::size_t>(lacking)])) return std::nullopt;
      continue;
    }
    if (choice.chosen().size() <= kMostSpares) {
      end_chosen(choice);
      spare_all(wanted, choice, *outcome);
      ledger.rollback(before);
    }
    const bool is_allowed =
        !choice.chosen().empty() && keeps_the_rules(wanted.gang, state_.held_by(outcome->placed), wanted.end, choice);
    return is_allowed ? std::move(outcome) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<JobOutcome> Reclaim::search_among_all(const Wanted& wanted, const Reaches& reaches,
                                                    VictimChoice& choice) {
  for (std::size_t v = 0; v < index_->size(); ++v) {
    const std::size_t surplus = (*index_)[v].surplus;
    const std::size_t most = (*index_)[v].in_reach(reaches.of[v]);
    if (most > 0 && !choice.raise(v, most) && surplus > 0 && surplus < most) (void)choice.raise(v, surplus);
  }
  Ledger& ledger = state_.ledger();
  const Ledger::Checkpoint before = ledger.checkpoint();
  end_chosen(choice);
  std::optional<JobOutcome> outcome = fit(wanted, choice);
  if (outcome) spare_all(wanted, choice, *outcome);
  ledger.rollback(before);
  return outcome;
}

void Reclaim::end_chosen(const VictimChoice& choice) {
  for (const std::size_t v : choice.chosen()) {
    for (std::size_t i = 0; i < choice.level(v); ++i) (void)state_.ledger().release((*index_)[v].tasks[i].holding);
  }
}

JobOutcome Reclaim::try_placing(const Wanted& wanted, QuotaLedger& quotas, std::uint32_t own) {
  Ledger& ledger = state_.ledger();
  const Ledger::Checkpoint before = ledger.checkpoint();
  const auto place = [&](const Job& part, bool) { return state_.placer().place_job(part); };
  JobOutcome outcome = place_within_quota(quotas, ledger, wanted.gang, wanted.end, place, own).outcome;
  ledger.rollback(before);
  return outcome;
}

std::optional<JobOutcome> Reclaim::place(const Wanted& wanted, const std::function<bool(const JobOutcome&)>& is_good) {
  QuotaLedger& quotas = state_.quotas();
  // Which models it takes decides whether the rules are kept.
  std::vector<std::uint32_t> all_own;
  if (quotas.choices_of(wanted.gang) != 0) all_own.push_back(~0u);
  if (!all_own.empty() && wanted.own != 0) all_own.push_back(wanted.own);
  all_own.push_back(0);
  for (const std::uint32_t own : all_own) {
    JobOutcome outcome = try_placing(wanted, quotas, own);
    if (is_good(outcome)) return outcome;
  }
  return std::nullopt;
}

std::optional<JobOutcome> Reclaim::fit(const Wanted& wanted, const VictimChoice& choice) {
  if (choice.chosen().empty()) return std::nullopt;
  const auto is_good = [&](const JobOutcome& outcome) {
    if (!outcome.started) return false;
    const Amounts taken = state_.held_by(outcome.placed);
    const QuotaVerdict verdict = state_.quotas().judge(wanted.job.queue, taken, wanted.end);
    return verdict.admitted() && !(wanted.as_owner && verdict.borrows) &&
           keeps_the_rules(wanted.gang, taken, wanted.end, choice);
  };
  std::optional<JobOutcome> outcome = place(wanted, is_good);
  return outcome ? std::move(outcome) : fit_before_lower(wanted, choice, is_good);
}

// On the models of its quotas, as if lower classes of its queue, which give it their marks, used nothing of them.
std::optional<JobOutcome> Reclaim::fit_before_lower(const Wanted& wanted, const VictimChoice& choice,
                                                    const std::function<bool(const JobOutcome&)>& is_good) {
  if (state_.quotas().choices_of(wanted.gang) == 0) return std::nullopt;
  const std::vector<const RunningJob*> lower = state_.marked_below(wanted.job);
  if (lower.empty()) return std::nullopt;
  QuotaLedger then = state_.quotas();
  for (const RunningJob* const run : lower) then.give_back(run->job.queue, state_.held_by(*run).all);
  for (const std::size_t v : choice.chosen()) {
    const Victim& victim = (*index_)[v];
    if (std::ranges::any_of(lower, [&](const RunningJob* run) { return run->job.id == victim.job; }))
      then.take(victim.queue, index_->amounts(state_, v, 0, choice.level(v)));  // gone already
  }
  JobOutcome outcome = try_placing(wanted, then, ~0u);
  return is_good(outcome) ? std::optional(std::move(outcome)) : std::nullopt;
}

// Those whose place the job does not take.
void Reclaim::spare_unused(const Wanted& wanted, VictimChoice& choice, const JobOutcome& outcome) {
  Ledger& ledger = state_.ledger();
  QuotaLedger& quotas = state_.quotas();
  const Amounts taken = state_.held_by(outcome.placed);
  for (const PlacedTask& task : outcome.placed) (void)ledger.place(task.holding);
  std::vector<std::size_t> dearest_first = choice.chosen();
  std::ranges::sort(dearest_first, std::greater<>());
  for (const std::size_t v : dearest_first) {
    const Victim& victim = (*index_)[v];
    const auto may_stay = [&](std::size_t from, std::size_t to) {
      const Ledger::Checkpoint here = ledger.checkpoint();
      bool fits = true;
      for (std::size_t i = from; i < to && fits; ++i) fits = ledger.place(victim.tasks[i].holding).ok();
      const Amounts held = index_->amounts(state_, v, from, to);
      quotas.take(victim.queue, held, victim.lasts_until);
      fits = fits && quotas.judge(wanted.job.queue, taken, wanted.end).admitted();
      quotas.give_back(victim.queue, held, victim.lasts_until);
      if (!fits) ledger.rollback(here);
      return fits;
    };
    const Ledger::Checkpoint with_all = ledger.checkpoint();
    const std::size_t chosen = choice.level(v);
    if (chosen > victim.surplus) {
      if (!may_stay(victim.surplus, chosen)) continue;
      choice.lower(v, victim.surplus);
    }
    for (std::size_t i = choice.level(v); i-- > 0;) {
      if (!may_stay(i, i + 1)) continue;
      index_->put_back(v, i, choice.level(v));
      choice.lower(v, choice.level(v) - 1);
    }
    if (chosen > victim.surplus && !choice.is_within_budget(v)) {
      ledger.rollback(with_all);
      (void)choice.raise(v, chosen);
    }
  }
}

// Whole jobs before surplus tasks, which are lost more lightly.
void Reclaim::spare_all(const Wanted& wanted, VictimChoice& choice, JobOutcome& outcome) {
  for (const Spare what : {Spare::kGang, Spare::kAll}) {
    std::vector<std::size_t> dearest_first;
    for (const std::size_t v : choice.chosen()) {
      if (what == Spare::kAll ? choice.level(v) <= (*index_)[v].surplus : choice.level(v) > (*index_)[v].surplus)
        dearest_first.push_back(v);
    }
    std::ranges::sort(dearest_first, std::greater<>());
    if (!dearest_first.empty()) spare_some(wanted, dearest_first, what, choice, outcome);
  }
}

// Of these the gangs, or all that was chosen, stay in their places if that is good. Else everything is as before.
bool Reclaim::leave_out(std::span<const std::size_t> victims, Spare what, VictimChoice& choice,
                        const std::function<bool()>& is_good) {
  Ledger& ledger = state_.ledger();
  const Ledger::Checkpoint here = ledger.checkpoint();
  const std::vector<std::size_t> levels = choice.levels();
  bool fits = true;
  for (const std::size_t v : victims) {
    const Victim& victim = (*index_)[v];
    const std::size_t level = what == Spare::kGang ? std::min(levels[v], victim.surplus) : 0;
    for (std::size_t i = level; i < levels[v]; ++i) fits = ledger.place(victim.tasks[i].holding).ok() && fits;
    choice.lower(v, level);
  }
  const auto is_within_budget = [&](std::size_t v) { return choice.is_within_budget(v); };
  if (fits && std::ranges::all_of(victims, is_within_budget) && is_good()) return true;
  ledger.rollback(here);
  choice.restore(levels);
  return false;
}

// All of them at once; where that will not do, each half of them.
void Reclaim::spare_some(const Wanted& wanted, std::span<const std::size_t> victims, Spare what, VictimChoice& choice,
                         JobOutcome& outcome) {
  const auto still_fits = [&] {
    std::optional<JobOutcome> without = fit(wanted, choice);
    if (without) outcome = *std::move(without);
    return without.has_value();
  };
  if (leave_out(victims, what, choice, still_fits)) return;
  if (victims.size() > 1) {
    const std::size_t half = victims.size() / 2;
    spare_some(wanted, victims.first(half), what, choice, outcome);
    spare_some(wanted, victims.subspan(half), what, choice, outcome);
  } else if (what == Spare::kAll) {
    spare_tasks(wanted, victims.front(), choice, outcome);
  }
}

void Reclaim::spare_tasks(const Wanted& wanted, std::size_t v, VictimChoice& choice, JobOutcome& outcome) {
  Ledger& ledger = state_.ledger();
  for (std::size_t i = choice.level(v); i-- > 0 && choice.level(v) > 1;) {
    const Ledger::Checkpoint with_it = ledger.checkpoint();
    const std::size_t level = choice.level(v);
    (void)ledger.place((*index_)[v].tasks[i].holding);
    index_->put_back(v, i, level);
    choice.lower(v, level - 1);
    if (std::optional<JobOutcome> without = fit(wanted, choice)) {
      outcome = *std::move(without);
      continue;
    }
    ledger.rollback(with_it);
    (void)choice.raise(v, level);
  }
}

// The job may use its place because it is an owner once the victims have gone. A victim that is not in that place runs
// on if the quota lets the job start beside it: the victim then borrows.
void Reclaim::spare_out_of_place(const Wanted& wanted, const JobOutcome& outcome, VictimChoice& choice) {
  const Amounts taken = state_.held_by(outcome.placed);
  const auto is_allowed = [&] {
    return state_.quotas().judge(wanted.job.queue, taken, wanted.end).admitted() &&
           keeps_the_rules(wanted.gang, taken, wanted.end, choice);
  };
  Ledger& ledger = state_.ledger();
  const Ledger::Checkpoint before = ledger.checkpoint();
  end_chosen(choice);
  for (const PlacedTask& task : outcome.placed) (void)ledger.place(task.holding);
  std::vector<std::size_t> dearest_first = choice.chosen();
  std::ranges::sort(dearest_first, std::greater<>());
  if (!leave_out(dearest_first, Spare::kAll, choice, is_allowed)) {
    for (const std::size_t& v : dearest_first) {
      if (!leave_out({&v, 1}, Spare::kAll, choice, is_allowed))
        (void)leave_out({&v, 1}, Spare::kGang, choice, is_allowed);
    }
  }
  ledger.rollback(before);
}

bool Reclaim::holds_until_then(const Wanted& wanted, const Amounts& taken, const VictimChoice& choice) const {
  const Seconds then = choice.last_stop();
  if (then <= now_) return true;
  const Seconds end = std::max(wanted.end, last_end_of(wanted.job, then));
  if (state_.quotas().looks_at_end() && end > wanted.end) {
    const QuotaVerdict verdict = state_.quotas().judge(wanted.job.queue, taken, end);
    if (!verdict.admitted() || (wanted.as_owner && verdict.borrows)) return false;
    if (!keeps_the_rules(wanted.gang, taken, end, choice)) return false;
  }
  return has_its_right_then(wanted, taken, then, choice) && choice.pays_for_surplus_then();
}

// By what holds then, where dates between change quotas, limits or loans; beside those who run on.
bool Reclaim::has_its_right_then(const Wanted& wanted, const Amounts& taken, Seconds then,
                                 const VictimChoice& choice) const {
  std::optional<QuotaLedger> quotas = quotas_then(state_, then);
  if (!quotas) return true;
  for (const std::size_t v : choice.chosen()) {
    const Victim& victim = (*index_)[v];
    if (victim.lasts_until > then)
      quotas->give_back(victim.queue, index_->amounts(state_, v, 0, choice.level(v)), victim.lasts_until);
  }
  const Job& job = wanted.job;
  const Seconds end = last_end_of(job, then);
  return quotas->judge(job.queue, taken, end).admitted() && std::ranges::all_of(choice.chosen(), [&](std::size_t v) {
           const std::int32_t queue = (*index_)[v].queue;
           return queue == job.queue || quotas->may_reclaim(job.queue, taken, queue, 0, end);
         });
}

bool Reclaim::keeps_the_rules(const Job& job, const Amounts& taken, Seconds end, const VictimChoice& choice) const {
  std::uint32_t lost_marks = 0;  // of jobs of the same queue
  for (const std::size_t v : choice.chosen()) {
    const Victim& victim = (*index_)[v];
    const bool is_whole = choice.level(v) > victim.surplus;
    if (victim.queue == job.queue) {
      if (is_whole) lost_marks |= victim.gang_marks();
      continue;
    }
    const std::uint32_t marks = is_whole ? victim.gang_marks() : victim.surplus_marks();
    if (!state_.quotas().may_reclaim(job.queue, taken, victim.queue, marks, end, beside_)) return false;
  }
  return lost_marks == 0 || (lost_marks & ~marks_without(choice, job, taken)) == 0;
}

}  // namespace berth
