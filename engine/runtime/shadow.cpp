#include "engine/runtime/shadow.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "engine/base/text.h"
#include "engine/policy/registry.h"
#include "engine/runtime/policies.h"
#include "engine/runtime/reason_words.h"

namespace berth {

namespace {

// Sets a flag after a time, unless it is destroyed before.
class Alarm {
 public:
  explicit Alarm(std::chrono::milliseconds after) : thread_([this, after] { wait(after); }) {}
  ~Alarm() {
    {
      const std::scoped_lock lock(mutex_);
      is_done_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  const std::atomic<bool>* flag() const { return &rang_; }
  bool rang() const { return rang_; }

 private:
  void wait(std::chrono::milliseconds after) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, after, [this] { return is_done_; })) rang_ = true;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_done_ = false;
  std::atomic<bool> rang_ = false;
  std::thread thread_;  // last: it uses the others
};

// What a plan does with jobs, without the marks, reservations and standings that follow from it.
struct JobFates {
  std::map<std::int64_t, std::set<NodeIndex>> starts;
  std::map<std::int64_t, const Eviction*> evictions;
  std::map<std::int64_t, Reason> waits;
  MilliGpu gpu;
  std::int64_t lost = 0;

  explicit JobFates(const Plan& plan) {
    for (const Placement& each : plan.placements) {
      starts[each.job].insert(each.node);
      gpu += each.gpu_milli * std::popcount(each.devices);
    }
    for (const Eviction& each : plan.evictions) {
      evictions.emplace(each.job, &each);
      lost += each.lost;
    }
    for (const Waiting& each : plan.waiting) waits.emplace(each.job, each.reason);
  }
};

class FateWords {
 public:
  FateWords(Database& db, const Snapshot& snapshot) : db_(db), snapshot_(snapshot) {}

  std::string say(const JobFates& fates, std::int64_t job) const {
    std::vector<std::string> words;
    if (const auto found = fates.evictions.find(job); found != fates.evictions.end()) {
      words.push_back("evicted for " + beneficiary_words(*found->second, [&](std::int64_t id) { return name(id); }));
    }
    if (const auto found = fates.starts.find(job); found != fates.starts.end()) {
      std::vector<std::string> nodes;
      for (const NodeIndex node : found->second) {
        const auto index = static_cast<std::size_t>(node);
        const auto& names = snapshot_.cluster.node_names;
        nodes.push_back(index < names.size() ? names[index] : fmt::format("{}", node));
      }
      words.push_back("starts on " + join(nodes, ", "));
    }
    if (const auto found = fates.waits.find(job); found != fates.waits.end() && words.empty()) {
      words.push_back(fmt::format("waits: {}", reason_words(found->second)));
    }
    return words.empty() ? std::string("as before") : join(words, ", ");
  }

