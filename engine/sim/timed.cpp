#include "engine/sim/timed.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "engine/base/text.h"
#include "engine/policy/registry.h"
#include "engine/sim/device_floor.h"
#include "engine/sim/timed_run.h"

namespace berth {

namespace {

Status check_options(const QueueOrder& order, const PolicyChoice& policy, const TimedInput& input,
                     const TimedOptions& options) {
  const RoundRules& rules = options.rules;
  const bool holds_room = rules.backfill == BackfillMode::kEasy || rules.backfill == BackfillMode::kConservative;
  if (options.pooled_devices && holds_room) {
    return Status(Code::kInvalid,
                  fmt::format("pooled devices know no backfill '{}'", backfill_mode_name(rules.backfill)),
                  "greedy, none and none_per_queue work on them");
  }
  if (options.pooled_devices && rules.preemption == Preemption::kReclaim) {
    return Status(Code::kInvalid, "pooled devices know no preemption 'reclaim'", "none and replan work on them");
  }
  if (options.pooled_devices && !input.quotas.resources.empty()) {
    return Status(Code::kInvalid, "pooled devices know no quotas", "devices = exact does");
  }
  if (options.expectation_sample > 0 && (options.pooled_devices || rules.preemption == Preemption::kReplan))
    return Status(Code::kInvalid, "starts are told only where the code of live rounds decides");
  if (rules.preemption == Preemption::kReplan && order.keyed() == nullptr) {
    return Status(Code::kInvalid,
                  fmt::format("preemption 'replan' needs an order by a key of each job, '{}' is none", policy.order),
                  "fifo, sjf, smallest_first and las are");
  }
  return {};
}

void note_named(const TraceJob& job, TimedInput& input) {
  for (const TraceEstimate& estimate : job.estimates) {
    if (!input.estimates.contains(estimate.name)) input.estimates.insert(estimate.name);
  }
  for (const TraceTaskGroup& group : job.groups) {
    if (!input.models_texts.contains(group.models)) input.models_texts.insert(group.models);
  }
  input.has_time_limits = input.has_time_limits || job.time_limit > Seconds(0);
}

// Names of the cluster's device models and of those that jobs ask for.
std::vector<std::string> known_models(const TimedInput& input) {
  std::set<std::string> names;
  for (const DeviceModel& model : input.cluster->models) names.insert(model.name);
  for (const std::string& text : input.models_texts) {
    for (const std::string_view part : split(text, '|')) {
      if (!trim(part).empty()) names.emplace(trim(part));
    }
  }
  return {names.begin(), names.end()};
}

Status unknown_name(std::string_view option, std::string_view what, std::string_view name,
                    const std::vector<std::string>& known) {
  const std::string near = suggest(name, known);
  return Status(Code::kNotFound, fmt::format("option '{}': no {} '{}'", option, what, name),
                !near.empty()   ? near
                : known.empty() ? "there are none"
                                : "there are " + join(known, ", "))
      .about(option, name);
}

}  // namespace

Status check_named(const TimedInput& input, const TimedOptions& options) {
  if (options.durations == DurationSource::kEstimate && !input.estimates.contains(options.estimate)) {
    return unknown_name("estimate", "job of the file has an estimate", options.estimate,
                        {input.estimates.begin(), input.estimates.end()});
  }
  if (options.durations == DurationSource::kLimit && !input.has_time_limits) {
    return Status(Code::kInvalid, "no job of the file has a time limit", "oracle and predicted need none")
        .in_option("durations");
  }
  if (!options.binding_models) return {};
  const std::vector<std::string> known = known_models(input);
  for (const std::string& model : *options.binding_models) {
    if (std::ranges::find(known, model) == known.end())
      return unknown_name("binding_models", "node has device model, and no job names,", model, known);
  }
  return {};
}

Result<RestartCost> read_restart_cost(std::string_view text) {
  RestartCost cost;
  const std::vector<std::string_view> parts = split(text, ',');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string_view part = trim(parts[i]);
    const std::size_t to = part.find(" to ");
    BERTH_ASSIGN(const Seconds time, read_duration(trim(part.substr(0, to))));
    const bool is_last = i + 1 == parts.size();
    if ((to == std::string_view::npos) != is_last) {
      return Status(Code::kInvalid, fmt::format("'{}': every part but the last says up to how many GPUs", text),
                    "as in '7s to 1, 30s to 8, 60s'");
    }
    if (is_last) {
      cost.above = time;
      break;
    }
    BERTH_ASSIGN(const MilliGpu most, read_gpu(trim(part.substr(to + 4))));
    if (!cost.up_to.empty() && most <= cost.up_to.back().first)
      return Status(Code::kInvalid, fmt::format("'{}': the numbers of GPUs must grow", text));
    cost.up_to.emplace_back(most, time);
  }
  return cost;
}

