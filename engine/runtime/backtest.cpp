#include "engine/runtime/backtest.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "engine/base/text.h"
#include "engine/runtime/policies.h"
#include "engine/sim/paired_waits.h"
#include "engine/store/load.h"
#include "engine/store/load_quotas.h"

namespace berth {

namespace {

constexpr std::int64_t kMostSeeds = 1000;

// A candidate ready to be run.
struct Contender {
  std::string label;
  PolicyChoice choice;
  TimedOptions options;
};

std::string label_of(const BacktestCandidate& candidate, const PolicyChoice& choice) {
  std::string label = candidate.policy == kLivePolicy ? candidate.policy : choice.name();
  if (candidate.overrides.empty()) return label;
  std::vector<std::string> words;
  for (const auto& [name, value] : candidate.overrides) words.push_back(fmt::format("{} {}", name, value));
  return fmt::format("{} ({})", label, join(words, ", "));
}

BacktestRow row_of(const BacktestCounts& counts) {
  BacktestRow row;
  row.jobs = counts.jobs;
  row.started = counts.started;
  row.ended = counts.ended;
  row.wait_mean = counts.wait_mean;
  row.wait_p50 = counts.wait_p50;
  row.wait_p90 = counts.wait_p90;
  row.wait_p99 = counts.wait_p99;
  row.completion_mean = counts.completion_mean;
  row.satisfied_share = counts.satisfied_share;
  row.worst_finish_ratio = counts.worst_finish_ratio;
  row.evictions = counts.evictions;
  row.lost = counts.lost;
  row.delivered = counts.delivered;
  return row;
}

BacktestPolicyRows rows_of(std::string policy, std::int64_t sequence, const BacktestSummary& summary) {
  BacktestPolicyRows rows{.policy = std::move(policy), .sequence = sequence, .rows = {row_of(summary.all)}};
  rows.rows.front().fairness = summary.fairness;
  for (const BacktestCounts& queue : summary.queues) {
    rows.rows.push_back(row_of(queue));
    rows.rows.back().queue = queue.queue;
  }
  return rows;
}

BacktestPairRow pair_row(const PairedWaits& pair) {
  return {.policy = pair.policy,
          .baseline = pair.baseline,
          .jobs = pair.jobs,
          .earlier = pair.earlier,
          .later = pair.later,
          .same = pair.same,
          .only_here = pair.only_here,
          .only_there = pair.only_there,
          .mean = pair.mean,
          .mean_low = pair.mean_between.low,
          .mean_high = pair.mean_between.high,
          .median = pair.median,
          .median_low = pair.median_between.low,
          .median_high = pair.median_between.high};
}

Waits waits_of(std::span<const CountedJob> jobs, std::span<const JobResult> outcomes) {
  Waits waits(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (outcomes[i].start >= Seconds(0)) waits[i] = static_cast<double>((outcomes[i].start - jobs[i].submit).value());
  }
  return waits;
}

bool knows_quotas(const QuotaTable& table) {
  return std::ranges::any_of(table.terms, [](const std::vector<QuotaTerms>& terms) {
    return std::ranges::any_of(terms, [](const QuotaTerms& each) { return each.has_quota || each.limit < kNoLimit; });
  });
}

// Some jobs are of a higher class than others.
bool knows_ranks(std::span<const PriorityClass> classes, std::span<const TraceJob> jobs) {
  const auto value_of = [&](const TraceJob& job) {
    const auto found = std::ranges::find(classes, job.priority, &PriorityClass::name);
    return found == classes.end() ? 0 : found->value;
  };
  return std::ranges::any_of(jobs, [&](const TraceJob& job) { return value_of(job) != value_of(jobs.front()); });
}

// One backtest from the request to the report.
class Backtest {
 public:
  Backtest(Runtime& runtime, const BacktestRequest& request) : runtime_(runtime), request_(request) {}

  Result<BacktestReport> run() {
    BERTH_TRY(check());
    BERTH_TRY(choose());
    BERTH_TRY(read());
    note_assumptions();
    BERTH_TRY(begin_saving(runtime_, request_.target, "backtest", request_.seed));
    if (is_saved()) BERTH_TRY(save_backtest(runtime_.db(), report_.told.record));
    if (history_.knows_waits) BERTH_TRY(tell_recorded());
    for (const Contender& contender : contenders_) {
      const Status done = run_one(contender);
      if (done.code() == Code::kInterrupted) {
        report_.interrupted = true;
        break;
      }
      BERTH_TRY(done);
    }
    if (waits_.empty()) return Status(Code::kInterrupted, "interrupted before a policy was complete; nothing was kept");
    return std::move(report_);
  }

