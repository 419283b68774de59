#include "engine/runtime/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "engine/base/text.h"
#include "engine/policy/feasibility.h"
#include "engine/policy/registry.h"
#include "engine/round/forecast.h"
#include "engine/round/placer.h"
#include "engine/round/schedule.h"
#include "engine/runtime/behind_words.h"
#include "engine/runtime/dated_forecast.h"
#include "engine/runtime/job_state_words.h"
#include "engine/runtime/policies.h"
#include "engine/runtime/quota_words.h"
#include "engine/runtime/round_driver.h"
#include "engine/store/names.h"
#include "engine/store/stray_records.h"

namespace berth {

namespace {

constexpr int kMostTasks = 100000;
constexpr std::size_t kMostNodesNamed = 5;

std::string name_of_node(const Cluster& cluster, NodeIndex node) {
  return cluster.node_names[static_cast<std::size_t>(node)];
}

Result<std::string> group_name(Runtime& runtime, std::int64_t job, std::int32_t group) {
  BERTH_ASSIGN(Statement row,
               runtime.db().prepare("SELECT name FROM task_groups WHERE job_id = ?1 AND group_index = ?2"));
  row.with(job, group);
  if (!row.next()) return std::string("main");
  return std::string(row.text(0));
}

struct FoundJob {
  std::int64_t id = 0;
  std::string name;
  JobState state = JobState::kPending;
};

Result<FoundJob> look_up_job(Runtime& runtime, std::int64_t id) {
  FoundJob job;
  job.id = id;
  BERTH_ASSIGN(Statement row, runtime.db().prepare("SELECT name, state FROM jobs WHERE id = ?1"));
  row.with(job.id);
  if (!row.next()) return Status(Code::kNotFound, fmt::format("no job with id {}", id));
  job.name = row.text(0);
  BERTH_ASSIGN(job.state, read_job_state(row.text(1)));
  return job;
}

bool rounds_look_at(const Job& job) {
  const auto is_missing_some = [](const TaskGroup& group) { return group.placed < group.count; };
  return job.state == JobState::kPending ||
         (job.state == JobState::kRunning && std::ranges::any_of(job.groups, is_missing_some));
}

const Job* job_in(const Snapshot& snapshot, std::int64_t id) {
  const auto found =
      std::find_if(snapshot.jobs.begin(), snapshot.jobs.end(), [&](const Job& job) { return job.id == id; });
  return found == snapshot.jobs.end() ? nullptr : &*found;
}

// Its place among the waiting jobs, from 1.
std::int64_t place_in_order(const Snapshot& snapshot, const std::vector<std::int64_t>& order, std::int64_t job) {
  std::unordered_set<std::int64_t> pending;
  for (const Job& waiting : snapshot.jobs) {
    if (waiting.state == JobState::kPending) pending.insert(waiting.id);
  }
  std::int64_t place = 1;
  for (const std::int64_t id : order) {
    if (id == job) break;
    if (pending.contains(id)) ++place;
  }
  return place;
}

// Whether the job would fit the cluster as it runs now, nobody else waiting; or what it lacks then.
Result<JobOutcome> place_alone(const Snapshot& snapshot, const Job& job) {
  BERTH_ASSIGN(Ledger ledger, ledger_of(snapshot));
  BERTH_ASSIGN(const std::unique_ptr<NodeScore> score, score_of(snapshot));
  return Placer(ledger, *score, {}, snapshot.seed).place_job(job);
}

// Whether its gang would fit the cluster with nothing running and all nodes up.
Result<bool> fits_empty(const Snapshot& snapshot, Job job) {
  Snapshot empty;
  empty.cluster = snapshot.cluster;
  empty.score_policy = "best_fit";  // any: it is about whether
  for (Node& node : empty.cluster.nodes) {
    node.state = NodeState::kUp;
    node.unhealthy = 0;
  }
  for (NodeKind& kind : empty.cluster.kinds) kind.keeps_out = 0;
  for (TaskGroup& group : job.groups) {
    group.placed = 0;
    group.anchor = -1;
    group.anchor_devices = 0;
  }
  BERTH_ASSIGN(const JobOutcome outcome, place_alone(empty, job));
  return outcome.started;
}

void say_nodes(const ShapeExplanation& nodes_say, const TaskShape& shape, const Cluster& cluster,
               JobExplanation& explanation) {
  for (const ReasonCount& count : nodes_say.reasons) {
    const SaidReason said = is_permanent(count.reason) || count.eligible_nodes == 0
                                ? SaidReason{std::string(reason_words(count.reason)), ""}
                                : say_passing(count.reason, shape, count.eligible_nodes, nodes_say.eligible);
    explanation.reasons.push_back({.reason = count.reason,
                                   .nodes = count.nodes,
                                   .eligible_nodes = count.eligible_nodes,
                                   .sentence = count.reason == Reason::kNone ? "a task fits there" : said.sentence,
                                   .nearest_node = count.nearest < 0 ? "" : name_of_node(cluster, count.nearest),
                                   .lacks = describe_shortfall(count.lacks)});
  }
  if (nodes_say.nearest >= 0) {
    explanation.nearest_node = name_of_node(cluster, nodes_say.nearest);
    explanation.nearest_lacks = describe_shortfall(nodes_say.lacks);
  }
}

QuotaWait wait_for_quota(const JobExplanation& explanation) {
  if (explanation.start_when.empty()) return {.helps = explanation.start_p50.has_value()};
  return {.helps = true,
          .date = fmt::format("{}, when {}", print_time(*explanation.start_p50), explanation.start_when)};
}

// "queue nlp has 12 GPUs there (3 jobs), queue ads 4 GPUs (1 job); job bert is expected to end first, about ..."
std::string say_held_by(const Snapshot& snapshot, const RoundState& state, const TaskShape& shape,
                        const std::string& next_job, std::optional<Seconds> next_end) {
  constexpr std::size_t kMostNamed = 3;
  std::vector<std::string> parts;
  for (const QueueHolding& held : holders_of(state, shape)) {
    if (parts.size() == kMostNamed) break;
    const std::string amount = shape.gpu_count > 0 ? print_gpu(held.gpu) + (held.gpu == kWholeDevice ? " GPU" : " GPUs")
                                                   : print_cpu(held.cpu) + " CPU";
    const std::string name =
        held.queue < 0 ? "jobs without a queue" : "queue " + snapshot.queues[static_cast<std::size_t>(held.queue)].name;
    parts.push_back(fmt::format("{} {} ({} job{})", name, amount, print_count(held.jobs), held.jobs == 1 ? "" : "s"));
  }
  if (parts.empty()) return {};
  std::string sentence = join(parts, ", ");
  if (next_end) sentence += fmt::format("; expected to end first: {}, about {}", next_job, print_time(*next_end));
  return sentence;
}

SaidReason say_order(const JobExplanation& explanation) {
  const bool is_first = explanation.place == 1;
  std::string sentence =
      fmt::format("it would fit the cluster as it runs now, but {}",
                  is_first ? "a job with an older reservation takes the room first" : "jobs ahead of it take the room");
  if (explanation.place > 0)
    sentence += fmt::format(": it is number {} of {} in the order", print_count(explanation.place),
                            print_count(explanation.waiting));
  return {std::move(sentence), "wait", Remedy::kHigherClass};
}

// Nodes that keep it out because it may run for too long.
SaidReason say_kept_out(const Job& job, const ShapeExplanation& nodes_say, const Snapshot& snapshot) {
  const auto count = std::ranges::find(nodes_say.reasons, Reason::kKeptOut, &ReasonCount::reason);
  const std::int32_t nodes = count == nodes_say.reasons.end() ? 0 : count->nodes;
  Seconds longest;  // that one of them takes
  for (const KeptOutNode& node : snapshot.kept_out)
    if (node.limit < Seconds(kNoLimit)) longest = std::max(longest, node.limit - Seconds(1));
  const std::string limit = job.time_limit == Seconds(0)
                                ? "it has no time_limit"
                                : fmt::format("its time_limit is {}", print_duration(job.time_limit));
  return {fmt::format("{} of {} {} kept for something else that the cluster has planned, and it may still run then: {}",
                      nodes, print_counted(nodes_say.nodes, "node"), nodes == 1 ? "is" : "are", limit),
          longest > Seconds(0) ? fmt::format("submit it with a time_limit of at most {}, or wait until that is over",
                                             print_duration(longest))
                               : "submit it with a time_limit, or wait until that is over"};
}

SaidReason say_nodes_lack(const Waiting& waiting, const Job& job, const ShapeExplanation& nodes_say,
                          const Snapshot& snapshot) {
  const Cluster& cluster = snapshot.cluster;
  const TaskGroup& group = job.groups[static_cast<std::size_t>(waiting.group)];
  const TaskShape& shape = group.shape;
  SaidReason said;
  if (waiting.reason == Reason::kKeptOut) return say_kept_out(job, nodes_say, snapshot);
  if (is_permanent(waiting.reason)) {
    said = say_permanent(waiting.reason, shape, cluster);
    said.sentence = fmt::format("it can never start on this cluster: {}", said.sentence);
    return said;
  }
  if (waiting.reason == Reason::kGang) {
    said = {fmt::format("{} of the {} tasks that must start together ({} each) fit now", waiting.fits, waiting.needed,
                        describe_shape(shape, cluster)),
            "wait for running jobs to end", Remedy::kSmallerGang};
  } else if (waiting.reason == Reason::kLocality) {
    said = {fmt::format("its {} tasks fit, but not within one {}", waiting.needed, locality_name(group.locality)),
            "wait for running jobs to end", Remedy::kWiderLocality};
  } else {
    const auto count = std::ranges::find(nodes_say.reasons, waiting.reason, &ReasonCount::reason);
    said = say_passing(waiting.reason, shape, count == nodes_say.reasons.end() ? 0 : count->eligible_nodes,
                       nodes_say.eligible);
  }
  if (waiting.in_pieces) said.sentence += "; as many GPUs as it lacks are free, but scattered";
  return said;
}

// The round looked at nodes on which jobs ahead of it have started: what it lacks on the nodes as they are now.
Waiting as_it_is_now(Waiting waiting, const JobOutcome& alone, const ShapeExplanation& nodes_say) {
  if (is_permanent(waiting.reason) || alone.group != waiting.group) return waiting;
  waiting.fits = alone.fits;
  waiting.needed = alone.needed;
  if (alone.reason != Reason::kNone) {
    waiting.reason = alone.reason;
  } else if (nodes_say.dominant != Reason::kNone) {
    waiting.reason = nodes_say.dominant;
  }
  return waiting;
}

// Of a gang that not even the empty cluster holds.
Result<SaidReason> say_never(const Snapshot& snapshot, const Job& job, const Waiting& waiting) {
  const TaskGroup& group = job.groups[static_cast<std::size_t>(waiting.group)];
  Job anywhere = job;
  for (TaskGroup& each : anywhere.groups) each.locality = Locality::kAny;
  BERTH_ASSIGN(const bool fits_anywhere, fits_empty(snapshot, anywhere));
  if (!fits_anywhere) {
    return SaidReason{fmt::format("it can never start on this cluster: its {} tasks ({} each) do not fit at once, even "
                                  "when it is empty",
                                  group.min_tasks, describe_shape(group.shape, snapshot.cluster)),
                      "submit it with a smaller min_tasks, or add nodes"};
  }
  return SaidReason{
      fmt::format("it can never start on this cluster: no {} holds its {} tasks ({} each), even when empty",
                  locality_name(group.locality), group.min_tasks, describe_shape(group.shape, snapshot.cluster)),
      "submit it with a wider or a merely preferred locality, or with a smaller min_tasks"};
}

// "bor (17.1 GPU-hours lost), 2 tasks of ads-7 (0.0 GPU-hours lost)", and why them; the largest losses of many.
Result<std::string> say_evictions(Database& db, const Snapshot& snapshot, std::vector<Eviction> evictions) {
  constexpr std::size_t kMost = 3;
  std::ranges::stable_sort(evictions, std::greater<>(), &Eviction::lost);
  std::vector<std::string> said;
  for (std::size_t i = 0; i < std::min(kMost, evictions.size()); ++i) {
    const Eviction& eviction = evictions[i];
    BERTH_ASSIGN(const std::string name, job_name(db, eviction.job));
    const std::string what =
        eviction.whole
            ? name
            : fmt::format("{} of {}", print_counted(static_cast<std::int64_t>(eviction.tasks.size()), "task"), name);
    said.push_back(fmt::format("{} ({:.1f} GPU-hours lost)", what, static_cast<double>(eviction.lost) / 3.6e6));
  }
  if (evictions.size() > kMost)
    said.push_back(print_counted(static_cast<std::int64_t>(evictions.size() - kMost), "more job"));
  if (!evictions.empty()) said.push_back(victim_choice_words(snapshot, evictions.front()));
  return join(said, ", ");
}

// Room would be made for it now, but for the eviction budgets of those who would lose by it; empty = not so.
Result<std::string> say_budgets(const Snapshot& snapshot, std::int64_t job, const std::atomic<bool>* interrupted) {
  const auto has_budget = [](const Queue& queue) { return queue.eviction_budget >= 0; };
  if (snapshot.rules.eviction_budget < 0 && std::ranges::none_of(snapshot.queues, has_budget)) return std::string();
  Snapshot without = snapshot;
  without.rules.eviction_budget = -1;
  for (Queue& queue : without.queues) queue.eviction_budget = -1;
  BERTH_ASSIGN(const ScheduleResult result, plan_schedule(without, {.interrupted = interrupted, .until_job = job}));
  std::vector<std::string> names;
  for (const Eviction& eviction : result.plan.evictions) {
    if (!eviction.makes_room_for(job)) continue;
    const auto run =
        std::ranges::find(snapshot.running, eviction.job, [](const RunningJob& each) { return each.job.id; });
    if (run == snapshot.running.end() || run->job.queue < 0) continue;
    const Queue& queue = snapshot.queues[static_cast<std::size_t>(run->job.queue)];
    if (queue.eviction_budget < 0 && snapshot.rules.eviction_budget < 0) continue;
    if (std::ranges::find(names, queue.name) == names.end()) names.push_back(queue.name);
  }
  if (names.empty()) return std::string();
  return fmt::format("room would be made for it, but what that loses is beyond the eviction budget of {}",
                     join_some(names, kMostNodesNamed));
}

// Who has what it needs, and when it is expected to start.
Status look_ahead(Runtime& runtime, const Snapshot& snapshot, const RoundState& state, const Job& job,
                  const TaskShape& shape, const std::atomic<bool>* interrupted, JobExplanation& explanation) {
  std::string next_job;
  std::optional<Seconds> next_end;
  if (const RunningJob* next = next_to_end(state, shape, snapshot.now);
      next != nullptr && next->job.expected_end(next->start) >= next->start) {
    BERTH_ASSIGN(next_job, job_name(runtime.db(), next->job.id));
    next_end = expected_end_of(*next, state.rules(), snapshot.now);
  }
  explanation.held_by = say_held_by(snapshot, state, shape, next_job, next_end);
  BERTH_ASSIGN(const DatedForecast dated, forecast_with_dates(runtime.db(), snapshot, job.id, interrupted));
  const Forecast& forecast = dated.forecast;
  explanation.start_p50 = forecast.p50;
  explanation.start_p90 = forecast.p90;
  explanation.start_when = dated.when;
  if (!dated.when.empty()) {
    explanation.start_p90.reset();  // a date is what it is
  } else if (forecast.p50) {
    BERTH_ASSIGN(StartCalibration calibration, read_start_calibration(runtime.db()));
    const ExpectedStart expected =
        calibration.expect({*forecast.p50, forecast.p90.value_or(*forecast.p50)}, snapshot.now);
    explanation.known_starts = static_cast<std::int64_t>(calibration.known_starts());
    explanation.start_p50 = expected.p50;
    if (forecast.p90) explanation.start_p90 = expected.p90;
    BERTH_ASSIGN(explanation.told, last_expectation(runtime.db(), job.id));
    if (explanation.told && explanation.told->expected == expected) explanation.told.reset();
    BERTH_ASSIGN(explanation.evicts, say_evictions(runtime.db(), snapshot, forecast.evictions));
  }
  explanation.guesses = forecast.guesses;
  explanation.guessed_duration = snapshot.rules.default_duration;
  return {};
}

// Waiting where that is expected to help, the remedy if it is one, or else where to find one.
Status say_next_step(const Snapshot& snapshot, const Waiting& waiting, const SaidReason& said,
                     const std::atomic<bool>* interrupted, JobExplanation& explanation) {
  std::string& step = explanation.next_step;
  const bool has_remedy = said.remedy != Remedy::kNone;
  if (!has_remedy || explanation.start_p50) step = said.next_step;
  // What it lacks is there when the terms change, not when some job ends.
  if (explanation.start_p50 && !explanation.start_when.empty() && has_remedy)
    step = fmt::format("wait until {}, when {}", print_time(*explanation.start_p50), explanation.start_when);
  if (explanation.start_p50 && !explanation.evicts.empty() && has_remedy)
    step = fmt::format("wait until about {}, when others are evicted for it", print_time(*explanation.start_p50));
  if (!has_remedy) return {};
  bool is_cured = false;
  for (const Remedy remedy : {said.remedy, said.or_remedy}) {
    if (remedy == Remedy::kNone) continue;
    const Snapshot remedied = with_remedy(snapshot, waiting.job, waiting.group, remedy, said.about);
    BERTH_ASSIGN(const bool helps, would_start(remedied, waiting.job, interrupted));
    if (helps) {
      step += fmt::format("{}{}", step.empty() ? "" : ", or ", remedy_words(remedy, said.about_queue));
      is_cured = true;
    } else if (remedy == Remedy::kResumeNodes && !explanation.start_p50) {
      BERTH_ASSIGN(const Forecast forecast, forecast_start(remedied, waiting.job, interrupted));
      if (!forecast.p50) continue;
      step = fmt::format("{}, and wait for running jobs to end", remedy_words(remedy));
      return {};
    }
  }
  if (is_cured) return {};
  step += fmt::format("{}EXPLAIN JOB {} COUNTERFACTUAL; tells what {}would start it", step.empty() ? "" : "; ",
                      explanation.job, step.empty() ? "" : "else ");
  return {};
}

SaidReason say_policy(const Waiting& waiting, const Snapshot& snapshot) {
  if (!waiting.words.empty())
    return {fmt::format("order policy {} holds it back: {}", snapshot.order_policy, waiting.words),
            fmt::format("SHOW POLICY {};", snapshot.order_policy)};
  return {fmt::format("filter policy {} lets it run on no node that has room", snapshot.filter_policy),
          fmt::format("SHOW POLICY {};", snapshot.filter_policy)};
}

// What assertions did to the last round; empty = nothing.
Result<std::string> last_refusal(Database& db) {
  BERTH_ASSIGN(Statement last, db.prepare("SELECT kind, object FROM events ORDER BY id DESC LIMIT 1"));
  const bool is_there = last.next();
  BERTH_TRY(last.status());
  if (is_there && last.text(0) == "refuse round")
    return fmt::format("but the last round was refused: it would have broken assertion {}", last.text(1));
  if (is_there && last.text(0) == "fail assertion")
    return fmt::format("but the last round was not applied: assertion {} could not be asked", last.text(1));
  return std::string();
}

// "until 2026-12-01 09:00:00 no room is made or kept for it"
std::string without_claim_words(const AssertionRefusal& refusal, const RoundRules& rules) {
  return fmt::format("until {} no room is made or kept for it", print_time(refusal.at + rules.reservation_ttl));
}

// "assertion few refused it at 2026-12-01 08:00:00"
Result<std::string> refusal_words(Database& db, const AssertionRefusal& refusal) {
  BERTH_ASSIGN(const std::string assertion, name_of(db, Thing::kAssertion, refusal.assertion));
  return fmt::format("assertion {} refused it at {}", assertion, print_time(refusal.at));
}

Result<SaidReason> say_assertion(Database& db, const AssertionHold& hold) {
  BERTH_ASSIGN(const std::string assertion, name_of(db, Thing::kAssertion, hold.assertion));
  if (hold.like_job == 0)
    return SaidReason{
        fmt::format("held back by assertion {}: in the last round starting it would have broken it", assertion),
        "SHOW ASSERTIONS;"};
  BERTH_ASSIGN(const std::string like, job_name(db, hold.like_job));
  return SaidReason{fmt::format("held back by assertion {}: the last round did not try it, as starting {}, which is "
                                "like it, would have broken it; the next ones may",
                                assertion, like),
                    "SHOW ASSERTIONS;"};
}

}  // namespace

Result<JobExplanation> explain_job(Runtime& runtime, std::string_view name, const std::atomic<bool>* interrupted) {
  BERTH_ASSIGN(const std::int64_t id, find_job(runtime.db(), name));
  BERTH_ASSIGN(Loaded loaded,
               load_for_planning(runtime, {.now = runtime.now(), .node_names = true, .also_job = std::nullopt}));
  BERTH_TRY(replace_failing_scripts(runtime.db(), loaded.snapshot, interrupted));
  return explain_loaded_job(runtime, loaded.snapshot, id, {.interrupted = interrupted});
}

Result<JobExplanation> explain_loaded_job(Runtime& runtime, const Snapshot& snapshot, std::int64_t id,
                                          const ExplainOptions& options) {
  BERTH_ASSIGN(const FoundJob found, look_up_job(runtime, id));
  JobExplanation explanation;
  explanation.job = found.name;
  explanation.state = found.state;
  const Job* job = job_in(snapshot, found.id);
  bool stops = false;
  if (found.state == JobState::kRunning) {
    BERTH_ASSIGN(stops, is_stopping(runtime.db(), id));
  }
  if (job == nullptr || stops || !rounds_look_at(*job)) {
    BERTH_ASSIGN(explanation.sentence, state_sentence(runtime.db(), id, found.state, snapshot.now));
    if (found.state == JobState::kRunning) explanation.next_step = fmt::format("SHOW TASKS OF JOB {};", found.name);
    if (found.state == JobState::kHeld) {
      BERTH_ASSIGN(const std::optional<StrayOfJob> stray, stray_of_job(runtime.db(), id));
      explanation.next_step = stray ? stray->next_step : fmt::format("RELEASE JOB {};", found.name);
    }
    return explanation;
  }

  BERTH_ASSIGN(const Planning planning, planning_of(snapshot));
  BERTH_ASSIGN(const ScheduleResult schedule,
               plan_schedule_on(snapshot, *planning.state, {.interrupted = options.interrupted, .until_job = id}));
  explanation.waiting = std::count_if(snapshot.jobs.begin(), snapshot.jobs.end(),
                                      [](const Job& waiting) { return waiting.state == JobState::kPending; });
  if (job->state == JobState::kPending) explanation.place = place_in_order(snapshot, schedule.order, job->id);
  for (const Placement& placement : schedule.plan.placements) {
    if (placement.job != job->id) continue;
    explanation.placements.push_back(placement);
    explanation.placement_nodes.push_back(name_of_node(snapshot.cluster, placement.node));
  }
  if (!explanation.placements.empty()) {
    explanation.starts = true;
    std::vector<std::string> on = explanation.placement_nodes;
    on.erase(std::unique(on.begin(), on.end()), on.end());
    const std::size_t shown = std::min<std::size_t>(on.size(), 4);
    explanation.sentence = fmt::format(
        "the next round starts {} task{} of it on {}{}", explanation.placements.size(),
        explanation.placements.size() == 1 ? "" : "s",
        fmt::join(on.begin(), on.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
        on.size() > shown ? fmt::format(" and {} more", count_nodes(static_cast<std::int64_t>(on.size() - shown)))
                          : "");
    explanation.next_step = "RUN SCHEDULE;";
    std::vector<Eviction> for_it;
    std::ranges::copy_if(schedule.plan.evictions, std::back_inserter(for_it),
                         [&](const Eviction& each) { return each.makes_room_for(job->id); });
    BERTH_ASSIGN(explanation.evicts, say_evictions(runtime.db(), snapshot, std::move(for_it)));
    if (!explanation.evicts.empty()) explanation.sentence += fmt::format(", by evicting {}", explanation.evicts);
    BERTH_ASSIGN(std::string refusal, last_refusal(runtime.db()));
    if (const AssertionRefusal* const own = find_refusal(snapshot.refused, job->id);
        own != nullptr && refusal.empty()) {
      BERTH_ASSIGN(refusal, refusal_words(runtime.db(), *own));
      refusal = "but " + refusal;
    }
    if (!refusal.empty()) {
      explanation.sentence += "; " + refusal;
      explanation.next_step = "SHOW ASSERTIONS;";
    }
    return explanation;
  }
  const auto waiting = std::find_if(schedule.plan.waiting.begin(), schedule.plan.waiting.end(),
                                    [&](const Waiting& w) { return w.job == job->id; });
  const AssertionHold* const hold = find_hold(snapshot.holds, job->id);
  const AssertionHold* const part = hold != nullptr ? hold : find_hold(snapshot.surplus_holds, job->id);
  if (waiting == schedule.plan.waiting.end() && part != nullptr) {
    BERTH_ASSIGN(const SaidReason said, say_assertion(runtime.db(), *part));
    explanation.reason = Reason::kAssertion;
    explanation.sentence = "it runs with the tasks it needs; the rest is " + said.sentence;
    explanation.next_step = said.next_step;
    return explanation;
  }
  if (waiting == schedule.plan.waiting.end()) {
    explanation.sentence =
        "it runs with the tasks it needs; for the rest there is no room now, on nodes or within quotas and limits";
    return explanation;
  }
  const TaskGroup& group = job->groups[static_cast<std::size_t>(waiting->group)];
  BERTH_ASSIGN(explanation.group, group_name(runtime, job->id, waiting->group));
  BERTH_ASSIGN(const Planning now, planning_of(snapshot));  // the other one is as after the round
  const ShapeExplanation nodes_say = explain_shape(now.state->ledger(), group.shape);
  say_nodes(nodes_say, group.shape, snapshot.cluster, explanation);
  std::stable_partition(explanation.reasons.begin(), explanation.reasons.end(),
                        [&](const ReasonLine& line) { return line.reason == waiting->reason; });
  if (!is_permanent(waiting->reason) && hold == nullptr) {
    BERTH_TRY(look_ahead(runtime, snapshot, *now.state, *job, group.shape, options.interrupted, explanation));
  }
  const bool is_about_quota =
      waiting->reason == Reason::kQuota || waiting->reason == Reason::kLimit || waiting->reason == Reason::kLenderKeeps;
  const bool is_behind = waiting->reason == Reason::kReserved || waiting->reason == Reason::kBlocked ||
                         waiting->reason == Reason::kDependency;
  SaidReason said;
  explanation.reason = waiting->reason;
  if (waiting->reason == Reason::kDependency) {
    BERTH_ASSIGN(explanation.never_starts, waits_for_ever(runtime.db(), job->id));
    if (explanation.never_starts) explanation.held_by.clear();
  }
  if (hold != nullptr) {
    BERTH_ASSIGN(said, say_assertion(runtime.db(), *hold));
  } else if (waiting->reason == Reason::kPolicy) {
    said = say_policy(*waiting, snapshot);
  } else if (is_about_quota) {
    said = say_quota(*waiting, snapshot, now.state->quotas(), planning.state->quotas(), wait_for_quota(explanation));
  } else if (is_behind) {
    BERTH_ASSIGN(said, say_behind(runtime.db(), *waiting, snapshot, schedule.plan));
  } else {
    BERTH_ASSIGN(const JobOutcome alone, place_alone(snapshot, *job));
    if (alone.started) explanation.reason = Reason::kOrder;
    said = alone.started ? say_order(explanation)
                         : say_nodes_lack(as_it_is_now(*waiting, alone, nodes_say), *job, nodes_say, snapshot);
    if (!alone.started && !explanation.start_p50 && !is_permanent(waiting->reason)) {
      BERTH_ASSIGN(const bool could_fit, fits_empty(snapshot, *job));
      if (!could_fit) {
        BERTH_ASSIGN(said, say_never(snapshot, *job, *waiting));
        explanation.never_starts = true;
      }
    }
  }
  if (said.remedy == Remedy::kResumeNodes) {
    BERTH_ASSIGN(const std::vector<std::string> closed, nodes_of_strays(runtime.db()));
    if (!closed.empty()) {
      said.remedy = Remedy::kNone;
      said.next_step =
          fmt::format("stray tasks keep {} closed: STOP STRAYS ends them, KEEP STRAYS lets them end (SHOW DRIFT)",
                      join_some(closed, kMostNodesNamed));
    }
    BERTH_ASSIGN(const std::string silence, silence_of_closed_nodes(runtime.db()));
    if (!silence.empty()) {
      said = {fmt::format("{}: {}", said.sentence, silence), "SHOW EXECUTORS;", Remedy::kNone};
    }
  }
  explanation.sentence = said.sentence;
  if (const AssertionRefusal* const refusal = find_refusal(snapshot.refused, job->id); refusal != nullptr) {
    if (hold == nullptr || hold->like_job != 0) {
      BERTH_ASSIGN(const std::string words, refusal_words(runtime.db(), *refusal));
      explanation.sentence += "; " + words;
    }
    explanation.sentence += "; " + without_claim_words(*refusal, snapshot.rules);
  }
  if (const std::string words = step_back_words(snapshot, *now.state, *job); !words.empty())
    explanation.sentence += "; " + words;
  if (is_permanent(waiting->reason)) explanation.never_starts = true;
  if (options.next_step && hold == nullptr && !explanation.never_starts && waiting->reason != Reason::kReserved) {
    BERTH_ASSIGN(const std::string budgets, say_budgets(snapshot, job->id, options.interrupted));
    if (!budgets.empty()) explanation.sentence += "; " + budgets;
    BERTH_ASSIGN(const std::string date, date_against_room(runtime.db(), snapshot, job->id, options.interrupted));
    if (!date.empty()) explanation.sentence += "; rounds make no room for it because " + date;
  }
  if (options.next_step) BERTH_TRY(say_next_step(snapshot, *waiting, said, options.interrupted, explanation));
  return explanation;
}

Result<NodeExplanation> explain_job_on_node(Runtime& runtime, std::string_view job_text, std::string_view node_text) {
  BERTH_ASSIGN(const std::int64_t id, find_job(runtime.db(), job_text));
  BERTH_ASSIGN(const FoundJob found, look_up_job(runtime, id));
  BERTH_ASSIGN(const std::int64_t node_id, find_id(runtime.db(), Thing::kNode, node_text));
  BERTH_ASSIGN(const Loaded loaded,
               load_for_planning(runtime, {.now = runtime.now(), .node_names = true, .also_job = found.id}));
  const Snapshot& snapshot = loaded.snapshot;
  const Job* job = job_in(snapshot, found.id);
  if (job == nullptr) return Status(Code::kInternal, fmt::format("job {} was not loaded", found.id));
  BERTH_ASSIGN(const Ledger ledger, ledger_of(snapshot));
  const auto at = std::find_if(snapshot.cluster.nodes.begin(), snapshot.cluster.nodes.end(),
                               [&](const Node& n) { return n.id == node_id; });
  const NodeIndex node = static_cast<NodeIndex>(at - snapshot.cluster.nodes.begin());

  NodeExplanation explanation;
  explanation.job = found.name;
  explanation.node = name_of_node(snapshot.cluster, node);
  for (std::size_t g = 0; g < job->groups.size(); ++g) {
    const TaskGroup& group = job->groups[g];
    NodeExplanation::Group answer;
    BERTH_ASSIGN(answer.name, group_name(runtime, job->id, static_cast<std::int32_t>(g)));
    answer.reason = reason_on_node(ledger, group.shape, node);
    answer.fits = ledger.accepts_tasks(node) ? copies_that_fit(ledger.view(node), group.shape, kMostTasks) : 0;
    const std::string lacks = describe_shortfall(shortfall_on(ledger.view(node), group.shape));
    answer.sentence =
        answer.reason == Reason::kNone
            ? fmt::format("a task ({}) fits there now", describe_shape(group.shape, snapshot.cluster))
            : fmt::format("a task ({}) does not fit: {}{}", describe_shape(group.shape, snapshot.cluster),
                          reason_words(answer.reason), lacks.empty() ? "" : fmt::format("; it lacks {}", lacks));
    explanation.groups.push_back(std::move(answer));
  }
  return explanation;
}

}  // namespace berth
