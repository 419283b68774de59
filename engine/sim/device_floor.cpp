#include "engine/sim/device_floor.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "engine/policy/feasibility.h"

namespace berth {

namespace {

constexpr std::size_t kLongestChangeLog = 1 << 16;
constexpr Seconds kBudgetTime{3600};  // what eviction budgets are of

RoundSetup with_queues(RoundSetup setup, std::span<const Queue> queues) {
  setup.queues = queues;
  return setup;
}

}  // namespace

DeviceFloor::DeviceFloor(const RoundSetup& setup)
    : queues_(setup.queues.begin(), setup.queues.end()),
      state_(with_queues(setup, queues_)),
      possible_(*setup.cluster) {}

// As a live round does.
Status DeviceFloor::begin_pass(const QueueOrder& order, const OrderInput& input) {
  const Seconds now = input.now;
  pass_time_ = now;
  order_ = &order;
  order_input_ = &input;
  settled_ = {};
  if (state_.rules().preemption == Preemption::kReclaim) {
    count_losses(now);
    drop_void_promises(state_, input.jobs, now, reservations_);
    const std::vector<std::int64_t> spared = spare_needless(state_, reservations_, input.jobs, now);
    constexpr std::span<const Job> kNobody;  // loans of a simulation do not end
    BERTH_ASSIGN(settled_, settle_stops(state_, reservations_, kNobody, now));
    settled_.reprieves.insert(settled_.reprieves.end(), spared.begin(), spared.end());
    note_reprieves();
  }
  pass_.emplace(state_, kept(), now);
  return {};
}

KeptReservations DeviceFloor::kept() const {
  return {.reservations = reservations_, .jobs = order_input_->jobs, .order = order_, .input = order_input_};
}

void DeviceFloor::begin_next_pass() {
  note_shrunk();
  reservations_ = pass_->reservations();
  Pass::Rest rest = pass_->take_rest();
  pass_.emplace(state_, kept(), pass_time_, std::move(rest));
}

void DeviceFloor::end_pass() {
  if (pass_) {
    note_shrunk();
    reservations_ = pass_->reservations();
    settled_.reprieves.clear();
    if (state_.rules().preemption == Preemption::kReclaim)
      settled_.reprieves = reprieve_after(state_, *pass_, pass_time_);
    note_reprieves();
    pass_.reset();
  } else {
    reservations_.clear();
  }
  released_.clear();
  if (state_.ledger().change_count() - changes_forgotten_ > kLongestChangeLog) {
    state_.placer().forget_changes();
    changes_forgotten_ = state_.ledger().change_count();
  }
}

void DeviceFloor::count_losses(Seconds now) {
  while (!losses_.empty() && losses_.front().time <= now - kBudgetTime) losses_.pop_front();
  for (Queue& queue : queues_) queue.lost_this_hour = 0;
  for (const Loss& loss : losses_) {
    if (loss.queue >= 0) queues_[static_cast<std::size_t>(loss.queue)].lost_this_hour += loss.amount;
  }
}

void DeviceFloor::note_lost(const Eviction& eviction, std::int32_t queue) {
  losses_.push_back({pass_time_, eviction.job, queue, eviction.lost});
}

void DeviceFloor::change_lost(std::int64_t job, std::int64_t lost) {
  const auto loss = std::find_if(losses_.rbegin(), losses_.rend(), [&](const Loss& each) { return each.job == job; });
  if (loss != losses_.rend()) loss->amount = lost;
}

// A victim that gave up some tasks runs on; the next pass counts that as an eviction, as the next round does.
void DeviceFloor::note_shrunk() {
  for (const Eviction& eviction : pass_->evictions()) {
    RunningJob* victim = eviction.whole ? nullptr : state_.running().change(eviction.job);
    if (victim == nullptr) continue;
    ++victim->job.eviction.evictions;
    victim->job.eviction.last_eviction = pass_time_;
  }
}

// What did not happen cost nothing, and nobody was evicted for anybody.
void DeviceFloor::note_reprieves() {
  for (const std::int64_t job : settled_.reprieves) {
    change_lost(job, 0);
    std::vector<std::int64_t>& evicted_for = state_.running().change(job)->job.eviction.evicted_for;
    if (!evicted_for.empty()) evicted_for.pop_back();
  }
}

bool DeviceFloor::is_stopping(std::int64_t job) const {
  const RunningJob* run = state_.running().find(job);
  return run != nullptr && run->is_told_to_stop();
}

void DeviceFloor::read_groups(Job& job) const {
  if (const RunningJob* run = state_.running().find(job.id)) job.groups = run->job.groups;
}

std::optional<std::vector<PlacedTask>> DeviceFloor::place(const Job& job, Seconds now) {
  JobOutcome outcome = state_.placer().place_job(job);
  if (!outcome.started) return std::nullopt;
  state_.start(job, outcome.placed, now);
  return std::move(outcome.placed);
}

Status DeviceFloor::end(std::int64_t job) {
  const RunningJob* run = state_.running().find(job);
  if (run == nullptr) return Status(Code::kInternal, fmt::format("job {} does not run", job));
  for (const RunningTask& task : run->tasks) released_.push_back(task.holding.node);
  return state_.end(job);
}

void DeviceFloor::forget(std::int64_t job) {
  std::erase_if(reservations_, [&](const Reservation& each) { return each.job == job; });
}

Seconds DeviceFloor::holds_until(Seconds made_by) const {
  Seconds until(-1);
  for (const Reservation& each : reservations_) {
    if (each.made_at <= made_by)
      until = std::max({until, each.expected + state_.rules().reservation_ttl, each.expires});
  }
  return until;
}

void DeviceFloor::note_past_use(std::span<const Queue> queues) {
  for (std::size_t q = 0; q < queues_.size(); ++q) queues_[q].decayed_usage = queues[q].decayed_usage;
}

bool DeviceFloor::takes_one_more(const TaskGroup& group, std::span<const NodeIndex> nodes) const {
  for (const NodeIndex node : nodes) {
    if (state_.ledger().accepts_tasks(node) && is_feasible(state_.ledger().view(node), group.shape)) return true;
  }
  return false;
}

void DeviceFloor::describe(Snapshot& snapshot) const {
  snapshot.reservations = reservations_;
  for (const RunningJob& run : state_.running().all()) {
    snapshot.running.push_back(run);
    snapshot.running.back().tasks.clear();
    for (const RunningTask& task : run.tasks) {
      const Holding& held = task.holding;
      snapshot.allocations.push_back({.job = run.job.id,
                                      .group = task.group,
                                      .task = task.task,
                                      .node = held.node,
                                      .devices = held.devices,
                                      .gpu_milli = held.gpu_milli,
                                      .gpu_memory = held.gpu_memory,
                                      .cpu = held.cpu,
                                      .memory = held.memory,
                                      .start = task.start});
    }
  }
  std::ranges::sort(snapshot.running, {}, [](const RunningJob& run) { return run.job.id; });
  std::ranges::sort(snapshot.allocations, {},
                    [](const Allocation& a) { return std::tie(a.node, a.job, a.group, a.task); });
}

MilliGpu DeviceFloor::gpu_capacity_of(std::int32_t pool) const {
  MilliGpu total;
  for (std::size_t n = 0; n < state_.cluster().nodes.size(); ++n) {
    const NodeKind& kind = state_.cluster().kind_of(n);
    if (kind.pool == pool) total += kWholeDevice * kind.device_count;
  }
  return total;
}

}  // namespace berth
