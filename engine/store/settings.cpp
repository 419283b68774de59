#include "engine/store/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "engine/base/text.h"
#include "engine/policy/registry.h"
#include "engine/store/policy_records.h"

namespace berth {

namespace {

constexpr std::int64_t kDay = 24 * 3600;

constexpr Knob kKnobs[] = {
    {"admit_policy", KnobType::kAdmitPolicy, "none", 0, 0,
     "a policy in Lua whose admit() is asked about every job that is submitted"},
    {"aging_interval", KnobType::kDuration, "1h", 1, 365 * kDay,
     "how much waiting is worth one step of priority, so that no job waits for ever behind higher classes"},
    {"assertion_action", KnobType::kChoice, "hold", 0, 0,
     "what becomes of a round that would break an assertion: the jobs that would break it are held back and the rest "
     "is done, or the whole round is refused",
     "hold|refuse"},
    {"assertion_budget_ms", KnobType::kInteger, "2000", 1, 3600000,
     "how many milliseconds an assertion may take to answer; no round is applied that one has not answered"},
    {"backfill", KnobType::kChoice, "easy", 0, 0, "what happens behind a job that may start but does not fit",
     "greedy|none|none_per_queue|easy|conservative"},
    {"backfill_depth", KnobType::kInteger, "100", 1, 1000000,
     "how many jobs get a reservation when backfill is conservative"},
    {"chargeback_retention", KnobType::kDuration, "400d", 0, 36500 * kDay,
     "how long is kept, day by day, what queues owned, used, borrowed, lent and lost"},
    {"default_duration", KnobType::kDuration, "1d", 1, 3650 * kDay,
     "how long a job is expected to run about which nothing is known"},
    {"eta_jobs", KnobType::kInteger, "20", 0, 1000,
     "how many waiting jobs a round tells when they will start, of those that have not been told; 0 = none"},
    {"eta_share", KnobType::kInteger, "10", 0, 100,
     "percent of the time of rounds that telling it may take in the long run, where that is not negligible; 100 = all"},
    {"event_retention", KnobType::kDuration, "90d", 0, 36500 * kDay, "how long events are kept"},
    {"eviction_budget", KnobType::kGpuHours, "any", 0, 1000000000,
     "GPU-hours of work that evictions may cost the jobs of one queue in an hour; any = no bound"},
    {"eviction_cooldown", KnobType::kDuration, "10m", 0, 365 * kDay,
     "how long a job that was evicted runs at least after its next start; before a higher class of its queue evicts it "
     "again, so long for each time"},
    {"filter_policy", KnobType::kFilterPolicy, "none", 0, 0,
     "a policy in Lua whose feasible() says on which nodes a task may run"},
    {"gpu_hour_price", KnobType::kNumber, "1", 0, 1000000,
     "chargeback: what a queue pays for a borrowed GPU-hour where the device model has no price of its own"},
    {"history_mib", KnobType::kInteger, "1024", 0, 1 << 30,
     "how many MiB the history of the tables may take; the oldest goes first"},
    {"history_retention", KnobType::kDuration, "30d", 0, 36500 * kDay,
     "how far back as_of, DIFF STATE and SHOW HISTORY can look"},
    {"import_new_nodes", KnobType::kBoolean, "false", 0, 0,
     "whether nodes that an executor knows and Berth does not are added when they are found"},
    {"inventory_every", KnobType::kDuration, "5m", 0, 365 * kDay,
     "how often RUN ALL compares the nodes of each executor with those here; RUN SYNC always does"},
    {"job_retention", KnobType::kDuration, "365d", 0, 36500 * kDay, "how long ended jobs and their runs are kept"},
    {"las_by_gpu", KnobType::kBoolean, "true", 0, 0, "order las: service is time times GPUs, else time alone"},
    {"las_thresholds", KnobType::kGpuSeconds, "3250, 7200", 0, 0,
     "order las: the attained service, in GPU-seconds, that ends each level"},
    {"lease_duration", KnobType::kDuration, "10m", 10, kDay,
     "how long a round may hold the right to run before another takes over"},
    {"lender_share", KnobType::kInteger, "100", 0, 100,
     "chargeback: percent of what borrowers pay for a queue's quota that is credited to that queue"},
    {"loss_retries", KnobType::kInteger, "3", 0, 1000,
     "how often a job whose end nobody saw, as its node or supervisor is gone, starts again, beyond its own retries"},
    {"min_runtime", KnobType::kDuration, "10m", 0, 365 * kDay,
     "how long a job runs before it may be evicted, unless it says itself"},
    {"node_back_after", KnobType::kDuration, "1m", 0, kDay,
     "how long a node that was down must be in order before it gets work again"},
    {"node_down_after", KnobType::kDuration, "1m", 0, kDay,
     "how long a node is not in order before what runs there is lost, or an executor is silent before its nodes get "
     "nothing new"},
    {"node_flap_limit", KnobType::kInteger, "3", 1, 1000,
     "a node that fails so often within node_flap_window is set aside"},
    {"node_flap_window", KnobType::kDuration, "1h", 1, 365 * kDay, "see node_flap_limit"},
    {"order_policy", KnobType::kOrderPolicy, "priority", 0, 0, "which waiting job is tried first"},
    {"pending_delay", KnobType::kDuration, "30s", 0, 365 * kDay,
     "how long a job waits before others are evicted for it"},
    {"predict_durations", KnobType::kBoolean, "true", 0, 0,
     "past runs tell how long a job will run; false: only its time limit does, and default_duration if it has none"},
    {"prediction_half_life", KnobType::kDuration, "30d", 3600, 36500 * kDay,
     "how long until a past run counts half when the duration of the next is predicted"},
    {"prediction_min_count", KnobType::kInteger, "3", 1, 32,
     "how many like runs are needed to predict from them; of the same tag fewer still count before those of other "
     "tags"},
    {"prediction_retention", KnobType::kDuration, "365d", 0, 36500 * kDay,
     "how long past durations are kept of a kind of job that no longer comes"},
    {"preemption", KnobType::kChoice, "reclaim", 0, 0,
     "whether running jobs may be evicted for others; none also lets those run on that were told to stop",
     "none|reclaim"},
    {"record_history", KnobType::kBoolean, "true", 0, 0,
     "changes keep what they replace, for as_of and DIFF STATE; false drops what there is"},
    {"record_mib", KnobType::kInteger, "1024", 0, 1 << 30,
     "how many MiB the records of rounds may take; the oldest go first"},
    {"record_retention", KnobType::kDuration, "7d", 0, 36500 * kDay,
     "how long what rounds looked at is kept, so that they can be planned again"},
    {"record_rounds", KnobType::kBoolean, "true", 0, 0, "rounds keep what they looked at, for REPLAY ROUND"},
    {"reload_policies", KnobType::kBoolean, "true", 0, 0,
     "RUN ALL EVERY gives policies in Lua a new version when their files have changed"},
    {"reservation_ttl", KnobType::kDuration, "1h", 1, 365 * kDay,
     "how long room freed by an eviction is held for its job, and none is made for a job that an assertion refused"},
    {"rightsizing_compute_floor", KnobType::kBoolean, "true", 0, 0,
     "right-sizing never gives less CPU and GPU than a past run used in the mean, and the margin"},
    {"rightsizing_compute_margin", KnobType::kInteger, "5", 0, 1000,
     "percent that right-sizing keeps above the highest mean use of CPU and GPU"},
    {"rightsizing_histogram_compute_half_life", KnobType::kDuration, "7d", 3600, 36500 * kDay,
     "rightsizing histogram: how long until a past run's CPU and GPU use counts half"},
    {"rightsizing_histogram_compute_percentile", KnobType::kInteger, "90", 0, 100,
     "rightsizing histogram: which percentile of past CPU and GPU use is asked for; 0 = their mean"},
    {"rightsizing_histogram_margin", KnobType::kInteger, "10", 0, 1000,
     "rightsizing histogram: percent asked for above the percentile"},
    {"rightsizing_histogram_memory_half_life", KnobType::kDuration, "28d", 3600, 36500 * kDay,
     "rightsizing histogram: how long until a past run's memory peak counts half"},
    {"rightsizing_histogram_memory_percentile", KnobType::kInteger, "100", 1, 100,
     "rightsizing histogram: which percentile of past memory peaks is asked for; 100 = the highest"},
    {"rightsizing_history", KnobType::kInteger, "20", 1, 1000, "how many past runs right-sizing looks at"},
    {"rightsizing_memory_margin", KnobType::kInteger, "30", 0, 1000,
     "percent that right-sizing keeps above the highest memory peak; twice as much while few runs are known"},
    {"rightsizing_min_runs", KnobType::kInteger, "3", 1, 1000,
     "how many runs must have gone well, one after the other, before right-sizing takes anything away"},
    {"rightsizing_shrink_devices", KnobType::kBoolean, "false", 0, 0,
     "right-sizing may also take whole devices from tasks of several"},
    {"rightsizing_wpai_cpu_req_factor", KnobType::kInteger, "-1", -1, 1000,
     "rightsizing wpai: percent of the CPU use that is asked for; -1 = as the variant has it"},
    {"rightsizing_wpai_cpu_req_stat", KnobType::kChoice, "variant", 0, 0, "rightsizing wpai: which CPU use counts",
     "variant|mean|peak"},
    {"rightsizing_wpai_gpu_mem_factor", KnobType::kInteger, "-1", -1, 1000,
     "rightsizing wpai: percent of the peak device memory that the share of a device covers; -1 = as the variant has "
     "it"},
    {"rightsizing_wpai_gpu_util_factor", KnobType::kInteger, "-1", -1, 1000,
     "rightsizing wpai: percent of the mean GPU utilisation that is asked for; -1 = as the variant has it"},
    {"rightsizing_wpai_variant", KnobType::kChoice, "b", 0, 0, "rightsizing wpai: which published variant", "a|b"},
    {"rightsizing_wpai_window", KnobType::kInteger, "3", 1, 1000, "rightsizing wpai: how many last runs count"},
    {"round_retention", KnobType::kDuration, "30d", 0, 36500 * kDay,
     "how long rounds, their decisions, evictions and saved plans are kept"},
    {"score_policy", KnobType::kScorePolicy, "berth", 0, 0, "which feasible node a task goes to"},
    {"seed", KnobType::kInteger, "0", 0, INT64_MAX, "where the random source of a round starts"},
    {"shadow_budget_ms", KnobType::kInteger, "1000", 1, 3600000,
     "how many milliseconds a shadow policy may plan after each round"},
    {"sjf_percentile", KnobType::kChoice, "50", 0, 0,
     "order sjf: which percentile of the predicted duration counts; a higher one keeps jobs about which little is "
     "known "
     "behind those that are known to be short",
     "50|80|90"},
    {"stop_grace", KnobType::kDuration, "10s", 0, kDay,
     "how long a task that is told to end gets before it is made to"},
    {"usage_half_life", KnobType::kDuration, "7d", 60, 36500 * kDay,
     "how fast fair_share forgets what a queue has used: it counts half after that time"},
    {"usage_weight", KnobType::kNumber, "0", 0, 1000,
     "how much what a queue has used counts against it in fair_share; 0 = not at all"},
    {"victim_policy", KnobType::kVictimPolicy, "none", 0, 0,
     "a policy in Lua whose victim_cost() says what it costs to end a running task to make room"},
    {"wpai_low_use_penalty", KnobType::kNumber, "1", 0, 1000,
     "order wpai: how much each percent of requested GPU that goes unused counts against a job"},
    {"wpai_wait_bonus", KnobType::kNumber, "1", 0, 1000, "order wpai: how much each minute waited counts for a job"},
};

constexpr std::size_t kMostLasLevels = 16;

std::string typed_text(const Knob& knob, std::int64_t value) {
  return knob.type == KnobType::kDuration ? print_duration(Seconds(value)) : fmt::format("{}", value);
}

Status out_of_range(const Knob& knob, std::string_view value) {
  return Status(Code::kInvalid, fmt::format("{} lies between {} and {}, not {}", knob.name,
                                            typed_text(knob, knob.least), typed_text(knob, knob.most), value));
}

Result<std::string> check_number(const Knob& knob, std::string_view value) {
  std::int64_t number = 0;
  if (knob.type == KnobType::kDuration) {
    BERTH_ASSIGN(const Seconds duration, read_duration(value));
    number = duration.value();
  } else {
    BERTH_ASSIGN(number, read_integer(value));
  }
  if (number < knob.least || number > knob.most) return out_of_range(knob, value);
  return typed_text(knob, number);
}

Result<double> read_number(std::string_view text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stopped != end || !std::isfinite(number))
    return Status(Code::kInvalid, fmt::format("'{}' is not a number such as 2 or 0.5", text));
  return number;
}

Result<std::string> check_fraction(const Knob& knob, std::string_view value) {
  BERTH_ASSIGN(const double number, read_number(value));
  if (number < static_cast<double>(knob.least) || number > static_cast<double>(knob.most))
    return out_of_range(knob, value);
  return fmt::format("{}", number);
}

Result<bool> read_truth(std::string_view text) {
  if (equals_ignoring_case(text, "true")) return true;
  if (equals_ignoring_case(text, "false")) return false;
  return Status(Code::kInvalid, fmt::format("'{}' is neither true nor false", text));
}

Result<std::string> check_choice(const Knob& knob, std::string_view value) {
  std::vector<std::string> choices;
  for (const std::string_view choice : split(knob.choices, '|')) {
    if (equals_ignoring_case(choice, value)) return std::string(choice);
    choices.emplace_back(choice);
  }
  const std::string near = suggest(value, choices);
  return Status(Code::kInvalid, fmt::format("{} is one of {}, not '{}'", knob.name, join(choices, ", "), value), near);
}

// milli-GPU-seconds an hour; -1 = any.
Result<std::int64_t> read_gpu_hours(std::string_view text) {
  if (equals_ignoring_case(text, "any")) return std::int64_t{-1};
  BERTH_ASSIGN(const MilliGpu amount, read_gpu(text));
  return amount.value() * 3600;
}

Result<std::string> check_gpu_hours(const Knob& knob, std::string_view value) {
  BERTH_ASSIGN(const std::int64_t budget, read_gpu_hours(value));
  if (budget < 0) return std::string("any");
  const std::int64_t milli = budget / 3600;
  if (milli < knob.least * 1000 || milli > knob.most * 1000) return out_of_range(knob, value);
  return print_gpu(MilliGpu(milli));
}

// milli-GPU-seconds, rising.
Result<std::vector<std::int64_t>> read_gpu_seconds(std::string_view text) {
  std::vector<std::int64_t> levels;
  for (const std::string_view level : split(text, ',')) {
    BERTH_ASSIGN(const MilliGpu amount, read_gpu(trim(level)));
    if (amount.value() <= (levels.empty() ? 0 : levels.back()))
      return Status(Code::kInvalid, fmt::format("'{}': the levels must rise from above 0", text));
    levels.push_back(amount.value());
  }
  if (levels.size() > kMostLasLevels) return Status(Code::kInvalid, fmt::format("at most {} levels", kMostLasLevels));
  return levels;
}

Result<std::string> check_gpu_seconds(std::string_view value) {
  BERTH_ASSIGN(const std::vector<std::int64_t> levels, read_gpu_seconds(value));
  std::vector<std::string> printed;
  for (const std::int64_t level : levels) printed.push_back(print_gpu(MilliGpu(level)));
  return join(printed, ", ");
}

// The values of all knobs, read one by one; the first that cannot be read is the error.
class SettingValues {
 public:
  explicit SettingValues(const std::vector<Setting>& settings) : settings_(settings) {}

