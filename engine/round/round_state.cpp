#include "engine/round/round_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace berth {

namespace {

const QuotaTable kNoQuotas;

const QuotaTable& quotas_of(const RoundSetup& setup) { return setup.quotas != nullptr ? *setup.quotas : kNoQuotas; }

}  // namespace

RoundState::RoundState(const RoundSetup& setup)
    : setup_(setup),
      ledger_(*setup.cluster),
      quotas_(*setup.cluster, setup.queues, quotas_of(setup), setup.now),
      placer_(ledger_, *setup.score, setup.rank, setup.seed) {}

Amounts RoundState::amounts_of(const RunningJob& job) const {
  Amounts amounts = quotas_.none();
  for (const RunningTask& task : job.tasks) quotas_.add_holding(task.holding, amounts);
  return amounts;
}

Status RoundState::add_running(RunningJob job) {
  for (const RunningTask& task : job.tasks) {
    if (Status placed = ledger_.place(task.holding); !placed.ok()) {
      return Status(Code::kCorrupt,
                    fmt::format("job {} task {}.{} does not fit the node it runs on: {}", job.job.id, task.group,
                                task.task, placed.message()),
                    "CHECK; names everything that is broken");
    }
  }
  ledger_.commit();
  if (quotas_.governs() && job.job.queue >= 0) {
    const Amounts amounts = amounts_of(job);
    quotas_.take(job.job.queue, amounts);
    marks_are_stale_ = true;
  }
  running_.add(std::move(job));
  return {};
}

void RoundState::start(const Job& job, std::span<const PlacedTask> placed, Seconds now) {
  ledger_.commit();
  RunningJob* run = running_.find(job.id);
  Amounts before = quotas_.none();
  if (run != nullptr && run->job.groups.empty()) {
    // It ran without being described; the job that gains tasks says what it is.
    const bool preemptible = run->job.eviction.preemptible;
    run->job = job;
    run->job.eviction.preemptible = preemptible;
    if (quotas_.governs() && job.queue >= 0) quotas_.take(job.queue, amounts_of(*run));
  }
  if (run == nullptr) {
    RunningJob fresh;
    fresh.job = job;
    fresh.job.state = JobState::kRunning;
    fresh.start = now;
    run = &running_.add(std::move(fresh));
  } else if (quotas_.governs()) {
    before = amounts_of(*run);
  }
  for (const PlacedTask& task : placed) {
    TaskGroup& group = run->job.groups[static_cast<std::size_t>(task.group)];
    ++group.placed;
    if (group.anchor < 0) group.anchor = task.holding.node;
    if (group.anchor == task.holding.node) group.anchor_devices |= task.holding.devices;
    run->tasks.push_back({task.group, task.task, task.holding});
  }
  if (!quotas_.governs() || job.queue < 0) return;
  quotas_.unmark(job.queue, before, run->quota_mark);
  Amounts more = quotas_.none();
  for (const PlacedTask& task : placed) quotas_.add_holding(task.holding, more);
  quotas_.take(job.queue, more);
  run->quota_mark = quotas_.mark(job.queue, amounts_of(*run));
}

Status RoundState::end(std::int64_t id) {
  const RunningJob job = running_.remove(id);
  for (const RunningTask& task : job.tasks) BERTH_TRY(ledger_.release(task.holding));
  ledger_.commit();
  if (!quotas_.governs() || job.job.queue < 0) return {};
  const Amounts amounts = amounts_of(job);
  quotas_.give_back(job.job.queue, amounts);
  quotas_.unmark(job.job.queue, amounts, job.quota_mark);
  if (job.quota_mark != 0) marks_are_stale_ = true;
  return {};
}

Status RoundState::shrink(std::int64_t id, std::span<const TaskName> tasks) {
  RunningJob& job = *running_.find(id);
  const Amounts before = amounts_of(job);
  for (const TaskName& name : tasks) {
    const auto found = std::ranges::find_if(
        job.tasks, [&](const RunningTask& t) { return t.group == name.group && t.task == name.task; });
    BERTH_TRY(ledger_.release(found->holding));
    --job.job.groups[static_cast<std::size_t>(name.group)].placed;
    job.tasks.erase(found);
  }
  ledger_.commit();
  if (!quotas_.governs() || job.job.queue < 0) return {};
  quotas_.give_back(job.job.queue, before);
  quotas_.unmark(job.job.queue, before, job.quota_mark);
  const Amounts after = amounts_of(job);
  quotas_.take(job.job.queue, after);
  job.quota_mark = quotas_.mark(job.job.queue, after);
  marks_are_stale_ = true;
  return {};
}

void RoundState::renew_marks() {
  if (!marks_are_stale_) return;
  marks_are_stale_ = false;
  std::vector<RunningJob*> by_start;
  for (RunningJob& job : running_.all()) {
    if (job.job.queue >= 0) by_start.push_back(&job);
  }
  std::ranges::sort(by_start, {}, [](const RunningJob* job) { return std::tuple(job->start, job->job.id); });
  quotas_.clear_marks();
  // What was promised stays as long as the quota covers it; what is left goes to those that ran on borrowed quota.
  for (RunningJob* job : by_start) {
    job->quota_mark = quotas_.mark(job->job.queue, amounts_of(*job), 0, job->quota_mark);
  }
  for (RunningJob* job : by_start) {
    job->quota_mark = quotas_.mark(job->job.queue, amounts_of(*job), job->quota_mark);
  }
}

}  // namespace berth
