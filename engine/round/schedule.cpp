#include "engine/round/schedule.h"

#include <fmt/format.h>

#include <map>
#include <unordered_map>

#include "engine/model/demand_key.h"
#include "engine/policy/registry.h"
#include "engine/round/explain.h"
#include "engine/round/placer.h"

namespace berth {

namespace {

// What decides whether a job fits: jobs that ask for the same fail for the same reason.
DemandKey demand_of(const Job& job) {
  DemandKey key;
  for (const TaskGroup& group : job.groups) append_demand(group, key);
  return key;
}

bool wants_tasks(const Job& job) {
  for (const TaskGroup& group : job.groups) {
    if (group.placed < group.count) return true;
  }
  return false;
}

Placement placement_of(const Snapshot& snapshot, const Job& job, const PlacedTask& task) {
  return Placement{.job = job.id,
                   .group = task.group,
                   .task = task.task,
                   .node = task.holding.node,
                   .node_id = snapshot.cluster.nodes[static_cast<std::size_t>(task.holding.node)].id,
                   .devices = task.holding.devices,
                   .gpu_milli = task.holding.gpu_milli,
                   .gpu_memory = task.holding.gpu_memory,
                   .cpu = task.holding.cpu,
                   .memory = task.holding.memory};
}

void announce_step(const ScheduleOptions& options, std::string_view step) {
  if (options.step_begins) options.step_begins(step);
}

// One pass over the jobs. Nothing is released during it, so a demand that failed once fails for the rest of the pass.
class SchedulePass {
 public:
  SchedulePass(const Snapshot& snapshot, Ledger& ledger, NodeScore& score, const ScheduleOptions& options)
      : snapshot_(snapshot), ledger_(ledger), options_(options), placer_(ledger, score, {}, snapshot.seed) {}

  Status run(const std::vector<std::int32_t>& order) {
    announce_step(options_, "place");
    for (const std::int32_t index : order) {
      if (options_.interrupted != nullptr && options_.interrupted->load(std::memory_order_relaxed)) {
        return Status(Code::kInterrupted, "planning was interrupted; nothing changed");
      }
      const Job& job = snapshot_.jobs[static_cast<std::size_t>(index)];
      if (wants_tasks(job)) BERTH_TRY(try_job(job));
    }
    announce_step(options_, "reasons");
    name_reasons();
    return {};
  }

  ScheduleResult result() && {
    result_.counters = placer_.candidates().counters();
    return std::move(result_);
  }

 private:
  Status try_job(const Job& job) {
    DemandKey key = demand_of(job);
    if (const auto failed = failed_.find(key); failed != failed_.end()) {
      Waiting again = result_.plan.waiting[failed->second];
      again.job = job.id;
      add_waiting(job, again);
      return {};
    }
    ++result_.jobs_tried;
    const JobOutcome outcome = placer_.place_job(job);
    for (const PlacedTask& task : outcome.placed) result_.plan.placements.push_back(placement_of(snapshot_, job, task));
    if (!outcome.started) {
      if (outcome.needed > 0) {
        failed_.emplace(std::move(key), result_.plan.waiting.size());
        add_waiting(job, {job.id, outcome.reason, outcome.group, outcome.fits, outcome.needed});
      }
      return {};
    }
    ledger_.commit();
    if (options_.check_invariants) {
      if (const std::vector<std::string> broken = ledger_.violations(); !broken.empty()) {
        return Status(Code::kInternal, fmt::format("after job {}: {}", job.id, broken.front()));
      }
    }
    return {};
  }

  void add_waiting(const Job& job, const Waiting& waiting) {
    result_.plan.waiting.push_back(waiting);
    waiting_jobs_.push_back(&job);
  }

  // Where not one task fits, the nodes know why; asked once per shape, at the end of the pass.
  void name_reasons() {
    std::unordered_map<TaskShape, Reason, TaskShapeHash> dominant;
    for (std::size_t i = 0; i < waiting_jobs_.size(); ++i) {
      Waiting& waiting = result_.plan.waiting[i];
      if (waiting.reason != Reason::kNone) continue;
      const TaskShape& shape = waiting_jobs_[i]->groups[static_cast<std::size_t>(waiting.group)].shape;
      const auto [entry, added] = dominant.try_emplace(shape, Reason::kNone);
      if (added) entry->second = explain_shape(ledger_, shape).dominant;
      waiting.reason = entry->second;
    }
  }

  const Snapshot& snapshot_;
  Ledger& ledger_;
  const ScheduleOptions& options_;
  Placer placer_;
  ScheduleResult result_;
  std::vector<const Job*> waiting_jobs_;  // parallel to plan.waiting
  std::map<DemandKey, std::size_t> failed_;
};

}  // namespace

Result<Ledger> ledger_of(const Snapshot& snapshot) {
  Ledger ledger(snapshot.cluster);
  for (const Allocation& a : snapshot.allocations) {
    const bool tracked = snapshot.cluster.kind_of(static_cast<std::size_t>(a.node)).device_memory != MiB(0);
    const Holding holding{a.node, a.devices, a.gpu_milli, tracked ? a.gpu_memory : MiB(0), a.cpu, a.memory};
    if (Status placed = ledger.place(holding); !placed.ok()) {
      return Status(Code::kCorrupt,
                    fmt::format("job {} task {}.{} does not fit the node it runs on: {}", a.job, a.group, a.task,
                                placed.message()),
                    "CHECK; names everything that is broken");
    }
  }
  ledger.commit();
  return ledger;
}

Result<ScheduleResult> plan_schedule_on(const Snapshot& snapshot, Ledger& ledger, const ScheduleOptions& options) {
  BERTH_ASSIGN(const std::unique_ptr<QueueOrder> order, make_order(snapshot.order_policy));
  const ScoreInput score_input{.cluster = &snapshot.cluster, .workload = snapshot.workload, .seed = snapshot.seed};
  BERTH_ASSIGN(const std::unique_ptr<NodeScore> score, make_score(snapshot.score_policy, score_input));
  announce_step(options, "order");
  SchedulePass pass(snapshot, ledger, *score, options);
  BERTH_TRY(pass.run(order->order({.now = snapshot.now,
                                   .seed = snapshot.seed,
                                   .jobs = snapshot.jobs,
                                   .priority_classes = snapshot.priority_classes,
                                   .queues = snapshot.queues,
                                   .aging_interval = snapshot.aging_interval})));
  ScheduleResult result = std::move(pass).result();
  result.plan.version = snapshot.version;
  result.plan.planned_at = snapshot.now;
  result.plan.seed = snapshot.seed;
  result.plan.order_policy = snapshot.order_policy;
  result.plan.score_policy = snapshot.score_policy;
  return result;
}

Result<ScheduleResult> plan_schedule(const Snapshot& snapshot, const ScheduleOptions& options) {
  BERTH_ASSIGN(Ledger ledger, ledger_of(snapshot));
  return plan_schedule_on(snapshot, ledger, options);
}

}  // namespace berth