  const std::string& text(std::string_view name) const {
    return std::find_if(settings_.begin(), settings_.end(),
                        [&](const Setting& setting) { return setting.knob->name == name; })
        ->value;
  }
  template <class Value, class Read>
  SettingValues& take(std::string_view name, Read read, Value& value) {
    auto result = read(text(name));
    if (result.ok()) {
      value = static_cast<Value>(*std::move(result));
    } else if (status_.ok()) {
      status_ = std::move(result).status().prefixed(fmt::format("setting {}", name));
    }
    return *this;
  }
  Status status() const { return status_; }

 private:
  const std::vector<Setting>& settings_;
  Status status_;
};

Result<WpaiVariant> read_wpai_variant(std::string_view text) {
  return equals_ignoring_case(text, "a") ? WpaiVariant::kA : WpaiVariant::kB;
}

// Below 0 = as the variant has it.
Result<std::optional<std::int64_t>> read_own_factor(std::string_view text) {
  BERTH_ASSIGN(const std::int64_t percent, read_integer(text));
  return percent < 0 ? std::nullopt : std::optional(percent);
}

Result<std::optional<UsageStatistic>> read_own_statistic(std::string_view text) {
  if (equals_ignoring_case(text, "variant")) return std::optional<UsageStatistic>();
  return std::optional(equals_ignoring_case(text, "peak") ? UsageStatistic::kPeak : UsageStatistic::kMean);
}

Status take_rightsizing(SettingValues& values, RightsizeKnobs& knobs) {
  return values.take("rightsizing_min_runs", read_integer, knobs.min_runs)
      .take("rightsizing_history", read_integer, knobs.history)
      .take("rightsizing_memory_margin", read_integer, knobs.memory_margin)
      .take("rightsizing_compute_margin", read_integer, knobs.compute_margin)
      .take("rightsizing_compute_floor", read_truth, knobs.compute_floor)
      .take("rightsizing_shrink_devices", read_truth, knobs.shrink_devices)
      .take("rightsizing_wpai_variant", read_wpai_variant, knobs.variant)
      .take("rightsizing_wpai_window", read_integer, knobs.window)
      .take("rightsizing_wpai_gpu_util_factor", read_own_factor, knobs.gpu_util_factor)
      .take("rightsizing_wpai_gpu_mem_factor", read_own_factor, knobs.gpu_mem_factor)
      .take("rightsizing_wpai_cpu_req_factor", read_own_factor, knobs.cpu_req_factor)
      .take("rightsizing_wpai_cpu_req_stat", read_own_statistic, knobs.cpu_req_stat)
      .take("rightsizing_histogram_compute_percentile", read_integer, knobs.compute_percentile)
      .take("rightsizing_histogram_memory_percentile", read_integer, knobs.memory_percentile)
      .take("rightsizing_histogram_margin", read_integer, knobs.margin)
      .take("rightsizing_histogram_compute_half_life", read_duration, knobs.compute_half_life)
      .take("rightsizing_histogram_memory_half_life", read_duration, knobs.memory_half_life)
      .status();
}

}  // namespace

