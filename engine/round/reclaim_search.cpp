// Whom to evict for a job, and whether the rules allow it: see reclaim.h.
#include <algorithm>

#include "engine/round/quota_placing.h"
#include "engine/round/reclaim.h"
#include "engine/round/room_search.h"

namespace berth {

namespace {

constexpr int kMostTries = 16;           // of placing one job
constexpr std::size_t kMostSpares = 16;  // victims that are each left out for a try

}  // namespace

// Victims whose use stands in the way of the quota, until the gang is admitted, and within the quotas that it is to
// stay within.
bool Reclaim::make_room_in_quota(const Wanted& wanted, const Reaches& reaches, VictimChoice& choice) {
  const auto judge = [&] { return state_.quotas().judge(wanted.job.queue, wanted.demand, wanted.end); };
  QuotaVerdict verdict = judge();
  bool has_helped = false;
  const auto raise_if_it_helps = [&](std::size_t i, std::size_t level) {
    const std::size_t before = choice.level(i);
    if (level <= before || !choice.raise(i, level)) return;
    const QuotaVerdict now = judge();
    const bool helps = now.within(wanted.within) || now.queue != verdict.queue || now.resource != verdict.resource ||
                       now.short_by < verdict.short_by || now.borrow_depth > verdict.borrow_depth ||
                       now.borrowed != verdict.borrowed || now.borrowed_by < verdict.borrowed_by;
    if (helps) {
      verdict = now;
      has_helped = true;
    } else {
      choice.lower(i, before);
    }
  };
  // A verdict names one resource: who holds another is looked at again when that one has enough.
  do {
    has_helped = false;
    for (std::size_t i = 0; i < index_->size() && !verdict.within(wanted.within); ++i) {
      if (reaches.of[i] == VictimReach::kNone) continue;
      for (std::size_t level = 1; level <= (*index_)[i].surplus && !verdict.within(wanted.within); ++level)
        raise_if_it_helps(i, level);
    }
    for (std::size_t i = 0; i < index_->size() && !verdict.within(wanted.within); ++i) {
      if (reaches.of[i] == VictimReach::kAll) raise_if_it_helps(i, (*index_)[i].all());
    }
  } while (has_helped && !verdict.within(wanted.within));
  return verdict.within(wanted.within);
}

std::optional<JobOutcome> Reclaim::search(const Wanted& wanted, const Reaches& reaches, VictimChoice& choice) {
  if (!make_room_in_quota(wanted, reaches, choice)) return std::nullopt;
  RoomSearch search(state_, *index_, reaches.of, choice, now_);
  const std::span<const TaskGroup> parts = wanted.parts.empty() ? std::span(wanted.gang.groups) : wanted.parts;
  for (const TaskGroup& part : parts) {
    if (!search.make_room(part)) return std::nullopt;
  }
  Ledger& ledger = state_.ledger();
  const Ledger::Checkpoint before = ledger.checkpoint();
  for (int tries = 0; tries < kMostTries; ++tries) {
    JobOutcome outcome = try_placing(wanted, choice);
    if (outcome.started) {
      outcome = spare(wanted, choice, std::move(outcome), before);
      const Amounts taken = state_.held_by(outcome.placed);
      const bool is_allowed = !choice.chosen().empty() && keeps_the_rules(wanted.gang, taken, wanted.end, choice);
      ledger.rollback(before);
      return is_allowed ? std::optional(std::move(outcome)) : std::nullopt;
    }
    const auto lacking = static_cast<std::size_t>(wanted.parts.empty() ? outcome.group : tries);
    if (!search.make_one_more(parts[lacking % parts.size()])) return std::nullopt;
  }
  return std::nullopt;
}

JobOutcome Reclaim::try_placing(const Wanted& wanted, const VictimChoice& choice) {
  Ledger& ledger = state_.ledger();
  const Ledger::Checkpoint before = ledger.checkpoint();
  for (const std::size_t victim : choice.chosen()) {
    for (std::size_t i = 0; i < choice.level(victim); ++i) {
      (void)ledger.release((*index_)[victim].tasks[i].holding);
    }
  }
  QuotaPlacing placing = place_within_quota(
      state_.quotas(), ledger, wanted.gang, wanted.end,
      [&](const Job& part, bool) { return state_.placer().place_job(part); }, wanted.within);
  if (!placing.outcome.started) ledger.rollback(before);
  return std::move(placing.outcome);
}

// First those whose place the job did not take; then each other one for whose sake it could lie elsewhere.
JobOutcome Reclaim::spare(const Wanted& wanted, VictimChoice& choice, JobOutcome outcome, Ledger::Checkpoint before) {
  Ledger& ledger = state_.ledger();
  QuotaLedger& quotas = state_.quotas();
  const Amounts taken = state_.held_by(outcome.placed);
  std::vector<std::size_t> dearest_first = choice.chosen();
  std::ranges::sort(dearest_first, std::greater<>());
  for (const std::size_t v : dearest_first) {
    const Victim& victim = (*index_)[v];
    const auto may_stay = [&](std::size_t from, std::size_t to) {
      const Ledger::Checkpoint here = ledger.checkpoint();
      bool fits = true;
      for (std::size_t i = from; i < to && fits; ++i) fits = ledger.place(victim.tasks[i].holding).ok();
      const Amounts held = index_->amounts(state_, v, from, to);
      quotas.take(victim.queue, held);
      fits = fits && quotas.judge(wanted.job.queue, taken, wanted.end).within(wanted.within);
      quotas.give_back(victim.queue, held);
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
  if (choice.chosen().size() > kMostSpares) return outcome;
  dearest_first = choice.chosen();
  std::ranges::sort(dearest_first, std::greater<>());
  for (const std::size_t v : dearest_first) {
    if (choice.chosen().size() == 1) break;  // without any it did not fit
    const std::size_t level = choice.level(v);
    ledger.rollback(before);
    choice.lower(v, 0);
    JobOutcome without = try_placing(wanted, choice);
    if (without.started) {
      outcome = std::move(without);
      continue;
    }
    choice.raise(v, level);
  }
  return outcome;
}

bool Reclaim::keeps_the_rules(const Job& job, const Amounts& taken, Seconds end, const VictimChoice& choice) {
  QuotaLedger& quotas = state_.quotas();
  std::uint32_t lost_marks = 0;  // of jobs of the same queue
  for (const std::size_t v : choice.chosen()) {
    const Victim& victim = (*index_)[v];
    if (victim.queue == job.queue) {
      if (choice.level(v) == victim.all()) lost_marks |= victim.marks & ((1u << kMarkedDepths) - 1);
      continue;
    }
    const std::uint32_t marks = choice.level(v) <= victim.surplus ? victim.marks >> kMarkedDepths : victim.marks;
    if (!quotas.may_reclaim(job.queue, taken, victim.queue, marks, end, beside_)) return false;
  }
  if (lost_marks == 0) return true;
  // The marks that the job will get once the victims are gone.
  const auto for_each_gone = [&](const auto& visit) {
    for (const std::size_t v : choice.chosen()) {
      if (choice.level(v) == (*index_)[v].all()) visit(*state_.running().find((*index_)[v].job));
    }
  };
  for_each_gone([&](const RunningJob& run) { state_.unmark(run.job.queue, state_.held_by(run), run.quota_mark); });
  const std::uint32_t gained = quotas.mark(job.queue, taken);
  quotas.unmark(job.queue, taken, gained);
  for_each_gone([&](const RunningJob& run) { state_.mark(run.job.queue, state_.held_by(run), 0, run.quota_mark); });
  return (lost_marks & ~gained) == 0;
}

}  // namespace berth
