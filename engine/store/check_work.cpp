#include "engine/store/check_work.h"

#include <algorithm>
#include <map>

#include "engine/store/round_records.h"

namespace berth {

namespace {

constexpr PromiseQuery kWorkPromises[] = {
    {{"jobs_in_time", "jobs start after they were submitted and end after they started"},
     "SELECT 'job ' || name, CASE WHEN start_time < submit_time - ?1 THEN 'it started ' || (submit_time - start_time) "
     "|| "
     "' s before it was submitted' ELSE 'it ended ' || (coalesce(start_time, submit_time) - end_time) || ' s before it "
     "' "
     "|| iif(start_time IS NULL, 'was submitted', 'started') END FROM jobs WHERE start_time < submit_time - ?1 OR "
     "end_time < coalesce(start_time, submit_time) - ?1"},
    {{"runs_in_time", "runs of a job start after it was submitted, one after the other, and end after they started"},
     "SELECT 'job ' || name, 'its run ' || attempt || CASE WHEN start_time < submit_time - ?1 THEN ' started before it "
     "was "
     "submitted' WHEN end_time < start_time - ?1 THEN ' ended before it started' ELSE ' started before the one before "
     "it "
     "ended' END FROM (SELECT j.name, j.submit_time, r.attempt, r.start_time, r.end_time, lag(r.end_time) OVER "
     "(PARTITION "
     "BY r.job_id ORDER BY r.attempt) AS before FROM runs r JOIN jobs j ON j.id = r.job_id) WHERE start_time < "
     "submit_time - ?1 OR end_time < start_time - ?1 OR start_time < before - ?1"},
    {{"runs_numbered", "the runs of a job are numbered from 1, and none is missing"},
     "SELECT 'job ' || j.name, count(*) || ' runs, the last is number ' || max(r.attempt) FROM runs r JOIN jobs j ON "
     "j.id "
     "= r.job_id GROUP BY r.job_id HAVING count(*) <> max(r.attempt)"},
    {{"ended_by_run", "a job that ran and ended did so with its last run"},
     "SELECT 'job ' || name, CASE WHEN state IS NULL THEN 'it has ' || ended || ' and no run says so' ELSE 'it has ' "
     "|| "
     "ended || ', its last run ' || state || iif(run_end = job_end, '', ' at another time') END FROM (SELECT j.name, "
     "j.state AS ended, j.end_time AS job_end, r.state, r.end_time AS run_end FROM jobs j LEFT JOIN runs r ON r.job_id "
     "= "
     "j.id AND r.attempt = (SELECT max(attempt) FROM runs WHERE job_id = j.id) WHERE j.state IN ('finished', "
     "'failed')) "
     "WHERE state IS NULL OR run_end IS NOT job_end OR NOT (CASE ended WHEN 'finished' THEN state = 'succeeded' ELSE "
     "state "
     "IN ('failed', 'lost') END)"},
    {{"runs_sized", "a run holds what the gang of its job asks for, at most all tasks"},
     "SELECT 'job ' || name, 'its run ' || attempt || ' held ' || tasks || ' tasks with ' || gpu_milli || ' milli-GPU "
     "on ' "
     "|| nodes || ' nodes; the job asks for ' || iif(least = most, '', least || ' to ') || most || ' tasks with ' || "
     "iif(least_gpu = most_gpu, '', least_gpu || ' to ') || most_gpu FROM (SELECT j.name, r.attempt, r.tasks, "
     "r.gpu_milli, "
     "json_array_length(r.nodes) AS nodes, sum(g.min_tasks) AS least, sum(g.task_count) AS most, sum(g.min_tasks * "
     "g.gpu_count * g.gpu_milli) AS least_gpu, sum(g.task_count * g.gpu_count * g.gpu_milli) AS most_gpu, count(*) AS "
     "groups, max(g.gpu_count * g.gpu_milli) AS each FROM runs r JOIN jobs j ON j.id = r.job_id JOIN task_groups g ON "
     "g.job_id = r.job_id GROUP BY r.id) WHERE tasks NOT BETWEEN least AND most OR "
     "gpu_milli "
     "NOT BETWEEN least_gpu AND most_gpu OR (groups = 1 AND gpu_milli <> tasks * each) OR nodes > tasks"},
    {{"run_sizes_apart", "what a job held while it changed its size is told of each second once"},
     "SELECT 'job ' || job_id, 'it held ' || gpu_milli || ' milli-GPU from ' || from_time || ', and something else "
     "until ' "
     "|| before FROM (SELECT job_id, from_time, gpu_milli, lag(to_time) OVER (PARTITION BY job_id ORDER BY from_time) "
     "AS "
     "before FROM run_sizes) WHERE from_time < before - ?1"},
    {{"run_sizes_asked", "what a job held while it changed its size is what its groups ask for, without a gap"},
     "SELECT 'job ' || name, CASE WHEN gpu_milli NOT BETWEEN least AND most THEN 'it held ' || gpu_milli || ' "
     "milli-GPU, and asks for ' || iif(least = most, '', least || ' to ') || most ELSE 'what it held from ' || before "
     "|| ' to ' || from_time || ' is not known' END FROM (SELECT j.name, z.from_time, z.gpu_milli, coalesce(lag("
     "z.to_time) OVER (PARTITION BY z.job_id ORDER BY z.from_time), j.start_time) AS before, (SELECT count(*) FROM "
     "runs "
     "r WHERE r.job_id = j.id AND r.end_time IS NOT NULL) + (j.state = 'running') = 1 AS at_once, g.least, g.most FROM "
     "run_sizes z JOIN jobs j ON j.id = z.job_id JOIN (SELECT job_id, sum(min_tasks * gpu_count * gpu_milli) AS least, "
     "sum(task_count * gpu_count * gpu_milli) AS most FROM task_groups GROUP BY job_id) g ON g.job_id = z.job_id) "
     "WHERE gpu_milli NOT BETWEEN least AND most OR (at_once AND from_time > before)"},
    {{"failures_counted", "a job that tries again has as many failed and lost runs as it says"},
     "SELECT 'job ' || name, 'it says ' || failures || ' failures and ' || losses || ' losses, its runs say ' || "
     "failed || "
     "' and ' || lost FROM (SELECT j.name, j.failures, j.losses, count(r.id) FILTER (WHERE r.state = 'failed') AS "
     "failed, "
     "count(r.id) FILTER (WHERE r.state = 'lost') AS lost FROM jobs j LEFT JOIN runs r ON r.job_id = j.id WHERE "
     "j.failures "
     "<> 0 OR j.losses <> 0 GROUP BY j.id) WHERE failures NOT BETWEEN 0 AND failed OR losses NOT BETWEEN 0 AND lost"},
    // Of jobs that change their size only the bounds are checked.
    {{"attained_by_runs", "what a job has used is what its runs held for as long as they lasted"},
     "SELECT 'job ' || name, 'it says ' || attained || ' milli-GPU-seconds, its runs say ' || iif(rigid, '', "
     "'at most ') || iif(rigid, held, most) FROM (SELECT j.name, j.attained_milli_s AS attained, g.rigid, "
     "coalesce(sum(r.gpu_milli * max(0, r.end_time - r.start_time)), 0) AS held, "
     "g.most * (coalesce(sum(max(0, r.end_time - r.start_time)), 0) + "
     "iif(j.state = 'running', max(0, (SELECT max(time) FROM events) - j.start_time), 0)) AS most FROM jobs j JOIN "
     "(SELECT job_id, min(min_tasks = task_count) AS rigid, sum(task_count * gpu_count * gpu_milli) AS most FROM "
     "task_groups GROUP BY job_id) g ON g.job_id = j.id LEFT JOIN runs r ON r.job_id = j.id AND r.end_time IS NOT "
     "NULL WHERE j.attained_milli_s <> 0 OR j.start_time IS NOT NULL GROUP BY j.id) WHERE ?1 = 0 AND "
     "iif(rigid, attained <> held, attained NOT BETWEEN 0 AND most)"},
    {{"past_use_known", "what a queue used before is not less than nothing"},
     "SELECT 'queue ' || q.name, 'it says ' || u.gpu_milli_s || ' milli-GPU-seconds' FROM decayed_usage u "
     "JOIN queues q ON q.id = u.queue_id WHERE u.gpu_milli_s < 0"},
    {{"tasks_in_time", "tasks run since the round that placed them, and not before their job"},
     "SELECT 'job ' || j.name || ' task ' || a.group_index || '.' || a.task_index, 'it runs since ' || a.start_time || "
     "CASE "
     "WHEN a.start_time < j.start_time THEN ', the job since ' || j.start_time WHEN a.start_time <> o.started_at THEN "
     "', "
     "and round ' || o.id || ' placed it at ' || o.started_at ELSE ', which is yet to come' END FROM allocations a "
     "JOIN "
     "jobs j ON j.id = a.job_id LEFT JOIN rounds o ON o.id = a.round_id WHERE a.start_time < j.start_time OR "
     "a.start_time "
     "<> o.started_at OR a.start_time > (SELECT max(time) FROM events)"},
    {{"evictions_true",
      "an eviction was for somebody else, by its rule, of tasks that ran, and cost no less than nothing"},
     "SELECT 'eviction ' || id, CASE WHEN lost < 0 THEN 'it cost ' || lost || ' milli-GPU-seconds' WHEN lost > 0 "
     "AND state IN ('withdrawn', 'ended') THEN 'it was not carried out, and cost ' || lost || ' milli-GPU-seconds' "
     "WHEN tasks < 1 THEN 'it is of ' || tasks || ' tasks' WHEN rule <> 'loan' AND victim_id = beneficiary_id THEN "
     "'job ' || victim_id || ' made room for itself' WHEN rule = 'priority' AND victim_queue_id <> "
     "beneficiary_queue_id THEN 'by priority jobs of one queue make room for each other' WHEN time <> round_time "
     "THEN 'it is of another time than round ' || round_id ELSE 'round ' || round_id || ' was never run' END FROM "
     "(SELECT e.id, e.state, e.tasks, e.rule, e.victim_id, e.victim_queue_id, e.beneficiary_id, "
     "e.beneficiary_queue_id, e.time, e.round_id, e.lost_gpu_milli_s AS lost, "
     "o.started_at AS round_time FROM evictions e LEFT JOIN rounds o ON o.id = "
     "e.round_id) WHERE lost < 0 OR (lost > 0 AND state IN ('withdrawn', 'ended')) OR tasks < 1 OR (rule <> 'loan' "
     "AND victim_id = beneficiary_id) OR (rule = 'priority' AND victim_queue_id <> beneficiary_queue_id) OR time <> "
     "round_time "
     "OR round_id > (SELECT seq FROM sqlite_sequence WHERE name = 'rounds')"},
    {{"evictions_of_jobs",
      "an eviction is of a job that was submitted, for a job or loan, in the queues of both, and of tasks that it has"},
     "SELECT 'eviction ' || id, CASE WHEN victim_id NOT BETWEEN 1 AND jobs THEN 'job ' || victim_id || ' was never "
     "submitted' WHEN beneficiary_id NOT BETWEEN 1 AND beneficiaries THEN iif(rule = 'loan', 'loan ', 'job ') || "
     "beneficiary_id || ' was never there' WHEN victim_queue_id <> victim_queue THEN 'job ' || victim_id || ' is in "
     "another queue' WHEN beneficiary_queue_id <> beneficiary_queue THEN 'it was for another queue than ' || iif(rule "
     "= 'loan', 'that which lends', 'that of job ' || beneficiary_id) ELSE 'it is of ' || tasks || ' tasks; the job "
     "has ' || most || ', at least ' || least || ' of them run' END FROM (SELECT e.*, v.queue_id AS victim_queue, "
     "coalesce(b.queue_id, l.lender_id) AS beneficiary_queue, jobs, iif(e.rule = 'loan', loans, jobs) AS "
     "beneficiaries, (SELECT sum(min_tasks) FROM task_groups WHERE job_id = v.id) AS least, (SELECT sum(task_count) "
     "FROM task_groups WHERE job_id = v.id) AS most FROM evictions e JOIN (SELECT coalesce((SELECT seq FROM "
     "sqlite_sequence WHERE name = 'jobs'), 0) AS jobs, coalesce((SELECT seq FROM sqlite_sequence WHERE name = "
     "'loans'), 0) AS loans) LEFT JOIN jobs v ON v.id = e.victim_id LEFT JOIN jobs b ON b.id = e.beneficiary_id AND "
     "e.rule <> 'loan' LEFT JOIN loans l ON l.id = e.beneficiary_id AND e.rule = 'loan') WHERE victim_id NOT BETWEEN "
     "1 AND jobs OR beneficiary_id NOT BETWEEN 1 AND beneficiaries OR victim_queue_id <> victim_queue OR "
     "beneficiary_queue_id <> beneficiary_queue OR tasks > most OR iif(whole, tasks < least, tasks > most - least)"},
    // Those of jobs that have ended go after a while.
    {{"evictions_counted", "a job says how often it was evicted"},
     "SELECT 'job ' || name, 'it says ' || said || ' evictions, ' || known || ' are known' FROM (SELECT j.name, "
     "j.evictions "
     "AS said, j.end_time IS NULL OR w.whole AS all_kept, count(e.id) AS known FROM jobs j JOIN (SELECT (SELECT "
     "count(*) "
     "FROM evictions) = coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'evictions'), 0) AS whole) w LEFT JOIN "
     "evictions e ON e.victim_id = j.id AND e.state IN ('stopping', 'done') GROUP BY j.id) WHERE said < known OR "
     "(all_kept "
     "AND said > known)"},
    {{"stops_as_decided", "a job told to stop does so for whom its eviction says"},
     "SELECT 'job ' || s.job_id, 'it stops for ' || s.beneficiary_id || ' by rule ' || s.rule || ', its eviction is "
     "for ' "
     "|| e.beneficiary_id || ' by rule ' || e.rule FROM stopping_jobs s JOIN evictions e ON e.victim_id = s.job_id AND "
     "e.state = 'stopping' WHERE e.beneficiary_id <> s.beneficiary_id OR e.rule <> s.rule"},
    {{"marks_have_depth", "jobs count against quotas of queues that they are in"},
     "WITH RECURSIVE depths (id, depth) AS (SELECT id, 0 FROM queues WHERE parent_id IS NULL UNION SELECT q.id, "
     "d.depth + 1 "
     "FROM depths d JOIN queues q ON q.parent_id = d.id) SELECT 'job ' || j.name, 'it has the marks ' || j.quota_mark "
     "|| "
     "' in a queue of depth ' || d.depth FROM jobs j JOIN depths d ON d.id = j.queue_id WHERE j.quota_mark <> 0 AND "
     "(j.quota_mark NOT BETWEEN 0 AND 4294967295 OR (j.quota_mark & 65535) >> (d.depth + 1) <> 0 OR (j.quota_mark >> "
     "16) >> "
     "(d.depth + 1) <> 0)"},
    // Of what the model had when the task started.
    {{"device_memory_as_asked", "every task holds as much of its devices' memory as its group asks for"},
     "SELECT 'job ' || job_id || ' task ' || group_index || '.' || task_index, 'it holds ' || held || ' MiB of each "
     "device, and asks for ' || asked FROM (SELECT a.job_id, a.group_index, a.task_index, a.gpu_memory_mib AS held, "
     "CASE WHEN g.gpu_milli >= 1000 THEN m.memory_mib WHEN g.gpu_memory_mib > 0 THEN g.gpu_memory_mib ELSE "
     "m.memory_mib * g.gpu_milli / 1000 END AS asked FROM allocations a JOIN rounds o ON o.id = a.round_id JOIN "
     "task_groups g ON g.job_id = a.job_id AND g.group_index = a.group_index JOIN nodes n ON n.id = a.node_id JOIN "
     "node_types t ON t.id = n.type_id JOIN device_models m ON m.id = t.device_model_id WHERE g.gpu_count > 0 AND "
     "m.memory_mib > 0 AND o.state_version >= (SELECT min(state_version) FROM events) AND o.state_version >= (SELECT "
     "coalesce(max(state_version), 0) FROM events WHERE kind IN ('alter device model', 'alter node', 'alter node "
     "type'))) WHERE held <> asked"},
    {{"models_known", "live jobs name device models that exist"},
     "SELECT 'job ' || j.name || ' group ' || g.name, 'it names device model ' || m.value || ', which does not exist' "
     "FROM "
     "jobs j JOIN task_groups g ON g.job_id = j.id JOIN json_each('[' || replace(json_quote(g.models), '|', '\",\"') "
     "|| ']') "
     "m WHERE j.end_time IS NULL AND g.models IS NOT NULL AND m.value NOT IN (SELECT name FROM device_models)"},
    {{"reserved_as_asked", "room is held on nodes that exist, and is what the task asks for"},
     "SELECT 'job ' || r.job_id || ' task ' || r.group_index || '.' || r.task_index, CASE WHEN n.id IS NULL THEN 'room "
     "is held on node ' || r.node_id || ', which does not exist' WHEN g.job_id IS NULL THEN 'it has no such task "
     "group' ELSE 'the room that is held is not what it asks for' END FROM reserved_tasks r LEFT JOIN nodes n ON n.id "
     "= r.node_id LEFT JOIN task_groups g ON g.job_id = r.job_id AND g.group_index = r.group_index WHERE n.id IS NULL "
     "OR g.job_id IS NULL OR r.task_index NOT BETWEEN 0 AND g.task_count - 1 OR r.cpu_milli <> g.cpu_milli OR "
     "r.memory_mib <> g.memory_mib OR r.gpu_milli <> g.gpu_milli OR g.gpu_count <> (SELECT count(*) FROM device_slots "
     "s WHERE (r.device_mask >> s.device_index) & 1)"},
    {{"reserved_devices_exist", "room is held on devices that their node has"},
     "SELECT 'job ' || r.job_id || ' task ' || r.group_index || '.' || r.task_index, 'device mask ' || r.device_mask "
     "|| ' is held of node ' || n.name || ', which has ' || t.device_count || ' devices' FROM reserved_tasks r JOIN "
     "nodes n ON n.id = r.node_id JOIN node_types t ON t.id = n.type_id WHERE r.device_mask >> t.device_count <> 0"},
    {{"predictions_rise", "of what was predicted, half is at most what eight in ten are"},
     "SELECT 'job ' || name, 'it was predicted to take ' || predicted_p50_s || ' s, ' || predicted_p80_s || ' s or ' "
     "|| "
     "predicted_p90_s || ' s' FROM jobs WHERE predicted_p50_s < 0 OR predicted_p50_s > predicted_p80_s OR "
     "predicted_p80_s > "
     "predicted_p90_s"},
    {{"rounds_counted", "every round has the decisions that it took"},
     "SELECT 'round ' || o.id, CASE WHEN o.decisions <> coalesce(d.number, 0) THEN o.decisions || ' decisions were "
     "taken, ' "
     "|| coalesce(d.number, 0) || ' are there' WHEN o.started_jobs <> coalesce(d.starts, 0) THEN o.started_jobs || ' "
     "jobs "
     "started, ' || coalesce(d.starts, 0) || ' starts are there' WHEN d.waits > o.waiting_jobs THEN o.waiting_jobs || "
     "' jobs "
     "waited, ' || d.waits || ' of them for another reason' ELSE o.placed_tasks || ' tasks were placed, ' || "
     "max(coalesce(d.tasks, 0), coalesce(a.tasks, 0)) || ' are there' END FROM rounds o LEFT JOIN (SELECT round_id, "
     "count(*) AS number, sum(kind = 'start') AS starts, sum(kind = 'wait') AS waits, sum(iif(kind = 'start', "
     "coalesce(json_extract(detail, '$.tasks'), 0), 0)) AS tasks FROM decisions GROUP BY round_id) d ON d.round_id = "
     "o.id "
     "LEFT JOIN (SELECT round_id, count(*) AS tasks FROM allocations GROUP BY round_id) a ON a.round_id = o.id WHERE "
     "o.decisions <> coalesce(d.number, 0) OR o.started_jobs <> coalesce(d.starts, 0) OR d.waits > o.waiting_jobs OR "
     "coalesce(d.tasks, 0) > o.placed_tasks OR coalesce(a.tasks, 0) > o.placed_tasks OR (o.started_jobs = 0 AND "
     "o.placed_tasks < 0)"},
    {{"rounds_in_order", "later rounds were planned on later states, and none on one that is yet to come"},
     "SELECT 'round ' || id, 'it was planned on version ' || state_version || iif(state_version < before, ', the one "
     "before "
     "it on ' || before, ', which is yet to come') FROM (SELECT id, state_version, lag(state_version) OVER (ORDER BY "
     "id) AS "
     "before FROM rounds) WHERE state_version < before OR state_version >= (SELECT value FROM meta WHERE key = "
     "'state_version')"},
    {{"decisions_of_jobs", "rounds decided about jobs that were submitted"},
     "SELECT 'round ' || round_id, 'it decided about job ' || job_id || ', which was never submitted' FROM decisions "
     "WHERE "
     "job_id NOT BETWEEN 1 AND (SELECT seq FROM sqlite_sequence WHERE name = 'jobs')"},
    // Rounds that only grow a job decide no start. Its first task always comes from the round that started it.
    {{"placed_by_rounds", "every task and every message to an executor comes from a round that was run and decided it"},
     "WITH last (id) AS (SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'rounds'), 0)) SELECT 'job ' || "
     "job_id || ' task ' || group_index || '.' || task_index, 'round ' || round_id || ' was never run' FROM "
     "allocations JOIN last WHERE round_id NOT BETWEEN 1 AND last.id UNION ALL SELECT 'effect ' || round_id || '.' || "
     "seq, 'round ' || round_id || ' was never run' FROM outbox JOIN last WHERE round_id NOT BETWEEN 0 AND last.id "
     "UNION ALL SELECT 'job ' || a.job_id, a.tasks || ' of its tasks are of round ' || a.round_id || ', which decided "
     "to start ' || coalesce(json_extract(d.detail, '$.tasks'), 0) FROM (SELECT job_id, round_id, count(*) AS tasks, "
     "max(group_index = 0 AND task_index = 0) AS is_first FROM allocations GROUP BY round_id, job_id) a JOIN rounds o "
     "ON o.id = a.round_id LEFT JOIN decisions d ON d.round_id = a.round_id AND d.job_id = a.job_id AND d.kind = "
     "'start' WHERE iif(d.seq IS NULL, is_first, json_extract(d.detail, '$.tasks') < a.tasks)"},
    {{"history_of_moments", "every change in the history has its moment and its list of columns"},
     "SELECT 'change ' || c.id, iif(m.id IS NULL, 'moment ' || c.moment_id, 'the list of columns ' || c.layout_id) || "
     "' is not there' FROM history_changes c LEFT JOIN history_moments m ON m.id = c.moment_id LEFT JOIN "
     "history_layouts l ON l.id = c.layout_id WHERE m.id IS NULL OR l.id IS NULL"},
    {{"ids_go_on", "ids are not given a second time"},
     "SELECT 'ids of ' || name, 'the next is ' || (coalesce(seq, 0) + 1) || ', but there is ' || last FROM (SELECT "
     "'jobs' "
     "AS name, max(id) AS last FROM jobs UNION ALL SELECT 'rounds', max(id) FROM rounds UNION ALL SELECT 'events', "
     "max(id) "
     "FROM events UNION ALL SELECT 'plans', max(id) FROM plans UNION ALL SELECT 'loans', max(id) FROM loans UNION ALL "
     "SELECT 'evictions', max(id) FROM evictions UNION ALL SELECT 'executors', max(id) FROM executors) LEFT JOIN "
     "sqlite_sequence s USING (name) WHERE coalesce(seq, 0) < last"},
};

}  // namespace

std::span<const PromiseQuery> work_promises() { return kWorkPromises; }

Result<std::int64_t> clock_set_back(Database& db) {
  return db.integer(
      "SELECT coalesce(max(newest - time), 0) FROM (SELECT time, max(time) OVER (ORDER BY id) AS newest "
      "FROM events)");
}

Result<std::vector<WrongMark>> find_wrong_marks(Database& db) {
  std::vector<WrongMark> wrong;
  BERTH_ASSIGN(
      Statement last,
      db.prepare("SELECT o.id FROM rounds o WHERE o.id = (SELECT max(id) FROM rounds) AND o.record_id IS NOT NULL "
                 "AND NOT EXISTS (SELECT 1 FROM events e WHERE e.state_version = o.state_version + 1 AND e.kind "
                 "= 'cut round')"));
  if (!last.next()) {
    BERTH_TRY(last.status());
    return wrong;
  }
  const Result<RecordedRound> round = read_recorded_round(db, last.integer(0));
  if (!round.ok()) return wrong;  // another promise says so
  std::map<std::int64_t, std::int64_t> decided;
  for (const RunningJob& run : round->snapshot.running) decided[run.job.id] = run.quota_mark;
  for (const QuotaMark& mark : round->plan.marks) decided[mark.job] = mark.mark;
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT id, quota_mark FROM live_jobs WHERE state = 'running'"));
  while (rows.next()) {
    const auto known = decided.find(rows.integer(0));
    const std::int64_t mark = known == decided.end() ? 0 : known->second;
    if (rows.integer(1) != mark) wrong.push_back({rows.integer(0), rows.integer(1), mark});
  }
  BERTH_TRY(rows.status());
  return wrong;
}

}  // namespace berth