std::string_view knob_type_name(KnobType type) {
  switch (type) {
    case KnobType::kInteger: return "integer";
    case KnobType::kDuration: return "duration";
    case KnobType::kNumber: return "number";
    case KnobType::kBoolean: return "boolean";
    case KnobType::kChoice: return "choice";
    case KnobType::kGpuHours: return "GPU-hours";
    case KnobType::kGpuSeconds: return "GPU-seconds";
    case KnobType::kOrderPolicy: return "order policy";
    case KnobType::kScorePolicy: return "score policy";
    case KnobType::kFilterPolicy: return "filter policy";
    case KnobType::kVictimPolicy: return "victim policy";
    case KnobType::kAdmitPolicy: return "admit policy";
  }
  return "";
}

std::optional<PolicyKind> policy_kind_of(KnobType type) {
  switch (type) {
    case KnobType::kOrderPolicy: return PolicyKind::kOrder;
    case KnobType::kScorePolicy: return PolicyKind::kScore;
    case KnobType::kFilterPolicy: return PolicyKind::kFilter;
    case KnobType::kVictimPolicy: return PolicyKind::kVictim;
    case KnobType::kAdmitPolicy: return PolicyKind::kAdmit;
    default: return std::nullopt;
  }
}

std::span<const Knob> all_knobs() { return kKnobs; }