 private:
  bool is_saved() const { return !request_.target.name.empty(); }
  // Utilisation is compared over time that has passed: what is still to come was not recorded.
  Seconds measured_until() const { return std::min(request_.to, runtime_.now()); }
  Status check() const;
  Status choose();
  Status read();
  void note_assumptions();
  Status tell_recorded();
  Status run_one(const Contender& contender);
  Result<std::vector<SimulationResult>> run_seeds(const Contender& contender);
  Status keep(BacktestPolicyRows rows);
  Status pair_with(const std::string& baseline, const Waits& there, const std::string& policy, const Waits& here);
  std::span<const JobResult> counted(const SimulationResult& result) const {
    return std::span(result.jobs).subspan(history_.first_counted);
  }

  Runtime& runtime_;
  const BacktestRequest& request_;
  std::vector<Contender> contenders_;
  RecordedHistory history_;
  Cluster cluster_;
  MilliGpu capacity_there_;  // of the database's own nodes
  TimedInput input_;
  std::vector<std::string> queues_;
  std::string live_;          // what the settings say, in words
  Waits recorded_;            // empty = not known
  std::vector<Waits> waits_;  // of the candidates that are complete
  BacktestReport report_;
};

Status Backtest::check() const {
  if (request_.from >= request_.to) {
    return Status(Code::kInvalid,
                  fmt::format("{} is not before {}", print_time(request_.from), print_time(request_.to)));
  }
  if (request_.from > runtime_.now()) {
    return Status(Code::kInvalid, fmt::format("{} has not come yet", print_time(request_.from)),
                  "a backtest needs a past; SIMULATE JOBS plays a file");
  }
  if (request_.seeds < 1 || request_.seeds > kMostSeeds) {
    return Status(Code::kInvalid, fmt::format("option 'seeds' lies between 1 and {}", kMostSeeds)).about("seeds");
  }
  return {};
}

Status Backtest::choose() {
  BERTH_ASSIGN(const Settings common, read_settings(runtime_.db(), request_.overrides));
  live_ = fmt::format("live is {} + {}; where a policy does not say otherwise, backfill is {} and preemption {}",
                      common.order_policy, common.score_policy, backfill_mode_name(common.rules.backfill),
                      preemption_name(common.rules.preemption));
  BERTH_ASSIGN(const SimulatedScripts scripts, simulated_scripts(runtime_));
  for (const BacktestCandidate& candidate : request_.candidates) {
    SettingOverrides overrides = request_.overrides;
    overrides.insert(overrides.end(), candidate.overrides.begin(), candidate.overrides.end());
    const Result<Settings> read = read_settings(runtime_.db(), overrides);
    if (!read.ok()) return read.status().in_part(contenders_.size());
    const Settings& settings = *read;
    const PolicyChoice live{settings.order_policy, settings.score_policy};
    Contender contender;
    if (candidate.policy == kLivePolicy) {
      contender.choice = live;
    } else {
      Result<PolicyChoice> choice = read_policy_choice(candidate.policy, scripts.names);
      if (!choice.ok()) return std::move(choice).status().in_part(contenders_.size());
      contender.choice = *std::move(choice);
    }
    contender.label = label_of(candidate, contender.choice);
    const bool is_twice =
        std::ranges::any_of(contenders_, [&](const Contender& other) { return other.label == contender.label; });
    if (is_twice) {
      return Status(Code::kInvalid, fmt::format("policy {} is named twice", contender.label))
          .about("first")
          .in_part(contenders_.size());
    }
    TimedOptions& options = contender.options;
    options.aging_interval = settings.aging_interval;
    options.scripts = scripts.policies;
    options.rules = settings.rules;
    options.order_knobs = settings.order_knobs;
    options.predictor = settings.predictor;
    options.durations = request_.knows_durations ? DurationSource::kOracle : DurationSource::kPredicted;
    options.round_interval = request_.round_interval;
    // Where whoever fits starts, time alone changes nothing.
    options.regular_rounds = settings.rules.backfill != BackfillMode::kGreedy;
    options.order_moments = false;
    options.keep_jobs = true;
    options.measured = {request_.from, measured_until()};
    contenders_.push_back(std::move(contender));
  }
  return {};
}

Status Backtest::read() {
  const auto begin = std::chrono::steady_clock::now();
  BERTH_ASSIGN(const Settings settings, read_settings(runtime_.db(), request_.overrides));
  BERTH_ASSIGN(cluster_, simulated_cluster(runtime_, request_.cluster));
  BERTH_ASSIGN(capacity_there_, database_capacity(runtime_));
  const bool past_use_counts =
      std::ranges::any_of(contenders_, [](const Contender& each) { return each.options.order_knobs.usage_weight > 0; });
  BERTH_ASSIGN(history_, read_recorded_history(runtime_, {.from = request_.from,
                                                          .to = request_.to,
                                                          .unfinished = request_.unfinished,
                                                          .default_duration = settings.rules.default_duration,
                                                          .asks_for_use = past_use_counts}));
  BERTH_ASSIGN(QuotaState owned, load_quotas(runtime_.db(), runtime_.now()));
  BERTH_ASSIGN(std::vector<PriorityClass> classes, read_priority_classes(runtime_.db()));
  const auto open = [this]() -> Result<std::unique_ptr<JobReader>> { return read_from(history_.jobs); };
  BERTH_ASSIGN(input_, timed_from(cluster_, open, std::move(owned.queues), std::move(classes)));
  input_.quotas = std::move(owned.quotas);
  // Nobody may be evicted for anybody: the same decisions, made faster.
  if (!knows_quotas(input_.quotas) && !knows_ranks(input_.priority_classes, history_.jobs)) {
    for (Contender& contender : contenders_) contender.options.rules.preemption = Preemption::kNone;
  }
  input_.history = std::move(history_.learnt);
  input_.begin = request_.from;
  input_.resumed = std::move(history_.resumed);
  input_.accepted = std::move(history_.accepted);
  input_.used = std::move(history_.used);
  for (const Queue& queue : input_.queues) queues_.push_back(queue.name);
  for (std::size_t i = 0; i < history_.counted.size(); ++i) {
    const auto queue = std::ranges::find(queues_, history_.jobs[history_.first_counted + i].queue);
    if (queue != queues_.end()) history_.counted[i].queue = static_cast<std::int32_t>(queue - queues_.begin());
  }
  report_.read_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return {};
}

void Backtest::note_assumptions() {
  BacktestRecord& record = report_.told.record;
  record.simulation = request_.target.name;
  record.from = request_.from;
  record.to = request_.to;
  record.jobs = std::ssize(history_.counted);
  record.there = static_cast<std::int64_t>(history_.first_counted);
  record.seeds = request_.seeds;
  std::vector<std::string>& notes = record.notes;
  notes.push_back(live_);
  notes.push_back(
      fmt::format("{} submitted from {} to {} count; then nothing more is submitted, and all run to their end",
                  print_counted(record.jobs, "job"), print_time(request_.from), print_time(request_.to)));
  if (record.there > 0) {
    notes.push_back(fmt::format(
        "there at the beginning: {}, {} of them running (on whichever nodes they fit); they are load and do not count",
        print_counted(record.there, "job"), print_count(history_.running_at_start)));
  }
  notes.push_back(
      fmt::format("nodes: {}, all up; quotas and loans: as they are now",
                  request_.cluster.nodes.empty()
                      ? fmt::format("today's {}", print_count(std::ssize(cluster_.nodes)))
                      : fmt::format("the {} of {}", print_count(std::ssize(cluster_.nodes)), request_.cluster.nodes)));
  if (history_.unfinished > 0) {
    notes.push_back(fmt::format("not ended by now: {}, {}", print_counted(history_.unfinished, "job"),
                                request_.unfinished == Unfinished::kLeftOut
                                    ? "left out"
                                    : "taken to run as long as predicted, or as they have if that is longer"));
  }
  if (history_.withdrawn > 0)
    notes.push_back(fmt::format("ended without having run: {}; they wait until then, and leave",
                                print_counted(history_.withdrawn, "job")));
  if (history_.never_ran > 0) {
    notes.push_back(fmt::format("ended at once, or while they waited for other jobs: {}, left out",
                                print_counted(history_.never_ran, "job")));
  }
  if (history_.dependent > 0) {
    notes.push_back(fmt::format("came after others: {}, here waiting for nothing but room",
                                print_counted(history_.dependent, "job")));
  }
  if (history_.released > 0) {
    notes.push_back(
        fmt::format("held by their users for a time: {}; they come when they are released, and holds are no "
                    "waiting",
                    print_counted(history_.released, "job")));
  }
  if (history_.still_held > 0)
    notes.push_back(
        fmt::format("held by their users to this day: {}, left out", print_counted(history_.still_held, "job")));
  if (!history_.knows_waits)
    notes.push_back("the imported jobs do not say when they started, so there is no row 'recorded'");
}

Status Backtest::keep(BacktestPolicyRows rows) {
  if (is_saved()) BERTH_TRY(save_backtest_policy(runtime_.db(), request_.target.name, rows));
  report_.told.policies.push_back(std::move(rows));
  return {};
}

// What really happened, as one more row.
Status Backtest::tell_recorded() {
  recorded_ = waits_of(history_.counted, history_.recorded);
  BacktestPolicyRows rows =
      rows_of(std::string(kRecordedPolicy), 0, summarise(history_.counted, history_.recorded, queues_));
  if (capacity_there_ > MilliGpu(0) && measured_until() > request_.from) {
    rows.rows.front().utilisation_pct = 100.0 * static_cast<double>(history_.held) /
                                        (static_cast<double>(capacity_there_.value()) *
                                         static_cast<double>((measured_until() - request_.from).value()));
  }
  return keep(std::move(rows));
}

// Stops after the second seed where it gives what the first gave: chance plays no part.
Result<std::vector<SimulationResult>> Backtest::run_seeds(const Contender& contender) {
  std::vector<SimulationResult> results;
  for (std::int64_t i = 0; i < request_.seeds; ++i) {
    TimedOptions options = contender.options;
    options.seed = request_.seed + static_cast<std::uint64_t>(i);
    options.keep_tasks = is_saved() && i == 0;
    options.control = request_.control;
    if (options.control.progress) {
      options.control.progress = [&](std::string_view, std::int64_t done, std::int64_t total) {
        request_.control.progress(contender.label, done, total);
      };
    }
    BERTH_ASSIGN(SimulationResult result, simulate_jobs(input_, contender.choice, options));
    report_.events += result.row.events;
    report_.run_seconds += result.row.run_seconds;
    const bool is_same = i == 1 && result.jobs == results.front().jobs;
    if (is_same) break;
    results.push_back(std::move(result));
  }
  return results;
}

Status Backtest::run_one(const Contender& contender) {
  BERTH_ASSIGN(std::vector<SimulationResult> results, run_seeds(contender));
  std::vector<BacktestSummary> summaries;
  Waits waits(history_.counted.size());
  double utilisation = 0;
  for (const SimulationResult& result : results) {
    summaries.push_back(summarise(history_.counted, counted(result), queues_));
    utilisation += result.row.utilisation_pct.value_or(0) / static_cast<double>(results.size());
    const Waits one = waits_of(history_.counted, counted(result));
    for (std::size_t i = 0; i < waits.size(); ++i) {
      if (one[i]) waits[i] = waits[i].value_or(0) + *one[i] / static_cast<double>(results.size());
    }
  }
  for (const SimulationResult& result : results) {  // a job that some seed does not start has no mean wait
    for (std::size_t i = 0; i < waits.size(); ++i) {
      if (counted(result)[i].start < Seconds(0)) waits[i].reset();
    }
  }
  const auto sequence = std::ssize(waits_) + 1;
  BacktestPolicyRows rows = rows_of(contender.label, sequence, mean_of(summaries));
  rows.rows.front().utilisation_pct = utilisation;
  rows.rows.front().never_start = static_cast<double>(results.front().row.infeasible_jobs);
  for (const BacktestSummary& summary : summaries) {
    if (results.size() == 1 || !summary.all.wait_mean) continue;
    BacktestRow& all = rows.rows.front();
    all.wait_least = std::min(all.wait_least.value_or(*summary.all.wait_mean), *summary.all.wait_mean);
    all.wait_most = std::max(all.wait_most.value_or(*summary.all.wait_mean), *summary.all.wait_mean);
  }
  SimulationResult& first = results.front();
  if (report_.infeasible.empty()) {
    report_.infeasible = first.infeasible;
    report_.infeasible_jobs = first.row.infeasible_jobs;
  }
  first.row.policy = contender.label;
  const BacktestRow& told = rows.rows.front();
  const auto whole = [](const std::optional<double>& value) {
    return value ? std::optional(static_cast<std::int64_t>(*value)) : std::nullopt;
  };
  first.row.wait_mean = told.wait_mean;
  first.row.wait_p50 = whole(told.wait_p50);
  first.row.wait_p90 = whole(told.wait_p90);
  first.row.wait_p99 = whole(told.wait_p99);
  first.row.completion_mean = told.completion_mean;
  BERTH_TRY(save_simulated(runtime_, request_.target, first, device_capacity(cluster_)));
  BERTH_TRY(keep(std::move(rows)));
  if (!recorded_.empty()) BERTH_TRY(pair_with(std::string(kRecordedPolicy), recorded_, contender.label, waits));
  if (!waits_.empty()) BERTH_TRY(pair_with(contenders_.front().label, waits_.front(), contender.label, waits));
  waits_.push_back(std::move(waits));
  return {};
}

Status Backtest::pair_with(const std::string& baseline, const Waits& there, const std::string& policy,
                           const Waits& here) {
  PairedWaits pair = compare_waits(here, there, request_.seed);
  pair.policy = policy;
  pair.baseline = baseline;
  std::vector<BacktestPairRow>& pairs = report_.told.pairs;
  if (is_saved()) {
    BERTH_TRY(save_backtest_pair(runtime_.db(), request_.target.name, std::ssize(pairs), pair_row(pair)));
  }
  pairs.push_back(pair_row(pair));
  return {};
}

}  // namespace

Result<BacktestReport> backtest(Runtime& runtime, const BacktestRequest& request) {
  return Backtest(runtime, request).run();
}

}  // namespace berth