 private:
  std::string name(std::int64_t id) const {
    const Result<std::string> found = job_name(db_, id);
    return found.ok() ? "job " + *found : fmt::format("job {}", id);
  }
  Database& db_;
  const Snapshot& snapshot_;
};

bool is_pending(const Snapshot& snapshot, std::int64_t job) {
  return std::ranges::find(snapshot.running, job, [](const RunningJob& each) { return each.job.id; }) ==
         snapshot.running.end();
}

double seconds_since(std::chrono::steady_clock::time_point begun) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

ShadowRound plan_shadow(Runtime& runtime, const PlannedRound& live, const ShadowRow& shadow,
                        std::chrono::milliseconds budget) {
  const auto begun = std::chrono::steady_clock::now();
  Snapshot snapshot = live.loaded.snapshot;
  if (shadow.order_policy) snapshot.order_policy = *shadow.order_policy;
  if (shadow.score_policy) snapshot.score_policy = *shadow.score_policy;
  const Status scripts = add_scripts(runtime.db(), snapshot);
  const Alarm alarm(budget);
  ScheduleOptions options;
  options.interrupted = alarm.flag();
  const Result<ScheduleResult> planned = scripts.ok() ? plan_snapshot(snapshot, options) : scripts;
  ShadowRound seen;
  if (planned.ok() && !planned->failures.empty()) {
    seen.state = ShadowState::kFailed;
    seen.detail = describe(planned->failures.front());
  } else if (planned.ok()) {
    seen = compare_with_shadow(runtime.db(), snapshot, live.schedule.plan, planned->plan);
  } else {
    seen.state = alarm.rang() ? ShadowState::kOverBudget : ShadowState::kFailed;
    if (!alarm.rang()) seen.detail = planned.status().message();
  }
  seen.seconds = seconds_since(begun);
  return seen;
}

}  // namespace

Result<ShadowRow> shadow_of_policy(Runtime& runtime, std::string_view policy) {
  ShadowRow shadow;
  shadow.since = runtime.now();
  for (const PolicyRow& row : all_policies()) {
    if (!equals_ignoring_case(row.name, policy) || row.kind == PolicyKind::kRightsize) continue;
    shadow.policy = row.name;
    (row.kind == PolicyKind::kOrder ? shadow.order_policy : shadow.score_policy) = row.name;
    return shadow;
  }
  // A script is watched as whatever it can be.
  BERTH_ASSIGN(const std::vector<StoredPolicy> scripts, list_policies(runtime.db()));
  std::vector<std::string> names;
  for (const StoredPolicy& script : scripts) {
    const std::string& name = script.script.name;
    const bool is_order = script.has_hook(hook_of(PolicyKind::kOrder));
    const bool is_score = script.has_hook(hook_of(PolicyKind::kScore));
    if (is_order || is_score) names.push_back(name);
    if (!equals_ignoring_case(name, policy) || (!is_order && !is_score)) continue;
    shadow.policy = name;
    if (is_order) shadow.order_policy = name;
    if (is_score) shadow.score_policy = name;
    return shadow;
  }
  for (const PolicyRow& row : all_policies()) {
    if (row.kind != PolicyKind::kRightsize) names.emplace_back(row.name);
  }
  return Status(Code::kNotFound, fmt::format("no order or score policy named '{}'", policy), suggest(policy, names));
}

ShadowRound compare_with_shadow(Database& db, const Snapshot& snapshot, const Plan& live_plan,
                                const Plan& shadow_plan) {
  const JobFates live(live_plan);
  const JobFates shadow(shadow_plan);
  ShadowRound seen;
  seen.live_starts = static_cast<std::int64_t>(live.starts.size());
  seen.shadow_starts = static_cast<std::int64_t>(shadow.starts.size());
  seen.live_gpu = live.gpu;
  seen.shadow_gpu = shadow.gpu;
  seen.live_evictions = static_cast<std::int64_t>(live.evictions.size());
  seen.shadow_evictions = static_cast<std::int64_t>(shadow.evictions.size());
  seen.live_lost = live.lost;
  seen.shadow_lost = shadow.lost;
  std::set<std::int64_t> different;
  for (const auto& [job, nodes] : live.starts) {
    const auto other = shadow.starts.find(job);
    if (other == shadow.starts.end()) {
      ++seen.only_live;
      different.insert(job);
    } else if (other->second != nodes) {
      ++seen.elsewhere;
      different.insert(job);
    }
    if (is_pending(snapshot, job)) seen.started_live.push_back(job);
  }
  for (const auto& [job, nodes] : shadow.starts) {
    if (!live.starts.contains(job)) {
      ++seen.only_shadow;
      different.insert(job);
    }
    if (is_pending(snapshot, job)) seen.started_by_shadow.push_back(job);
  }
  for (const JobFates* one : {&live, &shadow}) {
    const JobFates& other = one == &live ? shadow : live;
    for (const auto& [job, eviction] : one->evictions) {
      if (!other.evictions.contains(job)) different.insert(job);
    }
  }
  const FateWords words(db, snapshot);
  for (const std::int64_t job : different) {
    if (seen.differences.size() == kMostShadowDifferences) break;
    seen.differences.push_back({job, words.say(live, job), words.say(shadow, job)});
  }
  return seen;
}

Status watch_shadows(Runtime& runtime, const PlannedRound& live, std::int64_t round) {
  BERTH_ASSIGN(const std::vector<ShadowRow> shadows, list_shadows(runtime.db()));
  if (shadows.empty()) return {};
  BERTH_ASSIGN(const Settings settings, read_settings(runtime.db()));
  for (const ShadowRow& shadow : shadows) {
    const ShadowRound seen = plan_shadow(runtime, live, shadow, std::chrono::milliseconds(settings.shadow_budget_ms));
    BERTH_TRY(write_shadow_round(runtime.db(), shadow, round, runtime.now(), seen));
  }
  return {};
}

}  // namespace berth