Result<const Knob*> find_knob(std::string_view name) {
  for (const Knob& knob : kKnobs) {
    if (equals_ignoring_case(knob.name, name)) return &knob;
  }
  std::vector<std::string> names;
  for (const Knob& knob : kKnobs) names.emplace_back(knob.name);
  return Status(Code::kNotFound, fmt::format("no setting '{}'", name), suggest(name, names)).about("setting", name);
}

Result<std::string> check_setting(Database& db, const Knob& knob, std::string_view value) {
  switch (knob.type) {
    case KnobType::kOrderPolicy:
    case KnobType::kScorePolicy:
    case KnobType::kFilterPolicy:
    case KnobType::kVictimPolicy:
    case KnobType::kAdmitPolicy: {
      std::string name = to_lower(value);
      BERTH_TRY(check_policy(db, *policy_kind_of(knob.type), name));
      return name;
    }
    case KnobType::kInteger:
    case KnobType::kDuration: return check_number(knob, value);
    case KnobType::kNumber: return check_fraction(knob, value);
    case KnobType::kBoolean: {
      BERTH_ASSIGN(const bool truth, read_truth(value));
      return std::string(truth ? "true" : "false");
    }
    case KnobType::kChoice: return check_choice(knob, value);
    case KnobType::kGpuHours: return check_gpu_hours(knob, value);
    case KnobType::kGpuSeconds: return check_gpu_seconds(value);
  }
  return Status(Code::kInternal, "a knob of unknown type");
}

