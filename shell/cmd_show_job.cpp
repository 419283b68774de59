// SHOW JOB, SHOW WAITS, SHOW EVICTIONS, SHOW RESERVATIONS, SHOW ROUND: what became of jobs, and why.
#include <algorithm>

#include "engine/base/text.h"
#include "engine/model/wait_cause.h"
#include "engine/runtime/reason_words.h"
#include "engine/store/names.h"
#include "shell/cmd_support.h"
#include "shell/families.h"

namespace berth {

namespace {

constexpr std::int64_t kHistoryShown = 20;

Result<std::optional<std::int64_t>> job_argument(Session& session, const Arguments& arguments) {
  if (!arguments.has("job")) return std::optional<std::int64_t>();
  Result<std::int64_t> found = find_job(engine_of(session).db(), arguments.text("job"));
  if (!found.ok()) return blame(std::move(found).status(), arguments.span("job"));
  return std::optional(*found);
}

// Seconds in the named columns become "1h 30m"; NULL stays.
void print_durations(ResultTable& table, std::initializer_list<std::string_view> names) {
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (std::ranges::find(names, table.columns[c].name) == names.end()) continue;
    for (std::vector<Cell>& row : table.rows) {
      if (const auto* seconds = std::get_if<std::int64_t>(&row[c])) row[c] = print_duration(Seconds(*seconds));
    }
  }
}

Status add_job_part(Session& session, Output& output, std::string title, std::string_view sql, std::int64_t job) {
  BERTH_ASSIGN(ResultTable table, query_table(session, sql, job));
  table.title = std::move(title);
  print_durations(table, {"time_limit", "checkpoint_every", "checkpoint_grace", "restart_cost", "min_runtime",
                          "predicted_p50", "predicted_p80", "predicted_p90"});
  if (!table.rows.empty()) output.add(std::move(table));
  return {};
}

struct JobPart {
  const char* title;
  const char* sql;
};

constexpr JobPart kJobParts[] = {
    {"job",
     "SELECT j.id, j.name AS job, q.name AS queue, c.name AS priority_class, j.user_name AS user, nullif(j.tag, '') AS "
     "tag, iif(j.state = 'running' AND (EXISTS (SELECT 1 FROM runs r WHERE r.job_id = j.id AND r.end_time IS NULL AND "
     "r.state = 'stopping') OR EXISTS (SELECT 1 FROM stopping_jobs s WHERE s.job_id = j.id)), 'stopping', j.state) AS "
     "state, datetime(j.submit_time, 'unixepoch') AS submitted, "
     "datetime(j.start_time, 'unixepoch') AS started, "
     "datetime(j.end_time, 'unixepoch') AS ended, nullif(j.time_limit_s, 0) AS time_limit, j.wait_reason FROM jobs j "
     "JOIN queues q ON q.id = j.queue_id LEFT JOIN priority_classes c ON c.id = j.priority_class_id WHERE j.id = ?1"},
    {"command",  // of jobs that an executor starts
     "SELECT command, nullif(working_directory, '') AS directory, nullif(environment, '{}') AS env, nullif(image, '') "
     "AS "
     "image, nullif(checkpoint_signal, '') AS checkpoint_signal, retry_limit AS retries, failures, losses FROM jobs "
     "WHERE "
     "id = ?1 AND command IS NOT NULL"},
    {"task_groups",
     "SELECT g.name AS task_group, g.task_count AS tasks, g.min_tasks, (SELECT count(*) FROM allocations a WHERE "
     "a.job_id = g.job_id AND a.group_index = g.group_index) AS running, g.gpu_count * g.gpu_milli / 1000.0 AS gpus, "
     "nullif(g.gpu_memory_mib, 0) / 1024.0 AS gpu_memory_gib, g.cpu_milli / 1000.0 AS cpu, g.memory_mib / 1024.0 AS "
     "memory_gib, g.models, p.name AS pool, g.locality FROM "
     "task_groups g LEFT JOIN pools p ON p.id = g.pool_id WHERE g.job_id = ?1 ORDER BY g.group_index"},
    {"asked_for",  // where right-sizing gave less
     "SELECT g.name AS task_group, r.gpu_count * r.gpu_milli / 1000.0 AS gpus, nullif(r.gpu_memory_mib, 0) / 1024.0 AS "
     "gpu_memory_gib, r.cpu_milli / 1000.0 AS cpu, r.memory_mib / 1024.0 AS memory_gib, r.policy AS right_sized_by "
     "FROM requested_amounts r JOIN task_groups g USING (job_id, group_index) WHERE r.job_id = ?1 "
     "ORDER BY r.group_index"},
    {"eviction_terms",
     "SELECT iif(preemptible, 'yes', 'no') AS preemptible, nullif(checkpoint_interval_s, 0) AS checkpoint_every, "
     "nullif(checkpoint_grace_s, 0) AS checkpoint_grace, nullif(restart_cost_s, 0) AS restart_cost, min_runtime_s AS "
     "min_runtime, evictions, datetime(last_eviction, 'unixepoch') AS last_eviction, round(attained_milli_s / 3.6e6, "
     "3) AS "
     "attained_gpu_hours, predicted_p50_s AS predicted_p50, predicted_p80_s AS predicted_p80, predicted_p90_s AS "
     "predicted_p90 FROM jobs WHERE id = ?1"},
    {"after",
     "SELECT a.name AS after, a.state, CASE d.state WHEN 'met' THEN 'done' WHEN 'open' THEN 'waits for it' ELSE 'never "
     "starts: CANCEL and submit it anew' END AS outcome FROM dependencies d JOIN jobs a ON a.id = d.after_id "
     "WHERE d.job_id = ?1 ORDER BY a.id"},
    {"attempts",
     "SELECT attempt, datetime(start_time, 'unixepoch') AS started, datetime(end_time, 'unixepoch') AS ended, state, "
     "tasks, gpu_milli / 1000.0 AS gpus, nullif(detail, '') AS detail FROM runs WHERE job_id = ?1 ORDER BY attempt"},
};

Result<Output> show_job(Session& session, const Arguments& arguments) {
  BERTH_ASSIGN(const std::optional<std::int64_t> job, job_argument(session, arguments));
  Output output;
  for (const JobPart& part : kJobParts) BERTH_TRY(add_job_part(session, output, part.title, part.sql, *job));
  return output;
}

// Adds what each cause means, after its column.
Result<Output> with_cause_words(ResultTable table) {
  const auto cause = std::ranges::find(table.columns, "cause", &Column::name) - table.columns.begin();
  table.columns.push_back({.name = "what", .wrap = true});
  for (std::vector<Cell>& row : table.rows) {
    const Result<WaitCause> known = read_wait_cause(std::get<std::string>(row[static_cast<std::size_t>(cause)]));
    row.push_back(known.ok() ? Cell(std::string(wait_cause_words(*known))) : Cell(std::monostate()));
  }
  return Output(std::move(table));
}

Result<Output> show_waits(Session& session, const Arguments& arguments) {
  BERTH_ASSIGN(const std::optional<std::int64_t> job, job_argument(session, arguments));
  const Seconds now = engine_of(session).now();
  if (job) {
    BERTH_ASSIGN(ResultTable table,
                 query_table(session,
                             "SELECT i.cause, b.name AS beneficiary, sum(max(0, coalesce(i.to_time, ?2) - "
                             "i.from_time)) AS seconds, iif(sum(i.to_time IS NULL) > 0, 'yes', NULL) AS now FROM "
                             "wait_intervals i LEFT JOIN queues b ON b.id = i.beneficiary_id WHERE i.job_id = ?1 "
                             "GROUP BY i.cause, i.beneficiary_id ORDER BY seconds DESC, i.cause, b.name",
                             *job, now));
    return with_cause_words(std::move(table));
  }
  BERTH_ASSIGN(ResultTable table,
               query_table(session,
                           "SELECT q.name AS queue, i.cause, b.name AS beneficiary, count(DISTINCT i.job_id) AS jobs, "
                           "sum(max(0, coalesce(i.to_time, ?1) - i.from_time)) AS seconds FROM wait_intervals i JOIN "
                           "jobs j ON j.id = i.job_id JOIN queues q ON q.id = j.queue_id LEFT JOIN queues b ON b.id = "
                           "i.beneficiary_id GROUP BY q.id, i.cause, i.beneficiary_id ORDER BY q.name, seconds DESC, "
                           "i.cause, b.name",
                           now));
  return with_cause_words(std::move(table));
}

// The last two columns, why and candidates, as words.
ResultTable with_why_words(ResultTable table) {
  table.columns.pop_back();
  table.columns.back() = {.name = "why", .wrap = true};
  for (std::vector<Cell>& row : table.rows) {
    const auto* const candidates = std::get_if<std::int64_t>(&row.back());
    const std::int64_t of = candidates == nullptr ? 0 : *candidates;
    row.pop_back();
    const auto* const name = std::get_if<std::string>(&row.back());
    const Result<VictimChoiceReason> why = read_victim_choice_reason(name == nullptr ? "unknown" : *name);
    row.back() = text_or_null(why.ok() ? why_victim_words(*why, of) : std::string());
  }
  return table;
}

Result<Output> show_evictions(Session& session, const Arguments& arguments) {
  BERTH_ASSIGN(const std::optional<std::int64_t> job, job_argument(session, arguments));
  const std::int64_t count = arguments.has("count") ? arguments.integer("count") : kHistoryShown;
  if (count < 1) return arguments.fail("count", Code::kInvalid, fmt::format("LAST takes at least 1, found {}", count));
  Result<ResultTable> table = query_table(
      session,
      "SELECT datetime(l.time, 'unixepoch') AS time, l.victim, l.beneficiary, l.rule, iif(l.whole, 'all', "
      "printf('%d task%s', l.tasks, iif(l.tasks = 1, '', 's'))) AS gives_up, "
      "round(l.lost_gpu_milli_s / 3.6e6, 3) AS gpu_hours_lost, l.round_id AS round, "
      "CASE WHEN l.state <> 'stopping' THEN l.state WHEN EXISTS (SELECT 1 FROM outbox o JOIN runs r ON r.id = "
      "o.run_id JOIN jobs j ON j.id = r.job_id WHERE r.job_id = e.victim_id AND r.end_time IS NULL AND "
      "o.told_at IS NULL AND (o.kind = 'signal' OR (o.kind = 'stop' AND j.checkpoint_signal = ''))) THEN 'not told "
      "yet' ELSE "
      "iif(s.stop_at < ?3, 'was to stop ', 'stops ') || datetime(s.stop_at, 'unixepoch') END AS outcome, "
      "l.why, "
      "l.candidates "
      "FROM (SELECT id, victim_id, state FROM evictions WHERE ?1 IS NULL OR victim_id = ?1 "
      "OR (beneficiary_id = ?1 AND rule <> 'loan') ORDER BY id DESC LIMIT ?2) e "
      "JOIN eviction_log l ON l.eviction = e.id "
      "LEFT JOIN stopping_jobs s ON s.job_id = e.victim_id AND e.state = 'stopping' ORDER BY e.id",
      job, count, engine_of(session).now());
  if (!table.ok()) return std::move(table).status();
  return Output(with_why_words(*std::move(table)));
}

// People are told where the time is past; programs get the time.
Result<Output> show_reservations(Session& session, const Arguments& arguments) {
  (void)arguments;
  const auto read = [&](bool says_overdue) {
    return query_table(session,
                       "SELECT job, queue, kind, datetime(made_at, 'unixepoch') AS made, iif(?1 AND expected < ?2, "
                       "'overdue since ', '') || datetime(expected, 'unixepoch') AS expected_start, datetime(expires, "
                       "'unixepoch') AS expires, tasks, nodes FROM reservations_now ORDER BY expected, job_id",
                       says_overdue, engine_of(session).now());
  };
  BERTH_ASSIGN(ResultTable shown, read(true));
  BERTH_ASSIGN(ResultTable rows, read(false));
  Output output;
  output.add(std::move(shown), Audience::kPeople);
  output.add(std::move(rows), Audience::kPrograms);
  return output;
}

Result<Output> show_round(Session& session, const Arguments& arguments) {
  const std::int64_t round = arguments.integer("round");
  BERTH_ASSIGN(ResultTable facts,
               query_table(session,
                           "SELECT id AS round, kind, datetime(started_at, 'unixepoch') AS started, actor, "
                           "order_policy, score_policy, seed, state_version, started_jobs, placed_tasks, waiting_jobs, "
                           "(SELECT count(*) FROM evictions WHERE round_id = r.id) AS evictions FROM rounds r "
                           "WHERE id = ?1",
                           round));
  if (facts.rows.empty()) return arguments.fail("round", Code::kNotFound, fmt::format("no round {}", round));
  facts.title = "round";
  BERTH_ASSIGN(ResultTable decisions,
               query_table(session,
                           "SELECT d.seq, j.name AS job, d.kind AS decision, d.reason, d.detail ->> 'tasks' AS tasks, "
                           "d.detail ->> 'fits' AS fits, d.detail ->> 'needed' AS needed FROM decisions d LEFT JOIN "
                           "jobs j ON j.id = d.job_id WHERE d.round_id = ?1 ORDER BY d.seq",
                           round));
  decisions.title = "decisions";
  BERTH_ASSIGN(ResultTable evictions,
               query_table(session,
                           "SELECT victim, victim_queue, beneficiary, beneficiary_queue, rule, tasks, iif(whole, "
                           "'all', 'surplus') AS gives_up, round(lost_gpu_milli_s / 3.6e6, 3) AS gpu_hours_lost FROM "
                           "eviction_log WHERE round_id = ?1 ORDER BY eviction",
                           round));
  evictions.title = "evictions";
  Output output(std::move(facts));
  output.add(std::move(decisions));
  if (!evictions.rows.empty()) output.add(std::move(evictions));
  return output;
}

constexpr std::string_view kJobShowFamily = "show";

constexpr CommandRow kJobShowRows[] = {
    {.family = kJobShowFamily,
     .syntax = "SHOW JOB <job:job>",
     .effect = Effect::kReads,
     .handler = show_job,
     .summary = "One job in full: what it is given and asked for, what evicting it means, what it comes after, its "
                "attempts.",
     .example = "SHOW JOB bert"},
    {.family = kJobShowFamily,
     .syntax = "SHOW WAITS [OF JOB <job:job>]",
     .effect = Effect::kReads,
     .handler = show_waits,
     .summary = "What jobs waited for until now, in seconds by cause: of one job, or by queue.",
     .example = "SHOW WAITS OF JOB bert",
     .details = "Every second that a job waits has one cause, so the parts add up to its wait. Views: wait_parts, "
                "waits_by_queue_and_day."},
    {.family = kJobShowFamily,
     .syntax = "SHOW EVICTIONS [OF JOB <job:job>] [LAST <count:integer>]",
     .effect = Effect::kReads,
     .handler = show_evictions,
     .summary = "Who made room for whom, by which rule, and what work it cost; newest last.",
     .example = "SHOW EVICTIONS LAST 5",
     .details =
         "A victim that was told to stop stops when its grace is over; then it is done. All that make room for one job "
         "stop together, when the last of their graces is over. A victim stops sooner if it would lose more by then "
         "than the eviction budget of its queue allows. A victim is not told yet while its executor cannot be reached. "
         "It was to stop at a time that is past where nobody has said yet that it ended. It is cancelled when CANCEL "
         "JOB ended it before. It is withdrawn when nobody needs its room any more: the job runs on. A signal that it "
         "got cannot be taken back: if it ends within its grace, or within stop_grace after that, the eviction ended "
         "it, and it waits again. It has ended when the job did by itself before, or said that it was done (HELP "
         "SUBMIT "
         "JOB). The rule says why it could be a victim: "
         "reclaim = it ran beyond the quota of its queue, priority = it is of a lower class in the same queue, loan = "
         "it ran on what was lent. Why says what set it apart from the others that the rule allowed: who runs beyond "
         "the quota of its queue goes, then the lowest class, then what loses least, node by node, unless "
         "victim_policy chooses. The view eviction_log has all columns, the queues among them."},
    {.family = kJobShowFamily,
     .syntax = "SHOW RESERVATIONS",
     .effect = Effect::kReads,
     .handler = show_reservations,
     .summary = "Jobs for which room is held, and when they were last expected to start.",
     .example = "SHOW RESERVATIONS",
     .details =
         "expected_start is when the room is free if the jobs that have it end as expected: no promise. Where "
         "they run longer it is overdue: then only jobs pass that their time_limit ends by when those are expected "
         "to end now. It is overdue, too, where an owner has taken the room since: until that one is late, jobs pass "
         "that are expected to end before it. A reservation without tasks is room under a limit of a queue, for its "
         "first job that the limit refuses."},
    {.family = kJobShowFamily,
     .syntax = "SHOW ROUND <round:integer>",
     .effect = Effect::kReads,
     .handler = show_round,
     .summary = "One round in full: what it decided for which job, and whom it evicted.",
     .example = "SHOW ROUND 1"},
};

}  // namespace

std::span<const CommandRow> job_show_commands() { return kJobShowRows; }

}  // namespace berth
