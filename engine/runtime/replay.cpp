#include "engine/runtime/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "engine/base/text.h"
#include "engine/lua/script_policies.h"
#include "engine/runtime/reason_words.h"
#include "engine/runtime/round_driver.h"

namespace berth {

namespace {

// What a plan says, one sentence for each object, in the plan's order.
class Sayings {
 public:
  Sayings(Database& db, const Snapshot& snapshot) : db_(db), snapshot_(snapshot) {}

  void read(const Plan& plan) {
    for (const Eviction& each : plan.evictions) {
      std::string& text = of_job(each.job);
      const std::string beneficiary =
          beneficiary_words(each, [](std::int64_t job) { return fmt::format("job {}", job); });
      text += fmt::format("{} for {} (rule {}, {} GPU-seconds lost)", each.whole ? "evicted" : "shrunk", beneficiary,
                          eviction_rule_name(each.rule), print_gpu(MilliGpu(each.lost)));
      if (each.stop_at > plan.planned_at) text += fmt::format(" at {}", print_time(each.stop_at));
      for (const TaskName& task : each.tasks) text += fmt::format(" {}.{}", task.group, task.task);
    }
    for (const std::int64_t job : plan.reprieves) of_job(job) += "told to run on";
    for (const Placement& each : plan.placements) {
      of_job(each.job) += fmt::format("{}.{} on {}{} ({} GPU, {} MiB of it, {} cores, {} MiB)", each.group, each.task,
                                      node_name(each.node), devices_of(each), print_gpu(each.gpu_milli),
                                      each.gpu_memory.value(), print_cpu(each.cpu), each.memory.value());
    }
    for (const Waiting& each : plan.waiting) {
      std::string& text = of_job(each.job);
      text += fmt::format("waits: {} (group {}, {} of {} fit)", reason_name(each.reason), each.group, each.fits,
                          each.needed);
      if (each.queue != 0)
        text += fmt::format(" queue {} lacks {} of {}", queue_name(each.queue), each.short_by, each.resource);
      if (each.in_pieces) text += ", in pieces";
      if (each.passed_over) text += ", passed over";
      if (each.behind_job != 0) text += fmt::format(", behind job {}", each.behind_job);
      if (each.beneficiary != 0) text += fmt::format(", room held by {}", queue_name(each.beneficiary));
    }
    for (const Reservation& each : plan.reservations) {
      std::string& text = of_job(each.job);
      text += fmt::format("room reserved ({}) at {}", reservation_kind_name(each.kind), print_time(each.expected));
      for (const ReservedTask& task : each.tasks)
        text += fmt::format(" {}.{} on {}", task.group, task.task, node_name(task.holding.node));
    }
    for (const QuotaMark& each : plan.marks) of_job(each.job) += fmt::format("quota mark {:#x}", each.mark);
    for (const QueueOutlook& each : plan.outlook) {
      of(fmt::format("queue {}", queue_name(each.queue))) +=
          fmt::format("{} fair share {}{}", each.resource, each.fair_share,
                      each.starves_since >= Seconds(0) ? ", starves since " + print_time(each.starves_since) : "");
    }
  }
  const std::vector<std::string>& objects() const { return objects_; }
  const std::string& text(const std::string& object) const {
    static const std::string nothing;
    const auto found = texts_.find(object);
    return found == texts_.end() ? nothing : found->second;
  }

 private:
  std::string& of(const std::string& object) {
    const auto [found, is_new] = texts_.try_emplace(object);
    if (is_new) objects_.push_back(object);
    if (!found->second.empty()) found->second += "; ";
    return found->second;
  }
  std::string& of_job(std::int64_t job) {
    const auto [found, is_new] = job_names_.try_emplace(job);
    if (is_new) {
      const Result<std::string> name = job_name(db_, job);
      found->second = fmt::format("job {}", name.ok() ? *name : fmt::format("{}", job));
    }
    return of(found->second);
  }
  std::string node_name(NodeIndex node) const {
    const auto index = static_cast<std::size_t>(node);
    return index < snapshot_.cluster.node_names.size() ? snapshot_.cluster.node_names[index]
                                                       : fmt::format("node {}", node);
  }
  static std::string devices_of(const Placement& placement) {
    return placement.devices == 0 ? std::string() : fmt::format(" [{}]", print_device_mask(placement.devices));
  }
  std::string queue_name(std::int64_t id) const {
    const auto found = std::ranges::find(snapshot_.queues, id, &Queue::id);
    return found == snapshot_.queues.end() ? fmt::format("{}", id) : found->name;
  }