Status set_setting(Change& change, std::string_view name, std::string_view value) {
  BERTH_ASSIGN(const Knob* knob, find_knob(name));
  BERTH_ASSIGN(const std::string text, check_setting(change.db(), *knob, value));
  BERTH_ASSIGN(Statement put, change.db().prepare("INSERT INTO settings (key, value) VALUES (?1, ?2) "
                                                  "ON CONFLICT (key) DO UPDATE SET value = excluded.value"));
  BERTH_TRY(put.run(knob->name, text));
  return change.record("set", knob->name, text);
}

Status reset_setting(Change& change, std::string_view name) {
  BERTH_ASSIGN(const Knob* knob, find_knob(name));
  BERTH_ASSIGN(Statement remove, change.db().prepare("DELETE FROM settings WHERE key = ?1"));
  BERTH_TRY(remove.run(knob->name));
  return change.record("reset", knob->name, knob->default_text);
}

Result<std::vector<Setting>> list_settings(Database& db) {
  std::vector<Setting> settings;
  for (const Knob& knob : kKnobs) settings.push_back({&knob, std::string(knob.default_text), true});
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT key, value FROM settings"));
  while (rows.next()) {
    for (Setting& setting : settings) {
      if (setting.knob->name != rows.text(0)) continue;
      setting.value = rows.text(1);
      setting.is_default = false;
    }
  }
  BERTH_TRY(rows.status());
  return settings;
}