Result<std::vector<HistoryRun>> history_from(JobReader& reader) {
  std::vector<HistoryRun> runs;
  for (TraceJob job;;) {
    BERTH_ASSIGN(const bool found, reader.next(job));
    if (!found) break;
    if (!job.duration || job.outcome.value_or(JobState::kFinished) != JobState::kFinished) continue;
    runs.push_back({features_of(job), *job.duration, job.start.value_or(job.submit) + *job.duration});
  }
  std::stable_sort(runs.begin(), runs.end(), [](const HistoryRun& a, const HistoryRun& b) { return a.end < b.end; });
  return runs;
}

void sort_by_submit(std::vector<TraceJob>& jobs) { std::ranges::stable_sort(jobs, {}, &TraceJob::submit); }

Result<TimedInput> timed_from(const Cluster& cluster, std::function<Result<std::unique_ptr<JobReader>>()> open_jobs,
                              std::vector<Queue> queues, std::vector<PriorityClass> priority_classes) {
  TimedInput input;
  input.cluster = &cluster;
  input.open_jobs = std::move(open_jobs);
  BERTH_ASSIGN(const std::unique_ptr<JobReader> reader, input.open_jobs());
  JobModeller modeller(cluster, std::move(queues), std::move(priority_classes));
  WorkloadCounter counter;
  Seconds previous_submit(std::numeric_limits<std::int64_t>::min());
  for (TraceJob job;; ++input.job_count) {
    BERTH_ASSIGN(const bool found, reader->next(job));
    if (!found) break;
    BERTH_TRY(check_timed_job(job, previous_submit));
    BERTH_TRY(modeller.job_from(job, 1).status());
    BERTH_TRY(counter.add(modeller, job));
    note_named(job, input);
    previous_submit = job.submit;
  }
  if (input.job_count == 0) return Status(Code::kInvalid, "no jobs: the trace is empty");
  input.workload = counter.typical();
  input.queues.assign(modeller.queues().begin(), modeller.queues().end());
  input.priority_classes.assign(modeller.priority_classes().begin(), modeller.priority_classes().end());
  return input;
}

Result<SimulationResult> simulate_jobs(const TimedInput& input, const PolicyChoice& policy,
                                       const TimedOptions& options) {
  BERTH_ASSIGN(const std::unique_ptr<QueueOrder> order, make_order(policy.order, options.scripts));
  BERTH_TRY(check_options(*order, policy, input, options));
  BERTH_ASSIGN(std::unique_ptr<JobReader> reader, input.open_jobs());
  if (options.pooled_devices) {
    PooledFloor floor(*input.cluster, input.queues, options.rules.backfill, options.node_choice);
    return TimedRun(input, options, *order, floor, std::move(reader)).run(policy);
  }
  BERTH_ASSIGN(const std::unique_ptr<NodeScore> score,
               make_score(policy.score, {.cluster = input.cluster, .workload = input.workload, .seed = options.seed},
                          options.scripts));
  QuotaTable quotas = input.quotas;
  if (!quotas.resources.empty())
    quotas.terms.resize(input.queues.size(), std::vector<QuotaTerms>(quotas.resources.size()));
  for (LoanTerms& loan : quotas.loans) loan.until = Seconds(kNoLimit);
  quotas.ended_loans.clear();
  DeviceFloor floor({.cluster = input.cluster,
                     .queues = input.queues,
                     .priority_classes = input.priority_classes,
                     .quotas = &quotas,
                     .score = score.get(),
                     .rules = options.rules,
                     .seed = options.seed,
                     .now = Seconds(0)});
  Result<SimulationResult> result = TimedRun(input, options, *order, floor, std::move(reader)).run(policy);
  // A mixture of two policies would be no answer.
  if (const std::string failure = score->failure(); result.ok() && !failure.empty())
    return Status(Code::kInvalid, fmt::format("policy {} failed: {}", policy.score, failure));
  return result;
}

}  // namespace berth