  Database& db_;
  const Snapshot& snapshot_;
  std::vector<std::string> objects_;
  std::map<std::string, std::string> texts_;
  std::map<std::int64_t, std::string> job_names_;
};

}  // namespace

Result<std::vector<PlanDifference>> compare_plans(Database& db, const Snapshot& snapshot, const Plan& recorded,
                                                  const Plan& replayed) {
  std::vector<PlanDifference> differences;
  Sayings then(db, snapshot);
  then.read(recorded);
  Sayings now(db, snapshot);
  now.read(replayed);
  for (const std::string& object : then.objects()) {
    if (then.text(object) != now.text(object)) differences.push_back({object, then.text(object), now.text(object)});
  }
  for (const std::string& object : now.objects()) {
    if (then.text(object).empty()) differences.push_back({object, "", now.text(object)});
  }
  if (differences.empty() && !(recorded == replayed)) {
    const auto policies = [](const Plan& plan) { return plan.order_policy + ", " + plan.score_policy; };
    if (policies(recorded) != policies(replayed)) {
      differences.push_back({"round", policies(recorded), policies(replayed)});
    } else {
      differences.push_back({"round", "the same decisions", "in another order"});
    }
  }
  return differences;
}

Result<Replay> replay_round(Runtime& runtime, std::int64_t round, const std::atomic<bool>* interrupted) {
  // What is damaged in one record does not keep the others from being replayed.
  const auto is_damaged = [](const Status& status) {
    return status.code() == Code::kCorrupt || status.code() == Code::kInvalid;
  };
  const auto unreadable = [round](const Status& status) {
    Replay replay;
    replay.round = round;
    replay.unreadable = status.message();
    return replay;
  };
  const Result<RecordedRound> read = read_recorded_round(runtime.db(), round);
  if (is_damaged(read.status())) return unreadable(read.status());
  BERTH_TRY(read.status());
  RecordedRound recorded = *read;
  recorded.snapshot.scripts.maker = &script_policy_maker();
  ScheduleOptions options;
  options.interrupted = interrupted;
  const auto begun = std::chrono::steady_clock::now();
  const Result<ScheduleResult> planned = plan_snapshot(recorded.snapshot, options);
  const bool names_nothing = planned.status().code() == Code::kNotFound;  // such as a policy
  if (is_damaged(planned.status()) || names_nothing) return unreadable(planned.status());
  BERTH_TRY(planned.status());
  Replay replay;
  replay.replayed_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  replay.round = round;
  replay.kind = recorded.kind;
  replay.at = recorded.at;
  replay.engine = recorded.engine;
  replay.started_jobs = started_jobs(recorded.plan);
  replay.waiting_jobs = static_cast<std::int64_t>(recorded.plan.waiting.size());
  replay.recorded_seconds = recorded.plan_seconds;
  replay.is_equal = bytes_of(encode_plan(planned->plan)) == recorded.plan_bytes;
  if (!replay.is_equal) {
    BERTH_ASSIGN(replay.differences, compare_plans(runtime.db(), recorded.snapshot, recorded.plan, planned->plan));
  }
  return replay;
}

Result<std::vector<std::int64_t>> recorded_rounds(Database& db, std::int64_t from, std::int64_t to) {
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT id FROM rounds WHERE id BETWEEN ?1 AND ?2 AND record_id IS NOT NULL "
                                          "ORDER BY id"));
  std::vector<std::int64_t> rounds;
  rows.with(from, to);
  while (rows.next()) rounds.push_back(rows.integer(0));
  BERTH_TRY(rows.status());
  return rounds;
}

}  // namespace berth
