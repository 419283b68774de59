#include "engine/round/round_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

#include "engine/round/reserved_room.h"

namespace berth {

namespace {

const QuotaTable kNoQuotas;

constexpr std::uint32_t kGangMarks = (1u << kMarkedDepths) - 1;
constexpr std::uint32_t kSurplusMarks = ~kGangMarks;

const QuotaTable& quotas_of(const RoundSetup& setup) { return setup.quotas != nullptr ? *setup.quotas : kNoQuotas; }

}  // namespace

RoundState::RoundState(const RoundSetup& setup)
    : setup_(setup),
      ledger_(*setup.cluster),
      quotas_(*setup.cluster, setup.queues, quotas_of(setup), setup.now),
      placer_(ledger_, *setup.score, setup.rank, setup.seed, &running_) {}

std::int64_t RoundState::class_value(const Job& job) const {
  return job.priority_class < 0 ? 0 : setup_.priority_classes[static_cast<std::size_t>(job.priority_class)].value;
}

Amounts RoundState::held_by(std::span<const ReservedTask> tasks) const {
  Amounts amounts = quotas_.none();
  for (const ReservedTask& task : tasks) quotas_.add_holding(task.holding, amounts);
  return amounts;
}

Amounts RoundState::held_by(std::span<const PlacedTask> tasks) const {
  Amounts amounts = quotas_.none();
  for (const PlacedTask& task : tasks) quotas_.add_holding(task.holding, amounts);
  return amounts;
}

RoundState::Held RoundState::held_by(const RunningJob& job) const {
  Held held{.all = quotas_.none(), .gang = quotas_.none(), .surplus = quotas_.none()};
  for (const RunningTask& task : job.tasks) quotas_.add_holding(task.holding, held.all);
  held.gang = held.all;
  for (const std::size_t task : surplus_tasks(job)) {
    quotas_.add_holding(job.tasks[task].holding, held.surplus);
    held.has_surplus = true;
  }
  for (std::size_t r = 0; r < held.gang.size(); ++r) held.gang[r] -= held.surplus[r];
  return held;
}

std::uint32_t RoundState::mark(std::int32_t queue, const Held& held, std::uint32_t already, std::uint32_t wanted) {
  const std::uint32_t gang = quotas_.mark(queue, held.gang, already & kGangMarks, wanted & kGangMarks);
  if (!held.has_surplus) return gang;
  const std::uint32_t surplus =
      quotas_.mark(queue, held.surplus, already >> kMarkedDepths, (wanted >> kMarkedDepths) & gang);
  return gang | surplus << kMarkedDepths;
}

void RoundState::count_marks(QuotaLedger& quotas, std::int32_t queue, const Held& held, std::uint32_t marks,
                             std::int64_t sign) {
  quotas.count_marks(queue, held.gang, marks & kGangMarks, sign);
  quotas.count_marks(queue, held.surplus, marks >> kMarkedDepths, sign);
}

void RoundState::note_class(const Job& job) {
  const auto [lowest, is_new] = lowest_class_.try_emplace(job.queue, class_value(job));
  if (!is_new) lowest->second = std::min(lowest->second, class_value(job));
}

std::vector<const RunningJob*> RoundState::marked_below(const Job& job) const {
  std::vector<const RunningJob*> below;
  const auto lowest = lowest_class_.find(job.queue);
  const std::int64_t value = class_value(job);
  if (lowest == lowest_class_.end() || lowest->second >= value) return below;
  for (const RunningJob& run : running_.all()) {
    if (run.job.queue == job.queue && run.job.id != job.id && run.job.eviction.preemptible && !run.is_told_to_stop() &&
        (run.quota_mark & kGangMarks) != 0 && class_value(run.job) < value)
      below.push_back(&run);
  }
  return below;
}

std::uint32_t RoundState::marks_before_lower(const Job& job, const Amounts& amounts) {
  const std::vector<const RunningJob*> lower = marked_below(job);
  for (const RunningJob* const run : lower) count_marks(job.queue, held_by(*run), run->quota_mark, -1);
  const std::uint32_t marks = quotas_.mark(job.queue, amounts);
  quotas_.unmark(job.queue, amounts, marks);
  for (const RunningJob* const run : lower) count_marks(job.queue, held_by(*run), run->quota_mark, 1);
  return marks;
}

std::uint32_t RoundState::take_marks_of_lower(const Job& job, const Held& held, std::uint32_t marks) {
  const std::uint32_t missing = quotas_.all_marks(job.queue) & ~marks;
  if (missing == 0) return marks;
  std::vector<const RunningJob*> lower = marked_below(job);
  std::ranges::sort(lower, {}, [&](const RunningJob* run) {
    return std::tuple(class_value(run->job), Seconds(0) - run->start, -run->job.id);
  });
  for (int depth = quotas_.depth(job.queue); depth >= 0 && !lower.empty(); --depth) {
    const std::uint32_t bit = missing & mark_bit(depth);
    if (bit == 0) continue;
    const std::uint32_t of_depth = bit | bit << kMarkedDepths;
    std::size_t given = 0;
    for (; given < lower.size() && (marks & bit) == 0; ++given) {
      const RunningJob& run = *lower[given];
      if ((run.quota_mark & bit) == 0) continue;
      count_marks(job.queue, held_by(run), run.quota_mark & of_depth, -1);
      marks = mark(job.queue, held, marks, bit);
    }
    const bool is_gained = (marks & bit) != 0;
    for (std::size_t i = 0; i < given; ++i) {
      const RunningJob& run = *lower[i];
      if (is_gained) {
        running_.change(run.job.id)->quota_mark &= ~of_depth;
      } else {
        count_marks(job.queue, held_by(run), run.quota_mark & of_depth, 1);
      }
    }
    marks_are_stale_ = marks_are_stale_ || is_gained;  // they may have given more than it takes
  }
  return marks;
}

void RoundState::count_capacity(const Holding& holding, std::int64_t sign, Seconds until) {
  if (is_on_an_up_node(holding)) return;
  Amounts amounts = quotas_.none();
  quotas_.add_holding(holding, amounts);
  quotas_.add_capacity(amounts, sign, until);
}

Status RoundState::add_running(RunningJob job) {
  for (const RunningTask& task : job.tasks) {
    if (Status placed = ledger_.place(task.holding); !placed.ok()) {
      return Status(Code::kCorrupt,
                    fmt::format("job {} task {}.{} does not fit the node it runs on: {}", job.job.id, task.group,
                                task.task, placed.message()),
                    "CHECK; names everything that is broken");
    }
    count_capacity(task.holding, 1);
  }
  ledger_.commit();
  quotas_.take(job.job.queue, held_by(job).all);
  marks_are_stale_ = true;
  marks_are_claims_ = true;
  note_class(job.job);
  running_.add(std::move(job));
  return {};
}

void RoundState::pledge(const Reservation& promise, std::span<const Job> jobs) {
  const Job* const job = find_job(jobs, promise.job);
  if (!quotas_.governs() || job == nullptr || job->queue < 0) return;
  // Victims that have ended in this round do not tell any more whose quota it takes back.
  const Pledge* const before = pledge_of(job->id);
  const std::uint32_t levels = before != nullptr ? before->levels : 0;
  drop_pledge(job->id);
  Pledge pledge;
  pledge.queue = job->queue;
  pledge.amounts = held_by(promise.tasks);
  pledge.levels = levels;
  if (promise.made_at < setup_.now) pledge.gone_by = promise.expected;
  const std::vector<TaskPlace> later = surplus_left_for(*this, promise);
  for (const RunningJob& run : running_.all()) {
    const bool is_victim = run.makes_room_for(job->id);
    const Held held = is_victim ? held_by(run) : Held{};
    Amounts leaves = is_victim ? held.all : quotas_.none();
    for (const TaskPlace& each : later) {
      if (each.run == &run) quotas_.add_holding(run.tasks[each.task].holding, leaves);
    }
    if (std::ranges::all_of(leaves, [](std::int64_t amount) { return amount == 0; })) continue;
    if (is_victim) pledge.marked.push_back({run.job.queue, held.gang, run.quota_mark & kGangMarks});
    pledge.marked.push_back({run.job.queue, is_victim ? held.surplus : leaves, run.quota_mark >> kMarkedDepths});
    pledge.leaving.emplace_back(run.job.queue, std::move(leaves));
    const bool takes_back = !is_victim || run.stop_rule == EvictionRule::kReclaim;
    if (takes_back) pledge.levels |= mark_bit(quotas_.fork_depth(job->queue, run.job.queue));
  }
  quotas_.pledge(pledge, 1);
  pledges_.emplace(job->id, std::move(pledge));
}

void RoundState::renew_pledges(std::span<const Reservation> reservations, std::span<const Job> jobs) {
  drop_pledges();
  for (const Reservation& row : reservations) {
    if (row.kind == ReservationKind::kEviction) pledge(row, jobs);
  }
}

const RoundState::Pledge* RoundState::pledge_of(std::int64_t job) const {
  const auto pledge = pledges_.find(job);
  return pledge == pledges_.end() ? nullptr : &pledge->second;
}

void RoundState::drop_pledge(std::int64_t job) {
  const auto pledge = pledges_.find(job);
  if (pledge == pledges_.end()) return;
  quotas_.pledge(pledge->second, -1);
  pledges_.erase(pledge);
  marks_are_stale_ = true;
}

void RoundState::drop_pledges_but(std::span<const Reservation* const> kept) {
  std::vector<std::int64_t> gone;
  for (const auto& [job, pledge] : pledges_) {
    if (std::ranges::find(kept, job, [](const Reservation* row) { return row->job; }) == kept.end())
      gone.push_back(job);
  }
  for (const std::int64_t job : gone) drop_pledge(job);
}

void RoundState::drop_pledges() {
  while (!pledges_.empty()) drop_pledge(pledges_.begin()->first);
}

void RoundState::start(const Job& job, std::span<const PlacedTask> placed, Seconds now) {
  ledger_.commit();
  drop_pledge(job.id);
  RunningJob* run = running_.change(job.id);
  if (run != nullptr && run->job.groups.empty()) {
    // It ran without being described; the job that gains tasks says what it is.
    quotas_.give_back(run->job.queue, held_by(*run).all);
    const bool preemptible = run->job.eviction.preemptible;
    run->job = job;
    run->job.eviction.preemptible = preemptible;
    quotas_.take(job.queue, held_by(*run).all);
  }
  if (run == nullptr) {
    RunningJob fresh;
    fresh.job = job;
    fresh.job.state = JobState::kRunning;
    fresh.start = now;
    fresh.tasks.reserve(placed.size());
    run = &running_.add(std::move(fresh));
  }
  if (run->quota_mark != 0) unmark(job.queue, held_by(*run), run->quota_mark);
  Amounts more = quotas_.none();
  for (const PlacedTask& task : placed) {
    TaskGroup& group = run->job.groups[static_cast<std::size_t>(task.group)];
    ++group.placed;
    if (group.anchor < 0) group.anchor = task.holding.node;
    if (group.anchor == task.holding.node) group.anchor_devices |= task.holding.devices;
    running_.add_task(*run, {task.group, task.task, task.holding, now});
    quotas_.add_holding(task.holding, more);
  }
  quotas_.take(job.queue, more);
  if (!quotas_.governs()) return;
  note_class(job);
  const Held held = held_by(*run);
  const std::uint32_t marks = take_marks_of_lower(job, held, mark(job.queue, held));
  if ((run->quota_mark & ~marks) != 0) marks_are_stale_ = true;  // more surplus than quota: what covered it is free
  run->quota_mark = marks;
  if (stands_behind_others(*run)) marks_are_stale_ = true;
}

Seconds RoundState::lasts_until(const RunningJob& run) const {
  return run.makes_room_for_a_job() ? run.stop_at : untold_end_of(run, rules(), setup_.now);
}

Status RoundState::end(std::int64_t id) {
  const RunningJob job = running_.remove(id);
  const Seconds until = lasts_until(job);
  Amounts all = quotas_.none();
  for (const RunningTask& task : job.tasks) {
    BERTH_TRY(ledger_.release(task.holding));
    count_capacity(task.holding, -1, until);
    quotas_.add_holding(task.holding, all);
  }
  ledger_.commit();
  quotas_.give_back(job.job.queue, all, until);
  if (job.quota_mark == 0) return {};
  unmark(job.job.queue, held_by(job), job.quota_mark);
  marks_are_stale_ = true;
  return {};
}

// As the tables tell it: the node of its first task, and what its tasks hold there.
void RoundState::find_anchor(RunningJob& job, std::int32_t group) {
  TaskGroup& found = job.job.groups[static_cast<std::size_t>(group)];
  found.anchor = -1;
  found.anchor_devices = 0;
  std::int32_t first = 0;
  for (const RunningTask& task : job.tasks) {
    if (task.group != group || (found.anchor >= 0 && task.task > first)) continue;
    found.anchor = task.holding.node;
    first = task.task;
  }
  for (const RunningTask& task : job.tasks) {
    if (task.group == group && task.holding.node == found.anchor) found.anchor_devices |= task.holding.devices;
  }
}

Status RoundState::shrink(std::int64_t id, std::span<const TaskName> tasks) {
  RunningJob& job = *running_.change(id);
  const Seconds until = lasts_until(job);
  const Held before = held_by(job);
  for (const TaskName& name : tasks) {
    const auto found = std::ranges::find_if(
        job.tasks, [&](const RunningTask& t) { return t.group == name.group && t.task == name.task; });
    BERTH_TRY(ledger_.release(found->holding));
    count_capacity(found->holding, -1, until);
    --job.job.groups[static_cast<std::size_t>(name.group)].placed;
    running_.drop_task(job, static_cast<std::size_t>(found - job.tasks.begin()));
  }
  for (std::size_t g = 0; g < job.job.groups.size(); ++g) find_anchor(job, static_cast<std::int32_t>(g));
  ledger_.commit();
  quotas_.give_back(job.job.queue, before.all, until);
  unmark(job.job.queue, before, job.quota_mark);
  const Held after = held_by(job);
  quotas_.take(job.job.queue, after.all, until);
  if ((job.quota_mark & kSurplusMarks) != 0) marks_are_stale_ = true;
  job.quota_mark = mark(job.job.queue, after);
  if (stands_behind_others(job)) marks_are_stale_ = true;
  return {};
}

bool RoundState::stands_behind_guests(std::int32_t queue, std::uint32_t marks) const {
  const std::uint32_t all = quotas_.all_marks(queue);
  const auto is_behind = [&](std::uint32_t of_kind) {
    const std::uint32_t missing = all & ~of_kind;
    return missing != 0 && std::bit_floor(missing) != std::bit_floor(all);
  };
  return is_behind(marks & kGangMarks) || is_behind(marks >> kMarkedDepths);
}

bool RoundState::stands_behind_others(const RunningJob& run) const {
  const std::int32_t queue = run.job.queue;
  if (stands_behind_guests(queue, run.quota_mark)) return true;
  if (!quotas_.has_sums_of_models()) return false;
  const Held held = held_by(run);
  return quotas_.is_owed_a_mark(queue, held.gang, run.quota_mark & kGangMarks) ||
         (held.has_surplus && quotas_.is_owed_a_mark(queue, held.surplus, run.quota_mark >> kMarkedDepths));
}

void RoundState::renew_marks() {
  if (!marks_are_stale_ || !quotas_.governs()) return;
  marks_are_stale_ = false;
  const bool were_claims = std::exchange(marks_are_claims_, false);
  give_marks(were_claims);
  const bool is_anyone_behind = !were_claims && std::ranges::any_of(running_.all(), [&](const RunningJob& run) {
    return stands_behind_others(run);
  });
  if (is_anyone_behind) give_marks(true);
}

void RoundState::keep_marks() {
  if (marks_are_claims_ && quotas_.governs()) give_marks(true, true);
}

void RoundState::give_marks(bool are_claims, bool only_kept) {
  struct Claim {
    RunningJob* job;
    Held held;
    std::uint32_t promised;
  };
  std::vector<Claim> claims;
  for (RunningJob& job : running_.change_all()) {
    const std::uint32_t gang = quotas_.all_marks(job.job.queue);
    if (!are_claims && (job.quota_mark & gang) == gang && surplus_tasks(job).empty()) continue;
    claims.push_back({&job, held_by(job), job.quota_mark});
    if (are_claims) job.quota_mark = 0;
  }
  std::ranges::sort(claims, {}, [](const Claim& claim) { return std::tuple(claim.job->start, claim.job->job.id); });
  if (are_claims) quotas_.clear_marks();
  int deepest = 0;
  for (const Claim& claim : claims) deepest = std::max(deepest, quotas_.depth(claim.job->job.queue));
  deepest = std::min(deepest, kMarkedDepths - 1);
  // Of the queues at one depth. `is_own`: of those within the quotas of all queues below; a parent's quota is its
  // children's before it is that of their guests. `is_beside`: of those that use other models than the queue owns, as
  // far as its own leave them something.
  const auto give = [&](int depth, bool is_own, bool is_beside, std::uint32_t kind, bool only_promised) {
    const std::uint32_t at_depth = (1u << depth) | (1u << (kMarkedDepths + depth));
    for (Claim& claim : claims) {
      std::uint32_t& marks = claim.job->quota_mark;
      const std::uint32_t of_kind = kind == kGangMarks ? marks & kGangMarks : marks >> kMarkedDepths;
      const std::uint32_t below = quotas_.all_marks(claim.job->job.queue) & ~((2u << depth) - 1);
      if (((of_kind & below) == below) != is_own) continue;
      const Amounts& amounts = kind == kGangMarks ? claim.held.gang : claim.held.surplus;
      if (quotas_.is_beside_models(claim.job->job.queue, depth, amounts) != is_beside) continue;
      const std::uint32_t wanted = only_promised ? kind & claim.promised : kind;
      marks = mark(claim.job->job.queue, claim.held, marks, wanted & at_depth);
    }
  };
  // What was promised stays as long as the quota covers it; what is left goes to those that ran on borrowed quota.
  for (int depth = deepest; depth >= 0; --depth) {
    for (const bool is_own : {true, false}) {
      for (const bool is_beside : {false, true}) {
        if (is_beside && !quotas_.has_sums_of_models()) continue;
        for (const bool only_promised : {true, false}) {
          if ((only_promised && !are_claims) || (only_kept && !only_promised)) continue;
          give(depth, is_own, is_beside, kGangMarks, only_promised);
          give(depth, is_own, is_beside, kSurplusMarks, only_promised);
        }
      }
    }
  }
}

}  // namespace berth
