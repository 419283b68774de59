#include "engine/runtime/simulate.h"

#include <fmt/format.h>

#include "engine/base/text.h"
#include "engine/policy/registry.h"
#include "engine/runtime/named_models.h"
#include "engine/runtime/policies.h"
#include "engine/runtime/simulated_cluster.h"
#include "engine/sim/arrival_order.h"
#include "engine/sim/arrivals.h"
#include "engine/sim/timed.h"
#include "engine/sim/trace_model.h"
#include "engine/store/load.h"
#include "engine/store/load_quotas.h"
#include "engine/store/simulations.h"

namespace berth {

namespace {

std::vector<SimulationCurveRow> curve_rows(const SimulationResult& result) {
  std::vector<SimulationCurveRow> rows;
  rows.reserve(result.curves.size());
  for (const CurvePoint& point : result.curves)
    rows.push_back({static_cast<double>(point.arrived_pct), point.allocated_pct, point.fragmented_pct});
  return rows;
}

std::optional<std::int64_t> plain(const std::optional<Seconds>& moment) {
  return moment ? std::optional(moment->value()) : std::nullopt;
}

std::vector<SimulationTaskRow> task_rows(const SimulationResult& result) {
  std::vector<SimulationTaskRow> rows;
  rows.reserve(result.tasks.size());
  for (const TaskResult& task : result.tasks) {
    rows.push_back({.sequence = task.sequence,
                    .task = task.task,
                    .node = task.node,
                    .devices = print_device_mask(task.devices),
                    .state = std::string(task_outcome_name(task.state)),
                    .submit = plain(task.submit),
                    .start = plain(task.start),
                    .end = plain(task.end)});
  }
  return rows;
}

std::vector<SimulationUtilisationRow> utilisation_rows(const SimulationResult& result, MilliGpu capacity) {
  std::vector<SimulationUtilisationRow> rows;
  rows.reserve(result.utilisation.size());
  for (const UtilisationPoint& point : result.utilisation) {
    const double share = capacity == MilliGpu(0)
                             ? 0
                             : 100.0 * static_cast<double>(point.used.value()) / static_cast<double>(capacity.value());
    rows.push_back({point.time.value(), share, point.running_jobs, point.waiting_jobs});
  }
  return rows;
}

std::optional<double> as_real(const std::optional<std::int64_t>& value) {
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

SimulationQueueRow queue_row(std::optional<std::string> queue, const QueueResult& q) {
  return {.queue = std::move(queue),
          .jobs = q.jobs,
          .started = q.started,
          .wait_mean = q.wait_mean,
          .wait_p50 = q.wait_p50,
          .wait_p90 = q.wait_p90,
          .wait_p99 = q.wait_p99,
          .wait_most = q.wait_most,
          .completion_mean = q.completion_mean,
          .worst_finish_ratio = q.worst_finish_ratio,
          .evictions = q.evictions,
          .lost = q.lost,
          .delivered = q.delivered,
          .starts_within_quota = q.starts_within_quota,
          .starts_borrowing = q.starts_borrowing,
          .entitled_jobs = q.entitled_jobs,
          .entitled_wait_mean = q.entitled_wait_mean,
          .longest_denied = q.longest_denied};
}

std::vector<SimulationQueueRow> queue_rows(const SimulationResult& result) {
  std::vector<SimulationQueueRow> rows;
  for (const QueueResult& queue : result.queues) rows.push_back(queue_row(queue.queue, queue));
  rows.push_back(queue_row(std::nullopt, result.all_queues));
  return rows;
}

SimulationResultRow result_row(const SimulationRow& row) {
  return {.policy = row.policy,
          .tasks = row.tasks,
          .placed = row.placed,
          .failed = row.failed,
          .allocated_pct_at_100 = row.allocated_pct_at_100,
          .allocated_pct_at_130 = row.allocated_pct_at_130,
          .fragmented_pct = row.fragmented_pct,
          .wait_mean = row.wait_mean,
          .wait_p50 = as_real(row.wait_p50),
          .wait_p90 = as_real(row.wait_p90),
          .wait_p99 = as_real(row.wait_p99),
          .completion_mean = row.completion_mean,
          .makespan = as_real(row.makespan),
          .decisions = row.decisions,
          .decisions_per_second = row.decisions_per_second,
          .peak_memory_mib = row.peak_memory_mib};
}

Result<Cluster> cluster_of(Runtime& runtime, const SimulationSource& source) {
  return simulated_cluster(runtime, {.nodes = source.nodes, .format = source.nodes_format, .files = source.files});
}

// A node file knows no families.
Result<ModelFamilies> families_of(Runtime& runtime, const SimulationSource& source) {
  return source.nodes.empty() ? ModelFamilies::read(runtime.db()) : ModelFamilies();
}

// Runs and saves one policy after the other.
Result<SimulationSet> run_and_save(Runtime& runtime, const SimulationTarget& target,
                                   const std::vector<PolicyChoice>& policies, MilliGpu capacity,
                                   const std::function<Result<SimulationResult>(const PolicyChoice&)>& one) {
  return run_policies(policies, [&](const PolicyChoice& policy) -> Result<SimulationResult> {
    BERTH_ASSIGN(SimulationResult result, one(policy));
    result.row.simulation = target.name;
    result.row.policy = policy.name();
    BERTH_TRY(save_simulated(runtime, target, result, capacity));
    return result;
  });
}

Result<std::vector<PolicyChoice>> read_choices(const std::vector<std::string>& texts, const ScriptNames& scripts,
                                               Result<PolicyChoice> (*read)(std::string_view, const ScriptNames&)) {
  std::vector<PolicyChoice> choices;
  for (const std::string& text : texts) {
    Result<PolicyChoice> choice = read(text, scripts);
    if (!choice.ok()) return std::move(choice).status().in_part(choices.size());
    for (const PolicyChoice& before : choices) {
      if (before.name() == choice->name()) {
        return Status(Code::kInvalid, fmt::format("policy {} is named twice", choice->name()))
            .about("first", text)
            .in_part(choices.size());
      }
    }
    choices.push_back(*std::move(choice));
  }
  return choices;
}

// What the model of the cluster refuses: a priority class that it does not have, say.
void leave_out_refused(const Cluster& cluster, const std::vector<Queue>& queues,
                       const std::vector<PriorityClass>& classes, std::vector<TraceJob>& jobs,
                       std::vector<std::string>& skipped) {
  JobModeller modeller(cluster, queues, classes);
  std::erase_if(jobs, [&](const TraceJob& job) {
    const Status modelled = modeller.job_from(job, 1).status();
    if (!modelled.ok()) skipped.push_back(modelled.message());
    return !modelled.ok();
  });
}

}  // namespace

Status save_simulated(Runtime& runtime, const SimulationTarget& target, const SimulationResult& result,
                      MilliGpu capacity) {
  if (target.name.empty()) return {};
  const std::vector<SimulationCurveRow> curve = curve_rows(result);
  const std::vector<SimulationTaskRow> tasks = task_rows(result);
  const std::vector<SimulationUtilisationRow> utilisation = utilisation_rows(result, capacity);
  std::vector<SimulationQueueRow> queues;
  if (target.by_queue) queues = queue_rows(result);
  return save_simulation_policy(
      runtime.db(), target.name,
      {.result = result_row(result.row), .curve = curve, .tasks = tasks, .utilisation = utilisation, .queues = queues});
}

Status begin_saving(Runtime& runtime, const SimulationTarget& target, std::string_view kind, std::uint64_t seed) {
  if (target.name.empty()) return {};
  BERTH_TRY(runtime.check_writable());
  return start_simulation(runtime.db(),
                          {.name = target.name,
                           .kind = std::string(kind),
                           .statement = target.statement,
                           .seed = seed,
                           .created_at = runtime.now()},
                          target.replace);
}

Result<SimulationSet> simulate(Runtime& runtime, const ArrivalsRequest& request) {
  BERTH_ASSIGN(const SimulatedScripts scripts, simulated_scripts(runtime));
  BERTH_ASSIGN(const std::vector<PolicyChoice> policies,
               read_choices(request.policies, scripts.names, read_score_choice));
  BERTH_ASSIGN(const Cluster cluster, cluster_of(runtime, request.source));
  BERTH_ASSIGN(ReadRecords<TraceJob> read,
               read_trace_jobs(request.source.jobs_format, request.source.jobs, {.format = request.source.files}));
  BERTH_ASSIGN(const ModelFamilies families, families_of(runtime, request.source));
  for (TraceJob& job : read.records) families.name_models(job);
  BERTH_ASSIGN(ArrivalInput input, arrivals_from(cluster, read.records));
  const MilliGpu capacity = device_capacity(cluster);
  if (!request.order_file.empty()) {
    BERTH_ASSIGN(input.order, read_order_file(request.order_file, input.tasks.size()));
  } else {
    std::vector<TaskShape> shapes;
    shapes.reserve(input.tasks.size());
    for (const ArrivalTask& task : input.tasks) shapes.push_back(task.shape);
    BERTH_ASSIGN(input.order, inflated_order(shapes, capacity, request.inflate_milli, request.seed));
  }
  if (!request.rank_file.empty()) {
    BERTH_ASSIGN(input.rank, read_rank_file(request.rank_file, cluster.nodes.size()));
  } else if (request.shuffle_rank) {
    input.rank = shuffled_rank(cluster.nodes.size(), request.seed);
  }
  BERTH_TRY(begin_saving(runtime, request.target, "arrivals", request.seed));
  const ArrivalOptions options{.seed = request.seed,
                               .measure_fragmentation = request.measure_fragmentation,
                               .keep_tasks = !request.target.name.empty(),
                               .scripts = scripts.policies,
                               .control = request.control};
  return run_and_save(runtime, request.target, policies, capacity,
                      [&](const PolicyChoice& policy) { return simulate_arrivals(input, policy.score, options); });
}

Result<SimulationSet> simulate(Runtime& runtime, const JobsRequest& request) {
  BERTH_ASSIGN(const SimulatedScripts scripts, simulated_scripts(runtime));
  BERTH_ASSIGN(const std::vector<PolicyChoice> policies,
               read_choices(request.policies, scripts.names, read_policy_choice));
  if (const auto hint = durations_hint(request.source.jobs_format, request.source.files); !hint.empty()) {
    return Status(Code::kInvalid, fmt::format("{}: the durations of all jobs are unknown", request.source.jobs),
                  std::string(hint));
  }
  BERTH_ASSIGN(const Cluster cluster, cluster_of(runtime, request.source));
  BERTH_ASSIGN(const ModelFamilies families, families_of(runtime, request.source));
  const bool own_cluster = request.source.nodes.empty();
  BERTH_ASSIGN(QuotaState owned, own_cluster ? load_quotas(runtime.db(), runtime.now()) : QuotaState());
  std::vector<PriorityClass> classes;
  if (own_cluster) {
    BERTH_ASSIGN(classes, read_priority_classes(runtime.db()));
  }
  std::vector<TraceJob> sorted;
  std::function<Result<std::unique_ptr<JobReader>>()> open_jobs;
  std::vector<std::string> skipped;
  if (request.sort || request.skip_bad_rows) {
    BERTH_ASSIGN(ReadRecords<TraceJob> read,
                 read_trace_jobs(request.source.jobs_format, request.source.jobs,
                                 {.skip_bad_rows = request.skip_bad_rows, .format = request.source.files}));
    for (const Status& bad : read.skipped) skipped.push_back(bad.message());
    sorted = std::move(read.records);
    if (request.skip_bad_rows) {
      std::erase_if(sorted, [&](const TraceJob& job) {
        if (job.duration) return false;
        skipped.push_back(fmt::format("{}: job '{}' has no duration", job.place, job.name));
        return true;
      });
    }
    if (request.sort) sort_by_submit(sorted);
    for (TraceJob& job : sorted) families.name_models(job);
    if (request.skip_bad_rows) leave_out_refused(cluster, owned.queues, classes, sorted, skipped);
    open_jobs = [&sorted]() -> Result<std::unique_ptr<JobReader>> { return read_from(sorted); };
  } else {
    open_jobs = [&source = request.source, &families]() -> Result<std::unique_ptr<JobReader>> {
      BERTH_ASSIGN(std::unique_ptr<JobReader> jobs, open_trace_jobs(source.jobs_format, source.jobs, source.files));
      return families.name_models(std::move(jobs));
    };
  }
  const std::size_t known_queues = owned.queues.size();
  BERTH_ASSIGN(TimedInput input, timed_from(cluster, open_jobs, std::move(owned.queues), std::move(classes)));
  if (!request.history.empty()) {
    BERTH_ASSIGN(std::unique_ptr<JobReader> past, open_trace_jobs(request.source.jobs_format, request.history));
    const std::unique_ptr<JobReader> reader = families.name_models(std::move(past));
    BERTH_ASSIGN(input.history, history_from(*reader));
    if (input.history.empty()) {
      return Status(Code::kInvalid, fmt::format("no job of '{}' finished and says how long it ran", request.history))
          .in_option("history");
    }
  }
  TimedOptions options = request.options;
  if (options.binding_models) {
    std::vector<std::string> binding;
    for (const std::string& name : *options.binding_models) {
      const std::string models = families.models_of(name);
      for (const std::string_view model : split(models, '|')) binding.emplace_back(model);
    }
    options.binding_models = std::move(binding);
  }
  BERTH_TRY(check_named(input, options));
  if (!request.options.pooled_devices) input.quotas = std::move(owned.quotas);
  BERTH_TRY(begin_saving(runtime, request.target, "jobs", options.seed));
  options.keep_tasks = !request.target.name.empty();
  options.scripts = scripts.policies;
  options.control = request.control;
  Result<SimulationSet> set =
      run_and_save(runtime, request.target, policies, device_capacity(cluster),
                   [&](const PolicyChoice& policy) { return simulate_jobs(input, policy, options); });
  if (!set.ok()) return set;
  set->skipped = std::move(skipped);
  for (std::size_t q = known_queues; known_queues > 0 && q < input.queues.size(); ++q)
    set->unknown_queues.push_back(input.queues[q].name);
  return set;
}

}  // namespace berth
