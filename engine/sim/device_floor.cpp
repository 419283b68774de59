#include "engine/sim/device_floor.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "engine/policy/feasibility.h"

namespace berth {

namespace {

constexpr std::size_t kLongestChangeLog = 1 << 16;

}  // namespace

DeviceFloor::DeviceFloor(const RoundSetup& setup) : state_(setup), possible_(*setup.cluster) {}

void DeviceFloor::begin_pass(Seconds now) {
  if (state_.rules().preemption == Preemption::kReclaim) state_.renew_marks();
  pass_time_ = now;
  pass_.emplace(state_, reservations_, now);
}

void DeviceFloor::end_pass() {
  if (pass_) {
    note_shrunk();
    reservations_ = pass_->reservations();
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

// A victim that gave up some tasks runs on; the next pass counts that as an eviction, as the next round does.
void DeviceFloor::note_shrunk() {
  for (const Eviction& eviction : pass_->evictions()) {
    RunningJob* victim = eviction.whole ? nullptr : state_.running().change(eviction.job);
    if (victim == nullptr) continue;
    ++victim->job.eviction.evictions;
    victim->job.eviction.last_eviction = pass_time_;
  }
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
