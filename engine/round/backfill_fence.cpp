// Who gives way to whom, and what evictions keep off: see backfill.h.
#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

#include "engine/round/backfill.h"
#include "engine/round/reclaim.h"
#include "engine/round/reserved_room.h"
#include "engine/round/timeline.h"
#include "engine/round/victims.h"

namespace berth {

namespace {

// What is idle there: cpu and memory, then device by device.
std::vector<Holding> free_on(const Ledger& ledger, NodeIndex node) {
  const NodeView view = ledger.view(node);
  std::vector<Holding> idle(1 + view.milli.size());
  for (Holding& part : idle) part.node = node;
  idle.front().cpu = view.cpu;
  idle.front().memory = view.memory;
  for (std::size_t device = 0; device < view.milli.size(); ++device) {
    Holding& part = idle[1 + device];
    part.devices = DeviceMask{1} << device;
    part.gpu_milli = MilliGpu(view.milli[device]);
    part.gpu_memory = MiB(view.device_memory[device]);
  }
  return idle;
}

}  // namespace

bool Backfill::may_take_back() const {
  return closed_by_ != 0 && does_closer_borrow_ && state_.rules().preemption == Preemption::kReclaim;
}

bool Backfill::may_take_back(const Job& job) const {
  if (!may_take_back() || job.queue == closer_->queue) return false;
  if (!closed_queues_.empty() && closed_queues_[static_cast<std::size_t>(job.queue)].job != 0) return false;
  const QuotaLedger& quotas = state_.quotas();
  for (std::int32_t q = job.queue; q >= 0; q = state_.setup().queues[static_cast<std::size_t>(q)].parent) {
    if (closer_->queue < 0 || !quotas.lies_in(closer_->queue, q)) continue;
    for (std::size_t r = 0; r < quotas.resource_count(); ++r) {
      if (quotas.most(q, r, kNever) < kNoLimit) return false;
    }
  }
  return true;
}

bool Backfill::gives_way_as_first(const Job& job) const {
  const Seconds since = std::max(job.submit, job.eviction.last_eviction);
  return now_ < since + state_.rules().reservation_ttl || waits_for_late(job);
}

bool Backfill::closer_gives_way() const { return may_take_back() && closer_ && gives_way_as_first(*closer_); }

bool Backfill::is_late(const RunningJob& run) const {
  const Seconds end = believed_end_of({.start = run.start, .planned_end = run.planned_end()}, state_.rules());
  return end + state_.rules().reservation_ttl <= now_;
}

bool Backfill::shares_limits_with_late(const Job& job) const {
  const auto is_of_its_department = [&](const Job& other) {
    return job.queue >= 0 && other.queue >= 0 && state_.quotas().fork_depth(job.queue, other.queue) != 0;
  };
  return std::ranges::any_of(state_.running().all(),
                             [&](const RunningJob& run) { return is_late(run) && is_of_its_department(run.job); });
}

bool Backfill::waits_for_late(const Reservation& row) const {
  return std::ranges::any_of(state_.running().all(), [&](const RunningJob& run) {
    const auto is_in_the_way = [&](const RunningTask& task) {
      return lies_on(task.holding, row.tasks) ||
             (task.holding.devices == 0 && std::ranges::any_of(row.tasks, [&](const ReservedTask& reserved) {
                return reserved.holding.devices == 0 && reserved.holding.node == task.holding.node;
              }));
    };
    return is_late(run) && std::ranges::any_of(run.tasks, is_in_the_way);
  });
}

bool Backfill::waits_for_late(const Job& job) const {
  const auto [known, is_new] = waits_for_late_.try_emplace(job.id, false);
  if (!is_new || std::ranges::none_of(state_.running().all(), [&](const RunningJob& run) { return is_late(run); }))
    return known->second;
  Ledger& ledger = state_.ledger();
  const Ledger::Checkpoint before = ledger.checkpoint();
  for (const RunningJob& run : state_.running().all()) {
    if (is_late(run)) continue;
    for (const RunningTask& task : run.tasks) (void)ledger.release(task.holding);
  }
  known->second = !state_.placer().place_job(gang_of(job)).started;
  ledger.rollback(before);
  return known->second;
}

bool Backfill::comes_before(const Job& job, const Job& other) const {
  return order_ != nullptr && order_->keyed() != nullptr && order_->goes_first(job, other, *input_);
}

bool Backfill::comes_before_closer(const Job& job) const { return closer_ && comes_before(job, *closer_); }

bool Backfill::withstands(const Held& held, const Asker& asker) const {
  return is_guest_of(held, asker.job) && !gives_way_to(held, asker);
}

bool Backfill::keeps_for_borrower(const Held& held, const Asker& asker) const {
  return held.borrows && held.reservation.kind == ReservationKind::kBackfill && held.reservation.job != asker.job.id &&
         !gives_way_to(held, asker);
}

bool Backfill::is_kept_for_borrowers(const Asker& asker) const {
  return std::ranges::any_of(held_, [&](const Held& held) { return keeps_for_borrower(held, asker); });
}

bool Backfill::comes_before_borrowers(const Job& job, const Asker& asker) const {
  return std::ranges::all_of(held_, [&](const Held& held) {
    if (!keeps_for_borrower(held, asker)) return true;
    const Job* const holder = find_job(jobs_, held.reservation.job);
    return holder != nullptr && comes_before(job, *holder);
  });
}

bool Backfill::is_owner_against(const Asker& asker, std::int32_t queue) const {
  const QuotaLedger& quotas = state_.quotas();
  if (!asker.borrows) return true;
  if (!quotas.governs() || asker.job.queue < 0) return false;
  const int fork = quotas.fork_depth(asker.job.queue, queue);
  return (fork >= 0 && fork < asker.within) ||
         quotas.may_reclaim(asker.job.queue, quotas.demand_to_start(asker.job), queue, 0, last_end_of(asker.job, now_));
}

bool Backfill::is_closed_by_guest_of(const Asker& asker) const {
  return closer_ && is_owner_against(asker, closer_->queue);
}

bool Backfill::is_guest_of(const Held& held, const Job& job) const {
  if (!held.borrows || held.queue == job.queue) return false;
  const Amounts amounts = state_.held_by(held.reservation.tasks);
  return held.queue < 0 || !state_.quotas().governs() ||
         !state_.quotas().may_reclaim(held.queue, amounts, job.queue, 0, held.start + held.duration);
}

bool Backfill::gives_way_to(const Held& held, const Asker& asker) const {
  const Job* const holder =
      ranks_move_ && held.is_due && held.queue == asker.job.queue ? find_job(jobs_, held.reservation.job) : nullptr;
  if (holder != nullptr && goes_by_class(asker.job, *holder)) return true;
  if (!held.gives_way) return false;
  return (is_guest_of(held, asker.job) && is_owner_against(asker, held.queue)) || borrows_above(held, asker.job);
}

bool Backfill::borrows_above(const Held& held, const Job& job) const {
  const QuotaLedger& quotas = state_.quotas();
  if (!quotas.governs() || held.queue < 0 || job.queue < 0 || held.queue == job.queue) return false;
  const Seconds end = held.start + held.duration;
  if (quotas.fits_above_both(held.queue, job.queue, state_.held_by(held.reservation.tasks), end)) return false;
  const auto fits = [&](const Amounts& demand) {
    return quotas.fits_above_both(job.queue, held.queue, demand, last_end_of(job, now_));
  };
  ModelSet choices = quotas.choices_of(job);
  if (choices == 0) return fits(quotas.demand_to_start(job));
  // On whichever it is placed.
  for (; choices != 0; choices &= choices - 1) {
    if (!fits(quotas.demand_to_start_on(job, choices & -choices))) return false;
  }
  return true;
}

bool Backfill::gives_way_to(const QueueCloser& closer, const Job& job) const {
  const QuotaLedger& quotas = state_.quotas();
  const bool may_borrow = !closer.withstands && closer.queue >= 0 && closer.queue != job.queue && quotas.governs();
  return may_borrow && is_owner_against({.job = job, .borrows = true}, closer.queue) &&
         !quotas.may_reclaim(closer.queue, closer.demand, job.queue, 0, closer.end);
}

bool Backfill::binds(const Kept& kept, const Asker& asker) const {
  const Reservation& row = kept.reservation;
  if (row.job == asker.job.id) return false;
  const Job* const holder = find_job(jobs_, row.job);
  if (holder == nullptr) return true;
  const bool borrows = limits_.wants_to_borrow(*holder);
  const Held held{.reservation = row,
                  .start = now_,
                  .duration = end_of(*holder) - now_,
                  .borrows = borrows,
                  .gives_way = gives_way(borrows, row),
                  .queue = holder->queue};
  return !gives_way_to(held, asker);
}

bool Backfill::is_due_before(const Kept& kept, const Asker& asker) const {
  return kept.reservation.expected <= now_ && binds(kept, asker);
}

// What is pledged to the job itself does not stand in its way.
Backfill::Asker Backfill::asker_of_promise(const Job& job) const {
  const QuotaLedger& quotas = state_.quotas();
  const QuotaVerdict verdict = quotas.judge(job.queue, quotas.demand_to_start(job), last_end_of(job, now_));
  return {.job = job, .borrows = !verdict.admitted() || verdict.borrows};
}

bool Backfill::waits_for_its_victims(const Job& job) const {
  if (!holds_room_for(job.id)) return false;
  const Asker asker = asker_of_promise(job);
  if (state_.rules().keeps_order_of_all()) return !is_first_among_owners(asker);
  return std::ranges::any_of(kept_, [&](const Kept& kept) { return is_due_before(kept, asker); });
}

bool Backfill::is_first_among_owners(const Asker& asker) const {
  const QuotaLedger& quotas = state_.quotas();
  const Job& job = asker.job;
  if (!quotas.governs() || job.queue < 0) return false;
  if (ranks_move_) return closer_ && closer_gives_way() && is_closed_by_guest_of(asker);
  if (input_ == nullptr) return false;
  const bool is_per_queue = state_.rules().backfill == BackfillMode::kNonePerQueue;
  return std::ranges::none_of(input_->jobs, [&](const Job& other) {
    if (other.id == job.id || other.state == JobState::kRunning || !other.after.empty() || holds_room_for(other.id) ||
        state_.running().find(other.id) != nullptr || (is_per_queue && other.queue != job.queue) ||
        !comes_before(other, job))
      return false;
    const bool is_guest =
        other.queue != job.queue && other.queue >= 0 && is_owner_against(asker, other.queue) &&
        !quotas.may_reclaim(other.queue, quotas.demand_to_start(other), job.queue, 0, last_end_of(other, now_));
    return !is_guest || !gives_way_as_first(other);
  });
}

void Backfill::close_due_nodes(const Job& job, ClosedNodes& closed) const {
  const Asker asker = asker_of_promise(job);
  for (const Kept& kept : kept_) {
    if (!is_due_before(kept, asker)) continue;
    for (const ReservedTask& task : kept.reservation.tasks) closed.close(task.holding.node);
  }
}

Backfill::RowsBefore::RowsBefore(Backfill& backfill, const Job& job) : backfill_(backfill) {
  if (!backfill.holds_room_for(job.id) || backfill.state_.rules().keeps_order_of_all()) return;
  const Asker asker = backfill.asker_of_promise(job);
  for (const Kept& kept : backfill.kept_) {
    const Reservation& row = kept.reservation;
    const Job* const holder = find_job(backfill.jobs_, row.job);
    if (kept.is_settled || holder == nullptr || backfill.is_held(row.job) || !backfill.binds(kept, asker)) continue;
    if (backfill.ranks_move_ ? row.job != backfill.first_ : !backfill.comes_before(*holder, job)) continue;
    if (backfill.bind(row, *holder, backfill.limits_.wants_to_borrow(*holder), backfill.now_))
      bound_.push_back(row.job);
  }
}

Backfill::RowsBefore::~RowsBefore() {
  for (const std::int64_t job : bound_) backfill_.drop_held(job);
}

template <class Visit>
void Backfill::for_each_in_the_way(const Reservation& row, const Visit& visit) const {
  std::set<std::int64_t> seen;
  for (const ReservedTask& reserved : row.tasks) {
    const Holding& wanted = reserved.holding;
    for (const std::int64_t job : state_.running().jobs_on(wanted.node)) {
      const RunningJob& run = *state_.running().find(job);
      const bool is_in_the_way = std::ranges::any_of(run.tasks, [&](const RunningTask& task) {
        return task.holding.node == wanted.node && (task.holding.devices & wanted.devices) != 0;
      });
      if (is_in_the_way && seen.insert(job).second) visit(run);
    }
  }
}

Seconds Backfill::free_from(const Reservation& row, const Job& job, bool borrows, Seconds duration) {
  const RoundRules& rules = state_.rules();
  const QuotaLedger& quotas = state_.quotas();
  const Seconds free = timeline().free_from(state_.ledger(), row.tasks, duration, job.id);
  if (borrows || job.queue < 0 || rules.preemption != Preemption::kReclaim || !quotas.governs()) return free;
  const Amounts amounts = state_.held_by(row.tasks);
  Seconds by_all = now_;
  Seconds by_others = std::max(now_, row.expected);
  for_each_in_the_way(row, [&](const RunningJob& run) {
    Seconds end = run.is_told_to_stop() ? end_of_told(run) : untold_end_of(run, rules, now_);
    by_all = std::max(by_all, end);
    const Seconds from = std::max(evictable_from(run, rules), evicts_from(job, rules));
    if (run.job.queue != job.queue && from < kNever &&
        quotas.may_reclaim(job.queue, amounts, run.job.queue, run.quota_mark, last_end_of(job, now_)))
      end = std::min(end, std::max(now_, from) + run.job.eviction.checkpoint_grace + run.end_delay);
    by_others = std::max(by_others, end);
  });
  return free <= by_all ? std::min(free, by_others) : free;
}

Seconds Backfill::longest_grace() const {
  if (longest_grace_) return *longest_grace_;
  longest_grace_ = Seconds(0);
  for (const RunningJob& run : state_.running().all())
    longest_grace_ = std::max(*longest_grace_, run.job.eviction.checkpoint_grace + run.end_delay);
  return *longest_grace_;
}

Timeline::PassBy Backfill::passes_by(const Reservation& row) const {
  bool is_outrun = false;
  for_each_in_the_way(row, [&](const RunningJob& run) {
    const Seconds end = believed_end_of({.start = run.start, .planned_end = run.planned_end()}, state_.rules());
    is_outrun = is_outrun || end <= now_;
  });
  return is_outrun ? Timeline::PassBy::kCertainEnd : Timeline::PassBy::kExpectedEnd;
}

bool Backfill::leaves_in_time(const Held& held, const Job& job) const {
  if (held.reservation.kind == ReservationKind::kEviction) return false;
  const Seconds end = held.passes == Timeline::PassBy::kCertainEnd ? certain_end_of(job) : end_of(job);
  if (end >= kNever) return false;
  return end + longest_grace() <= (held.is_due ? held.start : held.reservation.expected);
}

std::vector<std::int64_t> Backfill::left_in_time_by(const Job& job) const {
  std::vector<std::int64_t> jobs;
  for (const Held& held : held_) {
    if (held.reservation.job != job.id && leaves_in_time(held, job)) jobs.push_back(held.reservation.job);
  }
  return jobs;
}

bool Backfill::would_matter_if_shorter(const Asker& asker) const {
  return std::ranges::any_of(held_, [&](const Held& held) {
    return held.reservation.kind == ReservationKind::kBackfill && held.reservation.job != asker.job.id &&
           !gives_way_to(held, asker) && !leaves_in_time(held, asker.job);
  });
}

std::vector<std::int64_t> Backfill::passers_of(const Asker& asker) const {
  std::vector<std::int64_t> jobs;
  const Seconds certain_end = certain_end_of(asker.job);
  for (const Held& held : held_) {
    if (!held.is_due || certain_end <= held.start || !is_guest_of(held, asker.job) || gives_way_to(held, asker))
      continue;
    const auto is_in_its_way = [&](const RunningTask& task) { return lies_on(task.holding, held.reservation.tasks); };
    for (const RunningJob& run : state_.running().all()) {
      if (run.start > held.reservation.expected && std::ranges::any_of(run.tasks, is_in_its_way))
        jobs.push_back(run.job.id);
    }
  }
  std::ranges::sort(jobs);
  jobs.erase(std::unique(jobs.begin(), jobs.end()), jobs.end());
  return jobs;
}

template <class Which>
bool Backfill::set_aside(const Which& which) {
  std::ranges::copy_if(held_, std::back_inserter(set_aside_), which);
  if (std::erase_if(held_, which) == 0) return false;
  forget_timeline();
  return true;
}

bool Backfill::give_way(std::int64_t holder, const Asker& asker) {
  return set_aside([&](const Held& held) { return held.reservation.job == holder && gives_way_to(held, asker); }) ||
         set_aside([&](const Held& held) { return gives_way_to(held, asker); });
}

void Backfill::give_way_to(const Asker& asker, std::span<const PlacedTask> placed) {
  const auto shares_a_node = [&](const ReservedTask& reserved) {
    return std::ranges::any_of(placed,
                               [&](const PlacedTask& task) { return task.holding.node == reserved.holding.node; });
  };
  (void)set_aside([&](const Held& held) {
    return std::ranges::any_of(held.reservation.tasks, shares_a_node) && gives_way_to(held, asker);
  });
}

void Backfill::set_borrowers_aside(const Asker& asker) {
  (void)set_aside([&](const Held& held) { return keeps_for_borrower(held, asker); });
}

void Backfill::hold_again() {
  for (Held& held : std::exchange(set_aside_, {})) {
    const Reservation& row = held.reservation;
    const Seconds free = timeline().free_from(state_.ledger(), row.tasks, held.duration, row.job);
    if (free >= kNever) {
      unbound_.push_back(row);
      continue;
    }
    held.start = std::max(held.start, free);
    add_to_timeline(held);
    held_.push_back(std::move(held));
  }
}

bool Backfill::is_withstood(const Asker& asker) const {
  return may_take_back(asker.job) ||
         std::ranges::any_of(held_, [&](const Held& held) { return withstands(held, asker); });
}

// How much idle cpu and memory of the node is wanted: `wanted`, less what jobs hold there of which `frees` says that
// they will have ended.
template <class Frees>
Holding Backfill::wanted_of_idle(Holding wanted, NodeIndex node, const Frees& frees) const {
  for (const std::int64_t job : state_.running().jobs_on(node)) {
    const RunningJob& run = *state_.running().find(job);
    if (!frees(run)) continue;
    for (const RunningTask& task : run.tasks) {
      if (task.holding.node != node) continue;
      wanted.cpu -= task.holding.cpu;
      wanted.memory -= task.holding.memory;
    }
  }
  wanted.cpu = std::max(wanted.cpu, MilliCpu(0));
  wanted.memory = std::max(wanted.memory, MiB(0));
  return wanted;
}

// What the reservation wants, together with those that overlap it. A job counts as ended at its start if it ran when
// the reservation fell due and is expected to end by then.
Holding Backfill::wanted_by(const Held& held, NodeIndex node) const {
  Holding wanted;
  for (const Held& each : held_) {
    const bool is_beside = each.start < held.start + held.duration && held.start < each.start + each.duration;
    for (const ReservedTask& task : each.reservation.tasks) {
      if (!is_beside || task.holding.node != node) continue;
      wanted.cpu += task.holding.cpu;
      wanted.memory += task.holding.memory;
    }
  }
  const Seconds due = held.is_due ? held.reservation.expected : now_;
  return wanted_of_idle(wanted, node, [&](const RunningJob& run) {
    const Seconds end = run.is_told_to_stop() ? end_of_told(run) : untold_end_of(run, state_.rules(), now_);
    return run.start <= due && end <= held.start;
  });
}

// What the closer's tasks want, as many as fit on the node, once everything there has ended.
Holding Backfill::wanted_by_closer(NodeIndex node) const {
  Holding wanted;
  const NodeKind& kind = state_.cluster().kind_of(static_cast<std::size_t>(node));
  for (const TaskGroup& group : closer_->groups) {
    const TaskShape& shape = group.shape;
    const bool may_lie_there = shape.models == 0 || (kind.model >= 0 && (shape.models >> kind.model & 1) != 0);
    if (!may_lie_there || kind.device_count < shape.gpu_count) continue;
    std::int64_t most = std::max(0, group.min_tasks - group.placed);
    if (shape.gpu_total() > MilliGpu(0))
      most = std::min(most, kWholeDevice.value() * kind.device_count / shape.gpu_total().value());
    wanted.cpu += shape.cpu * most;
    wanted.memory += shape.memory * most;
  }
  return wanted_of_idle(wanted, node, [](const RunningJob&) { return true; });
}

// What evictions for the job leave idle there, so that each promise to others fits at its time, beside those who were
// told to stop and still run then. Nothing where some promise does not fit.
std::optional<std::vector<Holding>> Backfill::kept_for_promises(NodeIndex node, const Job& job) const {
  std::map<Seconds, std::vector<const ReservedTask*>> promised;  // by when
  for (const Held& held : held_) {
    if (held.reservation.kind != ReservationKind::kEviction || held.reservation.job == job.id) continue;
    for (const ReservedTask& task : held.reservation.tasks) {
      if (task.holding.node == node) promised[held.reservation.expected].push_back(&task);
    }
  }
  std::vector<std::int64_t> told = state_.running().jobs_on(node);
  std::erase_if(told, [&](std::int64_t id) { return !state_.running().find(id)->is_told_to_stop(); });
  Ledger& ledger = state_.ledger();
  const std::vector<Holding> idle = free_on(ledger, node);
  std::vector<Holding> kept(idle.size());
  for (std::size_t i = 0; i < kept.size(); ++i) {
    kept[i].node = node;
    kept[i].devices = idle[i].devices;
  }
  const Ledger::Checkpoint before = ledger.checkpoint();
  bool fits = true;
  for (const auto& [time, tasks] : promised) {
    std::erase_if(told, [&, by = time](std::int64_t id) {
      const RunningJob& run = *state_.running().find(id);
      if (end_of_told(run) > by) return false;
      for (const RunningTask& task : run.tasks) {
        if (task.holding.node == node) (void)ledger.release(task.holding);
      }
      return true;
    });
    for (const ReservedTask* const task : tasks) fits = fits && ledger.place(task->holding).ok();
    const std::vector<Holding> left = free_on(ledger, node);
    for (std::size_t i = 0; i < kept.size(); ++i) {
      kept[i].cpu = std::max(kept[i].cpu, idle[i].cpu - left[i].cpu);
      kept[i].memory = std::max(kept[i].memory, idle[i].memory - left[i].memory);
      kept[i].gpu_milli = std::max(kept[i].gpu_milli, idle[i].gpu_milli - left[i].gpu_milli);
      kept[i].gpu_memory = std::max(kept[i].gpu_memory, idle[i].gpu_memory - left[i].gpu_memory);
    }
  }
  ledger.rollback(before);
  return fits ? std::optional(std::move(kept)) : std::nullopt;
}

Backfill::Fence::Fence(Backfill& backfill, const Asker& asker, Keep keep, bool may_take_idle)
    : ledger_(backfill.state_.ledger()), closed_(ledger_) {
  const Job& job = asker.job;
  const auto stands_in_the_way = [&](const Held& held) {
    return held.reservation.job != job.id && !backfill.gives_way_to(held, asker) && !backfill.leaves_in_time(held, job);
  };
  std::set<NodeIndex> promised;
  for (const Held& held : backfill.held_) {
    if (!stands_in_the_way(held) || held.reservation.kind != ReservationKind::kEviction) continue;
    for (const ReservedTask& task : held.reservation.tasks) promised.insert(task.holding.node);
  }
  for (const NodeIndex node : promised) {
    if (const std::optional<std::vector<Holding>> kept = backfill.kept_for_promises(node, job))
      take(*kept);
    else
      closed_.close(node);
  }
  const bool takes_back = keep == Keep::kIdle;
  if (takes_back && backfill.may_take_back() && !may_take_idle) {
    for (std::size_t n = 0; n < ledger_.node_count(); ++n) {
      const auto node = static_cast<NodeIndex>(n);
      const Holding wanted = backfill.wanted_by_closer(node);
      take_idle(node, wanted.cpu, wanted.memory);
    }
  }
  for (const Held& held : backfill.held_) {
    if (!stands_in_the_way(held) || held.reservation.kind == ReservationKind::kEviction) continue;
    const bool keeps_idle = takes_back && backfill.is_guest_of(held, job);
    std::set<NodeIndex> nodes;
    for (const ReservedTask& task : held.reservation.tasks) {
      if (ledger_.accepts_tasks(task.holding.node)) nodes.insert(task.holding.node);
    }
    for (const NodeIndex node : nodes) {
      if (keeps_idle) {
        const Holding wanted = backfill.wanted_by(held, node);
        take_idle(node, wanted.cpu, wanted.memory);
      } else {
        closed_.close(node);
      }
    }
  }
}

void Backfill::Fence::take_idle(NodeIndex node, MilliCpu cpu, MiB memory) {
  std::vector<Holding> idle = free_on(ledger_, node);
  idle.front().cpu = std::min(cpu, idle.front().cpu);
  idle.front().memory = std::min(memory, idle.front().memory);
  take(idle);
}

void Backfill::Fence::take(std::span<const Holding> idle) {
  for (const Holding& holding : idle) {
    const bool is_some = holding.cpu > MilliCpu(0) || holding.memory > MiB(0) || holding.gpu_milli > MilliGpu(0) ||
                         holding.gpu_memory > MiB(0);
    if (is_some && ledger_.accepts_tasks(holding.node) && ledger_.place(holding).ok()) taken_.push_back(holding);
  }
}

Backfill::Fence::~Fence() {
  for (const Holding& holding : taken_) (void)ledger_.release(holding);
}

}  // namespace berth