Result<Settings> read_settings(Database& db) { return read_settings(db, {}); }

Result<Settings> read_settings(Database& db, const SettingOverrides& overrides) {
  BERTH_ASSIGN(std::vector<Setting> all, list_settings(db));
  for (const auto& [name, value] : overrides) {
    BERTH_ASSIGN(const Knob* knob, find_knob(name));
    Result<std::string> text = check_setting(db, *knob, value);
    if (!text.ok()) return std::move(text).status().about(knob->name, value);
    std::ranges::find(all, knob, &Setting::knob)->value = *std::move(text);
  }
  Settings settings;
  RoundRules& rules = settings.rules;
  OrderKnobs& order = settings.order_knobs;
  SettingValues values(all);
  settings.order_policy = values.text("order_policy");
  settings.score_policy = values.text("score_policy");
  const auto unless_none = [&](std::string_view name) {
    return values.text(name) == "none" ? std::string() : values.text(name);
  };
  settings.filter_policy = unless_none("filter_policy");
  settings.victim_policy = unless_none("victim_policy");
  settings.admit_policy = unless_none("admit_policy");
  settings.holds_back = values.text("assertion_action") == "hold";
  BERTH_TRY(values.take("seed", read_integer, settings.seed)
                .take("aging_interval", read_duration, settings.aging_interval)
                .take("lease_duration", read_duration, settings.lease_duration)
                .take("import_new_nodes", read_truth, settings.import_new_nodes)
                .take("inventory_every", read_duration, settings.inventory_every)
                .take("loss_retries", read_integer, settings.loss_retries)
                .take("node_back_after", read_duration, settings.node_back_after)
                .take("node_down_after", read_duration, settings.node_down_after)
                .take("node_flap_limit", read_integer, settings.node_flap_limit)
                .take("node_flap_window", read_duration, settings.node_flap_window)
                .take("stop_grace", read_duration, settings.stop_grace)
                .take("chargeback_retention", read_duration, settings.chargeback_retention)
                .take("eta_jobs", read_integer, settings.eta_jobs)
                .take("eta_share", read_integer, settings.eta_share)
                .take("event_retention", read_duration, settings.event_retention)
                .take("history_retention", read_duration, settings.history_retention)
                .take("history_mib", read_integer, settings.history_bytes)
                .take("round_retention", read_duration, settings.round_retention)
                .take("record_rounds", read_truth, settings.record_rounds)
                .take("record_retention", read_duration, settings.record_retention)
                .take("record_mib", read_integer, settings.record_bytes)
                .take("assertion_budget_ms", read_integer, settings.assertion_budget_ms)
                .take("shadow_budget_ms", read_integer, settings.shadow_budget_ms)
                .take("job_retention", read_duration, settings.job_retention)
                .take("backfill", read_backfill_mode, rules.backfill)
                .take("backfill_depth", read_integer, rules.backfill_depth)
                .take("preemption", read_preemption, rules.preemption)
                .take("min_runtime", read_duration, rules.min_runtime)
                .take("pending_delay", read_duration, rules.pending_delay)
                .take("eviction_cooldown", read_duration, rules.eviction_cooldown)
                .take("eviction_budget", read_gpu_hours, rules.eviction_budget)
                .take("reload_policies", read_truth, settings.reload_policies)
                .take("reservation_ttl", read_duration, rules.reservation_ttl)
                .take("default_duration", read_duration, rules.default_duration)
                .take("usage_weight", read_number, order.usage_weight)
                .take("usage_half_life", read_duration, order.usage_half_life)
                .take("las_thresholds", read_gpu_seconds, order.las_thresholds)
                .take("las_by_gpu", read_truth, order.las_by_gpu)
                .take("wpai_low_use_penalty", read_number, order.wpai_low_use_penalty)
                .take("wpai_wait_bonus", read_number, order.wpai_wait_bonus)
                .take("sjf_percentile", read_integer, order.sjf_percentile)
                .take("predict_durations", read_truth, settings.predictor.is_on)
                .take("prediction_half_life", read_duration, settings.predictor.half_life)
                .take("prediction_min_count", read_integer, settings.predictor.min_count)
                .take("prediction_retention", read_duration, settings.prediction_retention)
                .status());
  settings.record_bytes <<= 20;
  settings.history_bytes <<= 20;
  BERTH_TRY(take_rightsizing(values, settings.rightsizing));
  return settings;
}

}  // namespace berth
