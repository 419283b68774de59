#include "shell/simulate_options.h"

#include <fmt/format.h>

#include "engine/base/text.h"
#include "shell/trace_options.h"

namespace berth {

namespace {

constexpr OptionRow kTimedOptionRows[] = {
    {.name = "seed", .kind = "integer", .default_value = "42", .minimum = "0", .sentence = "Of every random choice."},
    {.name = "backfill",
     .kind = "greedy|none|none_per_queue|easy|conservative",
     .default_value = "greedy",
     .sentence = "What a job that does not fit means for those behind it: greedy nothing; none nobody passes it "
                 "(none_per_queue: of its queue); easy it gets a reservation that nobody delays; conservative so do "
                 "the first backfill_depth."},
    {.name = "backfill_depth",
     .kind = "integer",
     .default_value = "100",
     .minimum = "1",
     .sentence = "Jobs that get a reservation (backfill conservative)."},
    {.name = "preemption",
     .kind = "none|reclaim|replan",
     .default_value = "none",
     .sentence = "none: what runs runs to its end. reclaim: quota that is lent is taken back, a higher class goes "
                 "before a lower one of its queue. replan: at every moment all unfinished jobs are put in order and "
                 "chosen by their GPUs alone; running ones not chosen are evicted."},
    {.name = "replan_ties",
     .kind = "keep|waiting_first",
     .default_value = "keep",
     .sentence = "Jobs that are equal in the order of a replan: as they were, or waiting ones before running ones."},
    {.name = "min_runtime",
     .kind = "duration",
     .default_value = "10m",
     .sentence = "Of jobs that do not say: none is evicted for a reclaim before it has run that long."},
    {.name = "pending_delay",
     .kind = "duration",
     .default_value = "30s",
     .sentence = "A job waits that long before others are evicted for it."},
    {.name = "eviction_cooldown",
     .kind = "duration",
     .default_value = "10m",
     .sentence = "A job that was evicted is not evicted again so soon after its next start."},
    {.name = "eviction_budget",
     .kind = "real",
     .default_value = "-1",
     .sentence = "GPU-hours that the jobs of one queue may lose in an hour by evictions; -1 = any."},
    {.name = "round_interval",
     .kind = "duration",
     .default_value = "60s",
     .minimum = "1s",
     .sentence = "preemption reclaim: while jobs wait, they are looked at so often even if nothing happens."},
    {.name = "checkpoint_every",
     .kind = "duration",
     .default_value = "0s",
     .sentence = "Of jobs that do not say: an evicted one keeps the work up to its last checkpoint; 0 = it has none."},
    {.name = "restart_cost",
     .kind = "text",
     .default_value = "0s",
     .sentence = "Of jobs that do not say: added to the work of an evicted one; by its GPUs as in '7s to 1, 30s to 8, "
                 "60s'."},
    {.name = "completion_lag",
     .kind = "duration",
     .default_value = "0s",
     .sentence = "A job is seen to have ended so much later than it did, and holds its devices until then."},
    {.name = "durations",
     .kind = "oracle|predicted|limit|estimate",
     .default_value = "oracle",
     .sentence = "What is believed of durations: the truth, what jobs that ended teach, the job's time limit, or an "
                 "estimate of the file. A time limit bounds each, but for the truth."},
    {.name = "estimate",
     .kind = "text",
     .default_value = "",
     .sentence = "durations estimate: its name, e.g. user, group, group_gpu or given."},
    {.name = "history",
     .kind = "text",
     .default_value = "",
     .sentence = "durations predicted: a file of jobs that ran before, of the same format; predictions start from it."},
    {.name = "devices",
     .kind = "exact|pooled",
     .default_value = "exact",
     .sentence = "pooled: the GPUs of a node are one amount, 3 x 0.6 fits in 2, and a node may have thousands; no "
                 "score, quotas, locality and reservations."},
    {.name = "node_choice",
     .kind = "first_fit|balance|consolidate",
     .default_value = "first_fit",
     .sentence = "devices pooled: the first node that takes a task, the least used one, or the one with least left."},
    {.name = "binding_models",
     .kind = "text",
     .default_value = "all",
     .sentence =
         "Device models that bind jobs which name them, as 'V100|A100'; all, or none. Jobs that name others may "
         "run anywhere."},
    {.name = "arrivals_per_minute",
     .kind = "integer",
     .default_value = "0",
     .minimum = "0",
     .sentence = "So many jobs arrive at each full minute, in the order of the file; 0 = when they were submitted."},
    {.name = "aging_interval",
     .kind = "duration",
     .default_value = "1h",
     .sentence = "Waiting that is worth one step of priority (order policy priority)."},
    {.name = "las_levels",
     .kind = "duration",
     .default_value = "",
     .sentence = "Order policy las: the service that ends each level; default (3250s, 2h).",
     .many = true},
    {.name = "las_by_gpu",
     .kind = "boolean",
     .default_value = "true",
     .sentence = "Order policy las: service is time x GPUs, else time alone."},
    {.name = "usage_weight",
     .kind = "real",
     .default_value = "0",
     .minimum = "0",
     .sentence = "Order policy fair_share: how much past use counts against a queue; 0 = not at all."},
    {.name = "usage_half_life",
     .kind = "duration",
     .default_value = "7d",
     .minimum = "60s",
     .sentence = "Order policy fair_share: past use counts half after that time."},
    {.name = "sjf_percentile",
     .kind = "50|80|90",
     .default_value = "50",
     .sentence = "Order policy sjf: the percentile of the predicted duration that counts."},
    {.name = "wpai_low_use_penalty",
     .kind = "real",
     .default_value = "1",
     .minimum = "0",
     .sentence = "Order policy wpai: how much each percent of unused GPU counts against a job."},
    {.name = "wpai_wait_bonus",
     .kind = "real",
     .default_value = "1",
     .minimum = "0",
     .sentence = "Order policy wpai: how much each minute of waiting counts for a job."},
    {.name = "reservation_ttl",
     .kind = "duration",
     .default_value = "1h",
     .minimum = "1s",
     .sentence = "Room freed by an eviction is held so long for the job that it was freed for."},
    {.name = "default_duration",
     .kind = "duration",
     .default_value = "1d",
     .minimum = "1s",
     .sentence = "Expected of a job whose duration nobody knows."},
    {.name = "skip_bad_rows",
     .kind = "boolean",
     .default_value = "false",
     .sentence = "Leave out bad rows and jobs without a duration, and report them."},
    {.name = "sort",
     .kind = "boolean",
     .default_value = "false",
     .sentence = "The file is not in order of submission: read it whole and sort it."},
    {.name = "replace",
     .kind = "boolean",
     .default_value = "false",
     .sentence = "Overwrite a simulation of the same name."},
};
constexpr auto kTimedOptions = option_table(kTimedOptionRows, kNodeFileOptions, kJobFileOptions);

DurationSource read_duration_source(std::string_view text) {
  if (text == "predicted") return DurationSource::kPredicted;
  if (text == "limit") return DurationSource::kLimit;
  return text == "estimate" ? DurationSource::kEstimate : DurationSource::kOracle;
}

std::optional<std::vector<std::string>> read_binding_models(std::string_view text) {
  if (equals_ignoring_case(text, "all")) return std::nullopt;
  std::vector<std::string> models;
  if (equals_ignoring_case(text, "none")) return models;
  for (const std::string_view name : split(text, '|')) models.emplace_back(trim(name));
  return models;
}

Status read_las_levels(const Options& options, OrderKnobs& knobs) {
  if (!options.given("las_levels")) return {};
  knobs.las_thresholds.clear();
  for (const Value& level : options.list("las_levels")) {
    const std::int64_t service = level.integer * 1000;
    if (service <= (knobs.las_thresholds.empty() ? 0 : knobs.las_thresholds.back())) {
      return Status(Code::kInvalid, "option 'las_levels': the levels must rise from above 0", "as in (3250s, 2h)")
          .at(level.span);
    }
    knobs.las_thresholds.push_back(service);
  }
  return {};
}

void take_duration(const Options& options, std::string_view name, Seconds& duration) {
  if (options.given(name)) duration = options.duration(name);
}

void take_real(const Options& options, std::string_view name, double& number) {
  if (options.given(name)) number = options.real(name);
}

Status read_rules(const Options& options, RoundRules& rules) {
  BERTH_ASSIGN(rules.backfill, read_backfill_mode(options.text("backfill")));
  BERTH_ASSIGN(rules.preemption, read_preemption(options.text("preemption")));
  if (options.given("backfill_depth"))
    rules.backfill_depth = static_cast<std::int32_t>(options.integer("backfill_depth"));
  take_duration(options, "min_runtime", rules.min_runtime);
  take_duration(options, "pending_delay", rules.pending_delay);
  take_duration(options, "eviction_cooldown", rules.eviction_cooldown);
  take_duration(options, "reservation_ttl", rules.reservation_ttl);
  take_duration(options, "default_duration", rules.default_duration);
  if (!options.given("eviction_budget")) return {};
  const double budget = options.real("eviction_budget");
  if (budget < 0 && budget != -1) {
    return options.fail("eviction_budget", Code::kInvalid,
                        fmt::format("option 'eviction_budget' must be at least 0, or -1 for any, found '{}'",
                                    options.text("eviction_budget")));
  }
  rules.eviction_budget = budget < 0 ? -1 : static_cast<std::int64_t>(budget * 3600 * 1000);
  return {};
}

Status read_order_knobs(const Options& options, OrderKnobs& knobs) {
  BERTH_TRY(read_las_levels(options, knobs));
  if (options.given("las_by_gpu")) knobs.las_by_gpu = options.boolean("las_by_gpu");
  take_real(options, "usage_weight", knobs.usage_weight);
  take_duration(options, "usage_half_life", knobs.usage_half_life);
  if (options.given("sjf_percentile")) {
    BERTH_ASSIGN(knobs.sjf_percentile, read_integer(options.text("sjf_percentile")));
  }
  take_real(options, "wpai_low_use_penalty", knobs.wpai_low_use_penalty);
  take_real(options, "wpai_wait_bonus", knobs.wpai_wait_bonus);
  return {};
}

// Backfill and preemption are the statement's own, and so is what is believed of durations.
void take_settings(const Settings& settings, TimedOptions& timed) {
  timed.aging_interval = settings.aging_interval;
  timed.order_knobs = settings.order_knobs;
  timed.predictor = settings.predictor;
  timed.predictor.is_on = true;
  timed.rules = settings.rules;
}

}  // namespace

std::span<const OptionRow> jobs_options() { return kTimedOptions; }

Result<TimedOptions> timed_options(const Options& options, const std::optional<Settings>& settings) {
  TimedOptions timed;
  if (settings) take_settings(*settings, timed);
  timed.seed = static_cast<std::uint64_t>(options.integer("seed"));
  BERTH_TRY(read_rules(options, timed.rules));
  timed.replan_ties = options.text("replan_ties") == "keep" ? ReplanTies::kKeep : ReplanTies::kWaitingFirst;
  timed.round_interval = options.duration("round_interval");
  timed.checkpoint_interval = options.duration("checkpoint_every");
  Result<RestartCost> cost = read_restart_cost(options.text("restart_cost"));
  if (!cost.ok()) {
    return options.fail("restart_cost", cost.status().code(), std::string(cost.status().message()),
                        "as in '60s' or '7s to 1, 30s to 8, 60s'");
  }
  timed.restart_cost = *std::move(cost);
  timed.completion_lag = options.duration("completion_lag");
  timed.durations = read_duration_source(options.text("durations"));
  timed.estimate = options.text_or("estimate", "");
  if (timed.durations == DurationSource::kEstimate && timed.estimate.empty())
    return options.fail("durations", Code::kInvalid, "which estimate?", "estimate = 'user' names one of the file");
  if (timed.durations != DurationSource::kEstimate && !timed.estimate.empty()) {
    return options.fail(
        "estimate", Code::kInvalid,
        fmt::format("option 'estimate' is of durations = estimate, not of durations = {}", options.text("durations")));
  }
  if (timed.durations != DurationSource::kPredicted && !options.text_or("history", "").empty()) {
    return options.fail(
        "history", Code::kInvalid,
        fmt::format("option 'history' is of durations = predicted, not of durations = {}", options.text("durations")));
  }
  timed.pooled_devices = options.text("devices") == "pooled";
  BERTH_ASSIGN(timed.node_choice, read_node_choice(options.text("node_choice")));
  timed.binding_models = read_binding_models(options.text("binding_models"));
  timed.arrivals_per_minute = options.integer("arrivals_per_minute");
  take_duration(options, "aging_interval", timed.aging_interval);
  BERTH_TRY(read_order_knobs(options, timed.order_knobs));
  return timed;
}

}  // namespace berth
