#include "engine/sim/arrivals.h"

#include <chrono>

#include "engine/policy/registry.h"
#include "engine/round/placer.h"
#include "engine/sim/arrival_curve.h"
#include "engine/sim/fragment_meter.h"
#include "engine/sim/trace_model.h"

namespace berth {

namespace {

constexpr std::int64_t kArrivalsBetweenLooks = 256;  // at the interrupt flag and the progress callback

class ArrivalRun {
 public:
  ArrivalRun(const ArrivalInput& input, const ArrivalOptions& options, NodeScore& score)
      : input_(input),
        options_(options),
        ledger_(*input.cluster),
        placer_(ledger_, score, input.rank, options.seed),
        curve_(ledger_.gpu_capacity()) {
    if (options.measure_fragmentation) meter_.emplace(ledger_, input.workload);
    if (options.keep_tasks) result_.tasks.reserve(input.order.size());
  }

  Result<SimulationResult> run(std::string_view policy) {
    const auto total = static_cast<std::int64_t>(input_.order.size());
    for (std::int64_t sequence = 0; sequence < total; ++sequence) {
      if (sequence % kArrivalsBetweenLooks == 0) {
        if (options_.control.stop()) return Status(Code::kInterrupted, "the simulation was interrupted");
        if (options_.control.progress) options_.control.progress(policy, sequence, total);
      }
      arrive(sequence);
    }
    if (options_.control.progress) options_.control.progress(policy, total, total);
    finish();
    return std::move(result_);
  }

 private:
  void arrive(std::int64_t sequence) {
    const auto row = static_cast<std::size_t>(input_.order[static_cast<std::size_t>(sequence)]);
    const ArrivalTask& task = input_.tasks[row];
    const auto begin = std::chrono::steady_clock::now();
    const std::optional<Holding> holding = placer_.place_task(task.shape);
    ledger_.commit();
    deciding_ += std::chrono::steady_clock::now() - begin;
    arrived_ += task.shape.gpu_total();
    if (holding && meter_) meter_->follow(holding->node);
    curve_.record(arrived_, ledger_.gpu_used(), meter_ ? std::optional(meter_->total()) : std::nullopt);
    ++(holding ? result_.row.placed : result_.row.failed);
    if (!options_.keep_tasks) return;
    TaskResult& kept = result_.tasks.emplace_back();
    kept.sequence = sequence;
    kept.task = task.name;
    if (!holding) return;
    kept.state = TaskOutcome::kPlaced;
    kept.node = node_name(*input_.cluster, holding->node);
    kept.devices = holding->devices;
  }

  void finish() {
    SimulationRow& row = result_.row;
    row.tasks = row.placed + row.failed;
    row.decisions = row.tasks;
    const double seconds = std::chrono::duration<double>(deciding_).count();
    row.decisions_per_second = seconds > 0 ? static_cast<double>(row.decisions) / seconds : 0;
    row.peak_memory_mib = peak_memory_mib();
    result_.curves = curve_.points();
    row.allocated_pct_at_100 = allocated_at(result_.curves, 100);
    row.allocated_pct_at_130 = allocated_at(result_.curves, 130);
    const double capacity = static_cast<double>(ledger_.gpu_capacity().value());
    if (meter_ && capacity > 0) row.fragmented_pct = meter_->total() * 100.0 / capacity;
  }

  const ArrivalInput& input_;
  const ArrivalOptions& options_;
  Ledger ledger_;
  Placer placer_;
  ArrivalCurve curve_;
  std::optional<FragmentMeter> meter_;
  MilliGpu arrived_;
  std::chrono::steady_clock::duration deciding_{};
  SimulationResult result_;
};

}  // namespace

Result<ArrivalInput> arrivals_from(const Cluster& cluster, std::span<const TraceJob> jobs) {
  ArrivalInput input;
  input.cluster = &cluster;
  const JobModeller modeller(cluster);
  WorkloadCounter counter;
  for (const TraceJob& job : jobs) {
    BERTH_TRY(counter.add(modeller, job));
    for (std::size_t group = 0; group < job.groups.size(); ++group) {
      BERTH_ASSIGN(const TaskShape shape, modeller.shape_from(job.groups[group]));
      for (std::int32_t task = 0; task < job.groups[group].tasks; ++task) {
        input.order.push_back(static_cast<std::int32_t>(input.tasks.size()));
        input.tasks.push_back({task_name(job, group, task), shape});
      }
    }
  }
  if (input.tasks.empty()) return Status(Code::kInvalid, "no tasks arrive: the trace is empty");
  input.workload = counter.typical();
  return input;
}

Result<SimulationResult> simulate_arrivals(const ArrivalInput& input, std::string_view score,
                                           const ArrivalOptions& options) {
  BERTH_ASSIGN(
      const std::unique_ptr<NodeScore> policy,
      make_score(
          score,
          {.cluster = input.cluster, .workload = input.workload, .seed = options.seed, .every_task_is_new = true},
          options.scripts));
  ArrivalRun run(input, options, *policy);
  Result<SimulationResult> result = run.run(score);
  // A mixture of two policies would be no answer.
  if (const std::string failure = policy->failure(); result.ok() && !failure.empty())
    return Status(Code::kInvalid, fmt::format("policy {} failed: {}", score, failure));
  return result;
}

}  // namespace berth
