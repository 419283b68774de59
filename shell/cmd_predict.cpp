// SHOW PREDICTIONS, REBUILD PREDICTIONS, RECORD USAGE, SHOW USAGE, PLAN RIGHTSIZE.
#include "engine/runtime/prediction.h"
#include "engine/runtime/rightsize.h"
#include "engine/store/names.h"
#include "engine/store/prediction_records.h"
#include "engine/store/run_usage_records.h"
#include "shell/cmd_support.h"
#include "shell/families.h"
#include "shell/usage_options.h"

namespace berth {

namespace {

Cell duration_cell(Seconds duration) {
  return duration > Seconds(0) ? Cell(print_duration(duration)) : Cell(std::monostate());
}
double share_of(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

Result<std::optional<std::int64_t>> queue_argument(Session& session, const Arguments& arguments) {
  if (!arguments.has("queue")) return std::optional<std::int64_t>();
  Result<std::int64_t> id = find_id(engine_of(session).db(), Thing::kQueue, arguments.text("queue"));
  if (!id.ok()) return blame(std::move(id).status(), arguments.span("queue"));
  return std::optional(*id);
}

Result<std::int64_t> rows_to_show(const Arguments& arguments) {
  if (!arguments.has("count")) return std::int64_t{20};
  const std::int64_t count = arguments.integer("count");
  if (count < 1) return arguments.fail("count", Code::kInvalid, fmt::format("LAST takes at least 1, found {}", count));
  return count;
}

// ---- predictions ----------------------------------------------------------------------------------------------------

ResultTable keys_table(const std::vector<PredictionKey>& keys) {
  ResultTable table{.title = "keys",
                    .columns = {{"level"},
                                {"tag"},
                                {"user"},
                                {"models"},
                                {"request"},
                                {"runs"},
                                {"recent"},
                                {"p50", Align::kRight},
                                {"p80", Align::kRight},
                                {"p90", Align::kRight},
                                {"bounds"},
                                {"last_end"}},
                    .rows = {}};
  for (const PredictionKey& key : keys) {
    const DurationEstimate& estimate = key.prediction.estimate;
    table.rows.push_back({std::string(prediction_level_name(key.level)), text_or_null(key.tag), text_or_null(key.user),
                          text_or_null(key.models), text_or_null(key.request), key.runs, key.prediction.count,
                          duration_cell(estimate.p50), duration_cell(estimate.p80), duration_cell(estimate.p90),
                          estimate.p50 == Seconds(0) ? Cell() : Cell(std::string(estimate.is_rough ? "no" : "yes")),
                          print_time(key.last_end)});
  }
  return table;
}

ResultTable accuracy_table(const std::vector<LevelAccuracy>& levels) {
  ResultTable table{.title = "measured",
                    .columns = {{"level"},
                                {"runs"},
                                {"within_25_percent", Align::kByType, 1},
                                {"median_error_percent"},
                                {"p90_held_percent", Align::kByType, 1}},
                    .rows = {}};
  const auto add = [&](std::string_view name, const PredictionAccuracy& accuracy, bool predicted) {
    std::vector<Cell> row = {std::string(name), accuracy.runs, std::monostate(), std::monostate(), std::monostate()};
    if (predicted) {
      row[2] = share_of(accuracy.within(25), accuracy.runs);
      row[3] = accuracy.median_error();
      row[4] = share_of(accuracy.p90_held, accuracy.runs);
    }
    table.rows.push_back(std::move(row));
  };
  for (const LevelAccuracy& level : levels) {
    add(prediction_level_name(level.level), level.accuracy, level.level != PredictionLevel::kUnknown);
  }
  return table;
}

Result<Output> show_predictions(Session& session, const Arguments& arguments) {
  PredictionFilter filter;
  BERTH_ASSIGN(filter.queue, queue_argument(session, arguments));
  BERTH_ASSIGN(filter.most, rows_to_show(arguments));
  if (arguments.has("tag")) filter.tag = arguments.text("tag");
  Runtime& engine = engine_of(session);
  BERTH_ASSIGN(const std::vector<PredictionKey> keys, list_predictions(engine.db(), filter, engine.now()));
  BERTH_ASSIGN(const std::vector<LevelAccuracy> measured, measured_accuracy(engine.db()));
  Output output;
  output.add(keys_table(keys));
  output.add(accuracy_table(measured));
  if (keys.empty()) {
    output.add_note(fmt::format("nothing is known {}: durations are learnt when jobs finish",
                                filter.tag     ? fmt::format("of tag '{}' yet", *filter.tag)
                                : filter.queue ? fmt::format("of queue {} yet", arguments.text("queue"))
                                               : "yet"));
  }
  return output;
}

Result<Output> rebuild_statement(Session& session, const Arguments& arguments) {
  (void)arguments;
  std::int64_t runs = 0;
  const Result<std::int64_t> version = engine_of(session).change([&](Change& change) -> Status {
    BERTH_ASSIGN(runs, rebuild_predictions(change));
    return {};
  });
  if (!version.ok()) return version.status();
  return Output::note(fmt::format("predictions learnt anew from {}", counted(runs, "run")));
}

// ---- usage ----------------------------------------------------------------------------------------------------------

Result<Output> record_usage_statement(Session& session, const Arguments& arguments) {
  const UsageSample usage = usage_from(arguments.options());
  if (is_empty(usage)) {
    return arguments.fail("job", Code::kInvalid, "nothing was measured",
                          "WITH (cpu_mean = 2.5, memory_peak = 12GiB, gpu_util = 0.4, ...)");
  }
  return change_with_note(session, fmt::format("usage of job {} recorded", arguments.text("job")),
                          [&](Change& change) -> Status {
                            Result<std::int64_t> job = find_job(change.db(), arguments.text("job"));
                            if (!job.ok()) return blame(std::move(job).status(), arguments.span("job"));
                            const bool group = arguments.has("group");
                            BERTH_TRY(blame(record_usage(change, *job, arguments.text_or("group", ""), usage),
                                            arguments.span(group ? "group" : "job")));
                            BERTH_ASSIGN(const std::string name, name_of(change.db(), Thing::kJob, *job));
                            return change.record("record usage", name, arguments.text_or("group", ""));
                          });
}

Result<Output> show_usage(Session& session, const Arguments& arguments) {
  BERTH_ASSIGN(const std::optional<std::int64_t> queue, queue_argument(session, arguments));
  BERTH_ASSIGN(const std::int64_t most, rows_to_show(arguments));
  std::optional<std::int64_t> job;
  if (arguments.has("job")) {
    Result<std::int64_t> found = find_job(engine_of(session).db(), arguments.text("job"));
    if (!found.ok()) return blame(std::move(found).status(), arguments.span("job"));
    job = *found;
  }
  return query_output(
      session,
      "SELECT j.name AS job, g.name AS \"group\", r.attempt, datetime(u.end_time, 'unixepoch') AS ended, "
      "g.cpu_milli / 1000.0 AS cpu, u.cpu_mean_milli / 1000.0 AS cpu_mean, u.cpu_peak_milli / 1000.0 AS cpu_peak, "
      "g.memory_mib / 1024.0 AS memory_gib, u.memory_peak_mib / 1024.0 AS memory_peak_gib, "
      "g.gpu_count * g.gpu_milli / 1000.0 AS gpus, u.gpu_mean_milli / 1000.0 AS gpu_util, "
      "u.gpu_memory_peak_mib / 1024.0 AS gpu_memory_peak_gib, iif(u.out_of_memory, 'yes', NULL) AS oom "
      "FROM run_usage u JOIN runs r ON r.id = u.run_id JOIN jobs j ON j.id = r.job_id "
      "JOIN task_groups g ON g.job_id = j.id AND g.group_index = u.group_index "
      "WHERE (?1 IS NULL OR j.id = ?1) AND (?2 IS NULL OR j.queue_id = ?2) "
      "ORDER BY u.end_time DESC, u.run_id DESC, u.group_index LIMIT ?3",
      job, queue, most);
}

// ---- right-sizing ---------------------------------------------------------------------------------------------------

constexpr OptionRow kRightsizeOptions[] = {
    {.name = "policy",
     .kind = "histogram|wpai",
     .default_value = "",
     .sentence = "Which policy; default: that of the job's queue, histogram where it has none."},
};

// Device memory that one task gets of its device; only parts of a device name it.
MiB memory_of_part(const TaskShape& shape, MiB device_memory) {
  return shape.gpu_count == 1 ? device_memory_for(shape, device_memory) : MiB(0);
}

struct ResizedAmount {
  std::string_view resource;
  std::int64_t asked;
  std::int64_t next;
  RightsizeGuard guard;
  std::string asked_text;
  std::string next_text;
};

std::vector<ResizedAmount> amounts_of(const RightsizedGroup& group) {
  const TaskShape& asked = group.asked;
  const TaskShape& next = group.next.shape;
  std::vector<ResizedAmount> amounts;
  const auto add = [&](std::string_view resource, RightsizedResource which, auto before, auto after, auto print) {
    if (before.value() == 0) return;
    amounts.push_back({resource, before.value(), after.value(), group.next.guard(which), print(before), print(after)});
  };
  add("gpu", RightsizedResource::kGpu, asked.gpu_total(), next.gpu_total(), print_gpu);
  add("gpu_memory", RightsizedResource::kGpuMemory, memory_of_part(asked, group.next.device_memory),
      memory_of_part(next, group.next.device_memory), print_memory);
  add("cpu", RightsizedResource::kCpu, asked.cpu, next.cpu, print_cpu);
  add("memory", RightsizedResource::kMemory, asked.memory, next.memory, print_memory);
  return amounts;
}

bool gets_less(const RightsizedGroup& group) { return group.next.shape != group.asked; }

std::string_view guard_words(RightsizeGuard guard) {
  switch (guard) {
    case RightsizeGuard::kPolicy: return "the policy's own figure";
    case RightsizeGuard::kNotAsked: return "not asked for";
    case RightsizeGuard::kNotMeasured: return "not measured often enough, or the policy leaves it alone";
    case RightsizeGuard::kTooFewRuns: return "too few runs yet";
    case RightsizeGuard::kAfterOom: return "a run was out of memory: back to the request";
    case RightsizeGuard::kRequest: return "all of the request is needed";
    case RightsizeGuard::kPeakMemory: return "held up by the memory peak and its margin";
    case RightsizeGuard::kMeanUse: return "held up by the mean use and its margin";
    case RightsizeGuard::kWholeDevices: return "several devices stay whole";
  }
  return "";
}

ResultTable rightsize_table(std::span<const RightsizedGroup> groups, bool only_smaller) {
  ResultTable table{.title = "",
                    .columns = {{"queue"},
                                {"tag"},
                                {"user"},
                                {"group"},
                                {"tasks"},
                                {"runs"},
                                {"resource"},
                                {"request", Align::kRight},
                                {"next", Align::kRight},
                                {"saved_percent", Align::kByType, 0},
                                {"limited_by"},
                                {"why", Align::kByType, -1, true},
                                {"policy"},
                                {"applied"}},
                    .rows = {}};
  for (const RightsizedGroup& group : groups) {
    if (only_smaller && !gets_less(group)) continue;
    for (const ResizedAmount& amount : amounts_of(group)) {
      table.rows.push_back({group.queue, group.tag, group.user, group.group, group.tasks, group.next.runs,
                            std::string(amount.resource), amount.asked_text, amount.next_text,
                            share_of(amount.asked - amount.next, amount.asked),
                            std::string(rightsize_guard_name(amount.guard)), std::string(guard_words(amount.guard)),
                            group.policy, group.applied ? Cell("yes") : Cell(std::monostate())});
    }
  }
  return table;
}

// What all of it would save, and why the groups that keep their request do.
void add_rightsize_notes(std::span<const RightsizedGroup> groups, Output& output) {
  if (groups.empty()) {
    output.add_note(
        "no job group yet: FINISH JOB ... WITH, RECORD USAGE and IMPORT TRACE say what the runs of jobs with a tag "
        "used");
    return;
  }
  MilliGpu gpu_saved;
  MilliCpu cpu_saved;
  std::int64_t smaller = 0;
  std::int64_t too_few = 0;
  std::int64_t after_oom = 0;
  bool all_applied = true;
  for (const RightsizedGroup& group : groups) {
    if (!gets_less(group)) {
      const RightsizeGuard why = group.next.guard(RightsizedResource::kCpu);  // these two hold all resources alike
      too_few += why == RightsizeGuard::kTooFewRuns ? 1 : 0;
      after_oom += why == RightsizeGuard::kAfterOom ? 1 : 0;
      continue;
    }
    ++smaller;
    all_applied = all_applied && group.applied;
    gpu_saved += (group.asked.gpu_total() - group.next.shape.gpu_total()) * group.tasks;
    cpu_saved += (group.asked.cpu - group.next.shape.cpu) * group.tasks;
  }
  const auto all = static_cast<std::int64_t>(groups.size());
  output.add_note(fmt::format("{} of {} would be given less: {} GPUs and {} CPU when one run of each goes on at a time",
                              print_count(smaller), counted(all, "job group"), print_gpu(gpu_saved),
                              print_cpu(cpu_saved)));
  if (smaller < all) {
    output.add_note(
        fmt::format("{} would keep the request: {} with too few runs, {} after a run out of memory, {} that "
                    "need it or use no less",
                    print_count(all - smaller), print_count(too_few), print_count(after_oom),
                    print_count(all - smaller - too_few - after_oom)));
  }
  if (smaller > 0 && !all_applied) {
    output.add_note(
        "ALTER QUEUE q SET RIGHTSIZE histogram (or wpai) applies it to what is submitted to q from then on");
  }
}

Result<Output> plan_rightsize(Session& session, const Arguments& arguments) {
  RightsizeQuestion question;
  BERTH_ASSIGN(question.queue, queue_argument(session, arguments));
  const std::string policy = arguments.options().text_or("policy", "");
  question.policy = policy;
  Runtime& engine = engine_of(session);
  BERTH_ASSIGN(const std::vector<RightsizedGroup> groups, plan_rightsizing(engine.db(), question, engine.now()));
  Output output;
  const bool some = std::ranges::any_of(groups, gets_less);
  output.add(rightsize_table(groups, some), Audience::kPeople);
  output.add(rightsize_table(groups, false), Audience::kPrograms);
  add_rightsize_notes(groups, output);
  return output;
}

// Answers are known to have held or not when the job has started, or is late already - or was, when it was given up.
Result<Output> show_calibration(Session& session, const Arguments& arguments) {
  constexpr std::string_view kByHorizon =
      "CASE WHEN p50 - made_at < 3600 THEN '1 minutes' WHEN p50 - made_at < 86400 THEN '2 hours' ELSE '3 days' END";
  const bool by_queue = arguments.has_word("BY");
  const std::string sql = fmt::format(
      "WITH told AS (SELECT *, {} AS part, coalesce(start_time <= p50, iif(coalesce(left_at, ?1) > p50, 0, NULL)) AS "
      "held50, coalesce(start_time <= p90, iif(coalesce(left_at, ?1) > p90, 0, NULL)) AS held90, abs(start_time - p50) "
      "AS error FROM eta WHERE left_at IS NULL OR left_at > p50), "
      "parts AS (SELECT '0 all' AS part, held50, held90, error, start_time FROM told UNION ALL "
      "SELECT part, held50, held90, error, start_time FROM told) "
      "SELECT substr(part, 3) AS {}, count(*) AS told, count(start_time) AS started, count(held50) AS p50_known, "
      "100.0 * avg(held50) AS p50_held_pct, count(held90) AS p90_known, 100.0 * avg(held90) AS p90_held_pct, "
      "avg(error) AS error_mean FROM parts GROUP BY part ORDER BY part",
      by_queue ? std::string_view("'1 ' || queue") : kByHorizon, by_queue ? "queue" : "horizon");
  BERTH_ASSIGN(ResultTable table, query_table(session, sql, engine_of(session).now()));
  Output output;
  if (table.rows.empty()) {
    output.add_note(
        "nothing has been told yet: rounds tell waiting jobs when they will start (settings eta_jobs, "
        "eta_share)");
  } else if (!std::holds_alternative<std::monostate>(table.rows.front()[6])) {
    const double held = std::get<double>(table.rows.front()[6]);
    output.add_note(fmt::format("p90 held for {:.0f} % of {}; it should for 85 to 95 %", held,
                                counted(std::get<std::int64_t>(table.rows.front()[5]), "answer")));
  }
  for (const std::size_t column : {4U, 6U, 7U}) table.columns[column].decimals = 1;
  output.add(std::move(table));
  return output;
}

constexpr std::string_view kPredictFamily = "predictions";

constexpr CommandRow kPredictRows[] = {
    {.family = kPredictFamily,
     .syntax = "SHOW PREDICTIONS [OF {QUEUE <queue:queue> | TAG <tag:text>}] [LAST <count:integer>]",
     .effect = Effect::kReads,
     .handler = show_predictions,
     .summary = "What is known about how long jobs run, and how well it predicted so far.",
     .example = "SHOW PREDICTIONS OF TAG 'bert-nightly'",
     .details =
         "A job is predicted from the narrowest level that saw enough runs: tag+user+models+request, tag+user, "
         "tag, user+request, user, request, all; fewer runs of its own tag go before other work. runs = ever "
         "observed, recent = those that still count. bounds = nine runs or more bear the p90 out: then reservations "
         "rest on it, else on the time limit of the job. Runs that their time limit ended count as that long. "
         "measured compares what was said at submission with what came: runs within 25 percent, the median "
         "error of the p50, and how many took no longer than their p90. Settings: predict_durations, "
         "prediction_min_count, "
         "prediction_half_life, prediction_retention."},
    {.family = kPredictFamily,
     .syntax = "SHOW CALIBRATION [BY QUEUE]",
     .effect = Effect::kReads,
     .handler = show_calibration,
     .summary = "How often jobs started as they were told: by p50, which half should, and by p90, which nine in ten "
                "should.",
     .example = "SHOW CALIBRATION BY QUEUE",
     .details = "Rounds forecast the starts of newly waiting jobs with predicted durations, correct them by how wrong "
                "such forecasts were before, and keep what was told in the view eta. A job that still waits past its "
                "p90 counts as one that did not hold, also when it is cancelled then. One that its user cancels or "
                "holds earlier does not count; a held one is told anew when it is released. horizon is how far away "
                "the p50 was; error_mean is |start - "
                "p50| in seconds. Settings: eta_jobs, eta_share."},
    {.family = kPredictFamily,
     .syntax = "REBUILD PREDICTIONS",
     .effect = Effect::kChanges,
     .handler = rebuild_statement,
     .summary = "Forgets what is known about durations and learns it anew from the runs in the database.",
     .example = "REBUILD PREDICTIONS",
     .details = "Each run is predicted from those that had ended before it was submitted, so what SHOW PREDICTIONS "
                "then says about errors is what would have been measured."},
    {.family = kPredictFamily,
     .syntax = "RECORD USAGE OF JOB <job:job> [GROUP <group:text>] WITH (<options>)",
     .effect = Effect::kChanges,
     .handler = record_usage_statement,
     .summary = "Says what the last run of a job used; right-sizing goes by it.",
     .example = "RECORD USAGE OF JOB bert WITH (cpu_mean = 2.5, memory_peak = 12GiB, gpu_util = 0.4)",
     .options = kUsageOptions,
     .details = "Means over the tasks of the group, peaks of the task that used most. A job of several groups needs "
                "GROUP. What was recorded before and is not named now stays."},
    {.family = kPredictFamily,
     .syntax = "SHOW USAGE [OF {JOB <job:job> | QUEUE <queue:queue>}] [LAST <count:integer>]",
     .effect = Effect::kReads,
     .handler = show_usage,
     .summary = "What runs used of what they were given, the last run first.",
     .example = "SHOW USAGE OF QUEUE nlp LAST 10"},
    {.family = kPredictFamily,
     .syntax = "PLAN RIGHTSIZE [QUEUE <queue:queue>] [WITH (<options>)]",
     .effect = Effect::kReads,
     .handler = plan_rightsize,
     .summary = "What jobs that come again would be given next time, what that saves, and what holds it up.",
     .example = "PLAN RIGHTSIZE QUEUE nlp",
     .options = kRightsizeOptions,
     .details = "A job group is one task group of one tag and user; people see those that would be given less, --json "
                "and csv all. It changes nothing: admission gives less only in queues that opted in, and remembers "
                "what was asked for (SHOW JOB). Never below the observed memory peak, back to the request after a run "
                "out of memory, never above the request. Settings: rightsizing_*."},
};

}  // namespace

std::span<const CommandRow> predict_commands() { return kPredictRows; }

}  // namespace berth
