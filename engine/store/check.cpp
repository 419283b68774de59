#include "engine/store/check.h"

#include <fmt/format.h>

#include <functional>
#include <map>
#include <set>

#include "engine/base/text.h"
#include "engine/model/plan.h"
#include "engine/model/wait_cause.h"
#include "engine/store/borrowing.h"
#include "engine/store/catalog.h"
#include "engine/store/check_work.h"
#include "engine/store/migrate.h"
#include "engine/store/past_rows.h"
#include "engine/store/round_records.h"
#include "engine/store/row_sums.h"
#include "engine/store/settings.h"

namespace berth {

namespace {

constexpr PromiseQuery kPromises[] = {
    {{"file_intact", "the database file is intact"},
     "SELECT 'file', integrity_check FROM pragma_integrity_check "
     "WHERE integrity_check <> 'ok'"},
    {{"references", "every row refers to rows that exist"},
     "SELECT 'table ' || \"table\", count(*) || ' rows refer to a missing row of ' || parent FROM "
     "pragma_foreign_key_check "
     "GROUP BY \"table\", parent ORDER BY 1"},
    {{"nodes_exist", "tasks sit on nodes that exist"},
     "SELECT 'job ' || job_id, 'it holds part of node ' || node_id || ', which does not exist' FROM allocations "
     "WHERE node_id NOT IN (SELECT id FROM nodes)"},
    {{"device_share", "no device is used above 1000 milli-GPU"},
     "SELECT 'node ' || n.name || ' device ' || s.device_index, sum(a.gpu_milli) || ' milli-GPU are allocated' "
     "FROM allocations a JOIN device_slots s ON (a.device_mask >> s.device_index) & 1 JOIN nodes n ON n.id = a.node_id "
     "GROUP BY a.node_id, s.device_index HAVING sum(a.gpu_milli) > 1000"},
    {{"device_memory", "no device's memory is used above what it has"},
     "SELECT 'node ' || n.name || ' device ' || s.device_index, "
     "sum(a.gpu_memory_mib) || ' MiB of ' || m.memory_mib || ' are allocated' "
     "FROM allocations a JOIN device_slots s ON (a.device_mask >> s.device_index) & 1 JOIN nodes n ON n.id = a.node_id "
     "JOIN node_types t ON t.id = n.type_id JOIN device_models m ON m.id = t.device_model_id WHERE m.memory_mib > 0 "
     "GROUP BY a.node_id, s.device_index HAVING sum(a.gpu_memory_mib) > m.memory_mib"},
    {{"node_cpu", "no node's CPU is used above what it has"},
     "SELECT 'node ' || n.name, sum(a.cpu_milli) || ' of ' || t.cpu_milli || ' milli-cores are allocated' "
     "FROM allocations a JOIN nodes n ON n.id = a.node_id JOIN node_types t ON t.id = n.type_id "
     "GROUP BY n.id HAVING sum(a.cpu_milli) > t.cpu_milli"},
    {{"node_memory", "no node's memory is used above what it has"},
     "SELECT 'node ' || n.name, sum(a.memory_mib) || ' of ' || t.memory_mib || ' MiB are allocated' "
     "FROM allocations a JOIN nodes n ON n.id = a.node_id JOIN node_types t ON t.id = n.type_id "
     "GROUP BY n.id HAVING sum(a.memory_mib) > t.memory_mib"},
    {{"device_exists", "tasks hold devices that their node has"},
     "SELECT 'job ' || a.job_id, 'it holds device mask ' || a.device_mask || ' of node ' || n.name || ', which has ' "
     "|| "
     "t.device_count || ' devices' FROM allocations a JOIN nodes n ON n.id = a.node_id JOIN node_types t ON t.id = "
     "n.type_id "
     "WHERE a.device_mask >> t.device_count <> 0"},
    {{"devices_listed", "every node has one row a device"},
     "SELECT 'node ' || n.name, count(d.node_id) || ' device rows for ' || t.device_count || ' devices' "
     "FROM nodes n JOIN node_types t ON t.id = n.type_id LEFT JOIN devices d ON d.node_id = n.id GROUP BY n.id "
     "HAVING count(d.node_id) <> t.device_count OR coalesce(max(d.device_index), -1) <> t.device_count - 1"},
    {{"one_node_a_task", "a task sits on at most one node"},
     "SELECT 'job ' || job_id || ' task ' || group_index || '.' || task_index, 'it holds parts of ' || count(*) || ' "
     "nodes' "
     "FROM allocations NOT INDEXED GROUP BY job_id, group_index, task_index HAVING count(*) > 1"},
    {{"gang_whole", "of a running gang at least min_tasks run"},
     "SELECT 'job ' || j.name || ' group ' || g.name, "
     "count(a.node_id) || ' tasks run, at least ' || g.min_tasks || ' must' "
     "FROM jobs j JOIN task_groups g ON g.job_id = j.id "
     "LEFT JOIN allocations a ON a.job_id = g.job_id AND a.group_index = g.group_index "
     "WHERE j.state = 'running' GROUP BY j.id, g.group_index HAVING count(a.node_id) < g.min_tasks"},
    {{"only_running_hold", "only running jobs hold anything"},
     "SELECT 'job ' || j.name, 'it is ' || j.state || ' and holds parts of ' || count(*) || ' nodes' FROM allocations "
     "a "
     "JOIN jobs j ON j.id = a.job_id WHERE j.state <> 'running' GROUP BY j.id"},
    {{"as_asked", "every task holds what its group asks for"},
     "SELECT 'job ' || a.job_id || ' task ' || a.group_index || '.' || a.task_index, 'it holds other amounts than it "
     "asks for' "
     "FROM allocations a JOIN allocation_sizes s USING (node_id, job_id, group_index, task_index) "
     "JOIN task_groups g ON g.job_id = a.job_id AND g.group_index = a.group_index "
     "LEFT JOIN nodes n ON n.id = a.node_id LEFT JOIN node_types t ON t.id = n.type_id "
     "LEFT JOIN device_models m ON m.id = t.device_model_id "
     "WHERE a.cpu_milli <> g.cpu_milli OR a.memory_mib <> g.memory_mib OR s.device_count <> g.gpu_count "
     "OR a.gpu_milli <> g.gpu_milli OR a.task_index >= g.task_count OR CASE "
     "WHEN g.gpu_count = 0 OR coalesce(m.memory_mib, 0) = 0 THEN a.gpu_memory_mib <> 0 "
     "WHEN g.gpu_milli < 1000 AND g.gpu_memory_mib > 0 THEN a.gpu_memory_mib <> g.gpu_memory_mib "
     // All of the device, or in proportion: of what the model had when the task started.
     "ELSE a.gpu_memory_mib = 0 AND m.memory_mib * g.gpu_milli >= 1000 END"},
    {{"groups_numbered", "every job has task groups, numbered from 0"},
     "SELECT 'job ' || j.name, count(g.job_id) || ' groups, the last is number ' || coalesce(max(g.group_index), -1) "
     "FROM jobs j LEFT JOIN task_groups g ON g.job_id = j.id GROUP BY j.id "
     "HAVING count(g.job_id) = 0 OR max(g.group_index) <> count(g.job_id) - 1"},
    {{"queue_tree", "queues form trees"},
     "WITH RECURSIVE reached (id) AS (SELECT id FROM queues WHERE parent_id IS NULL UNION "
     "SELECT q.id FROM reached r JOIN queues q ON q.parent_id = r.id) "
     "SELECT 'queue ' || name, 'it hangs below no root' FROM queues WHERE id NOT IN (SELECT id FROM reached)"},
    {{"leaves_hold_jobs", "only queues without children hold live jobs"},
     "SELECT 'queue ' || q.name, count(*) || ' live jobs, but queues lie below it' FROM jobs j JOIN queues q ON q.id = "
     "j.queue_id "
     "WHERE j.state IN ('pending', 'held', 'running') AND EXISTS (SELECT 1 FROM queues c WHERE c.parent_id = q.id) "
     "GROUP BY q.id"},
    {{"drained_empty", "drained nodes run nothing"},
     "SELECT 'node ' || n.name, count(*) || ' tasks run on it' FROM nodes n JOIN allocations a ON a.node_id = n.id "
     "WHERE n.state = 'drained' GROUP BY n.id"},
    {{"quota_resources", "quotas and loans are of resources that exist"},
     "SELECT 'queue ' || q.name, 'it has a quota or loan of ' || r.resource || ', which is no device model or family' "
     "FROM (SELECT queue_id, resource FROM quotas UNION SELECT lender_id, resource FROM loans WHERE state = 'open') r "
     "JOIN queues q ON q.id = r.queue_id WHERE r.resource NOT IN ('cpu', 'memory', 'gpu') AND r.resource NOT IN "
     "(SELECT name FROM device_models UNION SELECT family FROM device_models WHERE family IS NOT NULL)"},
    {{"loans_apart", "loans go from one branch of the queue tree to another"},
     "WITH RECURSIVE above (id, top) AS (SELECT id, id FROM queues UNION SELECT a.id, q.parent_id FROM above a "
     "JOIN queues q ON q.id = a.top WHERE q.parent_id IS NOT NULL) "
     "SELECT 'loan ' || l.id, 'one of its queues lies below the other' FROM loans l WHERE l.state = 'open' AND EXISTS "
     "(SELECT 1 FROM above WHERE (id = l.lender_id AND top = l.borrower_id) OR (id = l.borrower_id AND top = "
     "l.lender_id))"},
    {{"only_running_marked", "only running jobs count against a quota"},
     "SELECT 'job ' || name, 'it is ' || state || ' and marked as within quota' FROM jobs WHERE quota_mark <> 0 AND "
     "state <> 'running'"},
    {{"stopping_runs", "jobs told to stop run"},
     "SELECT 'job ' || j.name, 'it is told to stop and ' || j.state FROM stopping_jobs s JOIN jobs j ON j.id = "
     "s.job_id "
     "WHERE j.state <> 'running'"},
    {{"stops_told", "evictions that are still to come are those of jobs told to stop"},
     "SELECT 'job ' || s.job_id, 'it is told to stop without an eviction' FROM stopping_jobs s WHERE NOT EXISTS "
     "(SELECT 1 FROM evictions e WHERE e.victim_id = s.job_id AND e.state = 'stopping') UNION ALL "
     "SELECT 'job ' || e.victim_id, 'its eviction is to come, but it is not told to stop' FROM evictions e WHERE "
     "e.state = 'stopping' AND NOT EXISTS (SELECT 1 FROM stopping_jobs s WHERE s.job_id = e.victim_id)"},
    {{"reservation_waits", "room is held for jobs that wait"},
     "SELECT 'job ' || j.name, 'room is held for it, and it is ' || j.state FROM reservations r JOIN jobs j ON j.id = "
     "r.job_id WHERE j.state <> 'pending'"},
    {{"dependencies_follow", "dependencies follow the jobs they are on, which are older"},
     "SELECT 'job ' || d.job_id, 'it comes after job ' || a.name || ', which is ' || a.state || ', not ' || d.state "
     "FROM dependencies d JOIN jobs a ON a.id = d.after_id WHERE d.after_id >= d.job_id OR d.state <> CASE a.state "
     "WHEN 'finished' THEN 'met' WHEN 'failed' THEN 'broken' WHEN 'cancelled' THEN 'broken' ELSE 'open' END"},
    {{"only_waiting_wait", "only jobs that wait have something that they wait for"},
     "SELECT 'job ' || name, 'it is ' || state || ' and waits for ' || coalesce(wait_cause, wait_reason, 'a round') "
     "FROM jobs WHERE state NOT IN ('pending', 'held') AND coalesce(wait_cause, wait_reason, wait_since) IS NOT NULL "
     "UNION ALL SELECT 'job ' || j.name, 'an assertion refused it, and it is ' || j.state FROM assertion_refusals r "
     "JOIN jobs j ON j.id = r.job_id WHERE j.state <> 'pending'"},
    {{"waits_apart", "of a job's waiting no second is counted twice"},
     "SELECT 'job ' || job_id, 'it waits from ' || from_time || ', but waited until ' || before FROM (SELECT job_id, "
     "from_time, lag(to_time) OVER (PARTITION BY job_id ORDER BY from_time) AS before FROM wait_intervals) "
     "WHERE from_time < before"},
    {{"live_runs", "what an executor runs are running jobs, and each such run has tasks"},
     "SELECT 'job ' || j.name, 'its run ' || r.attempt || ' is ' || r.state || CASE WHEN j.state <> 'running' THEN "
     "', the job ' || j.state ELSE ' and has no tasks' END FROM runs r JOIN jobs j ON j.id = r.job_id "
     "WHERE r.end_time IS NULL AND (j.state <> 'running' OR NOT EXISTS (SELECT 1 FROM run_tasks WHERE run_id = r.id))"},
    {{"run_tasks_hold", "tasks at an executor hold their part of their node until their run has ended"},
     "SELECT 'job ' || j.name || ' task ' || t.group_index || '.' || t.task_index, 'its run is ' || r.state || ', and "
     "it "
     "holds nothing of node ' || t.node_id FROM runs r JOIN run_tasks t ON t.run_id = r.id JOIN jobs j ON j.id = "
     "r.job_id WHERE r.end_time IS NULL AND NOT EXISTS (SELECT 1 FROM allocations a WHERE a.node_id = t.node_id AND "
     "a.job_id = r.job_id AND a.group_index = t.group_index AND a.task_index = t.task_index)"},
    {{"run_tasks_end", "no task outlives its run"},
     "SELECT 'job ' || j.name || ' task ' || t.group_index || '.' || t.task_index, 'it is ' || t.phase || ', and run ' "
     "|| r.attempt || ' has ' || r.state FROM run_tasks t INDEXED BY run_tasks_live JOIN runs r ON r.id = t.run_id "
     "JOIN jobs j ON j.id = r.job_id WHERE r.end_time IS NOT NULL AND (t.phase = 'pending' OR t.phase = 'starting' OR "
     "t.phase = 'running')"},
    {{"run_executors", "live tasks are at executors that exist"},
     "SELECT 'job ' || j.name, count(*) || ' tasks are at executor ' || t.executor_id || ', which does not exist' FROM "
     "run_tasks t INDEXED BY run_tasks_live JOIN runs r ON r.id = t.run_id JOIN jobs j ON j.id = r.job_id WHERE "
     "(t.phase = 'pending' OR t.phase = 'starting' OR t.phase = 'running') AND t.executor_id NOT IN (SELECT id FROM "
     "executors) GROUP BY j.id, t.executor_id"},
    {{"launches_told", "of every task that waits for its launch an executor is still to be told"},
     "SELECT 'job ' || j.name || ' task ' || t.group_index || '.' || t.task_index, 'launch ' || t.sequence || ' of run "
     "' "
     "|| r.attempt || ' is not on its way' FROM run_tasks t INDEXED BY run_tasks_live JOIN runs r ON r.id = t.run_id "
     "JOIN jobs j ON j.id = r.job_id WHERE t.phase = 'pending' AND r.end_time IS NULL AND r.state <> 'stopping' AND "
     "NOT "
     "EXISTS (SELECT 1 FROM outbox o WHERE o.run_id = t.run_id AND o.executor_id = t.executor_id AND o.kind = 'launch' "
     "AND o.sequence = t.sequence)"},
    {{"outbox_live", "executors are to be told of live runs only, and of tasks that are theirs"},
     "SELECT 'effect ' || o.round_id || '.' || o.seq, CASE WHEN r.end_time IS NOT NULL THEN 'its run has ' || r.state "
     "ELSE 'its run has no such task at executor ' || o.executor_id END FROM outbox o JOIN runs r ON r.id = o.run_id "
     "WHERE r.end_time IS NOT NULL OR NOT EXISTS (SELECT 1 FROM run_tasks t WHERE t.run_id = o.run_id AND "
     "t.executor_id = o.executor_id AND (o.kind <> 'launch' OR t.sequence = o.sequence))"},
    {{"stops_decided", "of every run that is stopping it is known as what it will end"},
     "SELECT 'job ' || j.name, 'its run ' || r.attempt || CASE WHEN r.stop_state IS NULL THEN ' stops as nothing' ELSE "
     "' stops for an eviction that nobody decided' END FROM runs r JOIN jobs j ON j.id = r.job_id WHERE r.end_time IS "
     "NULL AND r.state = 'stopping' AND (r.stop_state IS NULL OR (r.stop_state = 'evicted' AND NOT EXISTS (SELECT 1 "
     "FROM stopping_jobs WHERE job_id = r.job_id)))"},
    {{"runs_journalled", "the changes of a run lead from one state to the next, to the one it is in"},
     "SELECT 'run ' || run_id, 'a change begins at ' || from_state || ', the one before ended at ' || before FROM "
     "(SELECT run_id, from_state, lag(to_state, 1, '') OVER (PARTITION BY run_id ORDER BY id) AS before FROM "
     "run_changes) WHERE from_state <> before UNION ALL SELECT 'run ' || r.id, 'it is ' || r.state || ', its last "
     "change was to ' || c.to_state FROM runs r JOIN run_changes c ON c.id = (SELECT max(id) FROM run_changes WHERE "
     "run_id = r.id) WHERE c.to_state <> r.state"},
    {{"version_present", "the state version is a number"},
     "SELECT 'state version', 'meta has no integer from 0 on under state_version' WHERE NOT EXISTS "
     "(SELECT 1 FROM meta WHERE key = 'state_version' AND typeof(value) = 'integer' AND value >= 0)"},
    {{"names_of_files", "the tag of the database and the names of its executors can name files"},
     "SELECT 'meta', 'it has no tag that can name a file' WHERE NOT EXISTS (SELECT 1 FROM meta WHERE key = 'tag' AND "
     "value <> '' AND value NOT GLOB '*[^A-Za-z0-9_-]*' AND instr(value, char(0)) = 0) UNION ALL "
     "SELECT 'executor ' || name, 'no folder can be called after it' FROM executors WHERE name IN ('', '.', '..') OR "
     "instr(name, '/') > 0 OR instr(name, char(0)) > 0"},
    {{"version_rises", "the state version is not behind what was recorded"},
     "SELECT 'state version', v.value || ' is behind event ' || e.id || ' of version ' || e.state_version FROM meta v "
     "JOIN events e ON e.id = (SELECT id FROM events ORDER BY state_version DESC LIMIT 1) "
     "WHERE v.key = 'state_version' AND e.state_version > v.value"},
    {{"changes_journalled", "every step of the state version has an event that says who asked for it"},
     "SELECT 'state version ' || (e.state_version + 1), 'no event has it' FROM (SELECT DISTINCT state_version FROM "
     "events WHERE state_version >= (SELECT value FROM meta WHERE key = 'journalled_since')) e WHERE e.state_version < "
     "(SELECT value FROM meta WHERE key = 'state_version') AND coalesce((SELECT kind FROM events n WHERE "
     "n.state_version > e.state_version ORDER BY n.state_version LIMIT 1), '') <> 'load snapshot' AND NOT EXISTS "
     "(SELECT 1 FROM events n WHERE n.state_version = e.state_version + 1)"},
};

constexpr Promise kSchemaPromise = {"schema_whole",
                                    "tables, triggers, indexes, views and fixed rows are those that Berth made"};
constexpr Promise kBorrowingPromise = {
    "borrowing_sums", "what queues use above their quota is what idle quota of others and of nobody lends them"};
constexpr Promise kHistoryPromise = {"history", "rows that the history knows are there, and those that went are gone"};
constexpr Promise kRecordsPromise = {"records", "what rounds looked at and decided unpacks to what was recorded"};
constexpr Promise kSumsPromise = {"rows_unchanged", "rows that nobody changes are as they were written"};
constexpr Promise kReadablePromise = {"readable", "link groups, settings and reasons can be read"};

// Adds to the findings what breaks one promise, up to `most`, then how many more there are.
class FindingList {
 public:
  FindingList(const Promise& promise, std::size_t most, std::vector<Finding>& findings)
      : promise_(promise.name), most_(most), findings_(findings) {}

  void add(std::string object, std::string sentence) {
    if (++count_ <= most_) findings_.push_back({promise_, std::move(object), std::move(sentence)});
  }
  // A damaged file, or a table that is missing or another, is a finding, not a failure to look.
  Status end(const Status& looked) {
    if (count_ > most_) {
      findings_.push_back(
          {promise_, "", fmt::format("and {} more", print_count(static_cast<std::int64_t>(count_ - most_)))});
    }
    if (looked.code() != Code::kCorrupt && looked.code() != Code::kInvalid) return looked;
    findings_.push_back({promise_, "file", looked.message()});
    return {};
  }

 private:
  std::string promise_;
  std::size_t most_;
  std::vector<Finding>& findings_;
  std::size_t count_ = 0;
};

Status run_promise(Database& db, const PromiseQuery& query, std::int64_t set_back, std::size_t most,
                   std::vector<Finding>& findings) {
  FindingList found(query.promise, most, findings);
  Result<Statement> rows = db.prepare(query.sql);
  if (!rows.ok()) return found.end(rows.status()).prefixed(fmt::format("checking '{}'", query.promise.name));
  if (rows->parameter_count() > 0) rows->with(set_back);
  while (rows->next()) found.add(std::string(rows->text(0)), std::string(rows->text(1)));
  return found.end(rows->status()).prefixed(fmt::format("checking '{}'", query.promise.name));
}

// What sqlite_schema says of one object; its key is "trigger nodes_add_devices". Or a row of a table that steps filled
// and nobody writes: "row pending > starting".
struct SchemaObject {
  std::string type;
  std::string table;
  std::string sql;
};
using SchemaObjects = std::map<std::string, SchemaObject>;

Result<SchemaObjects> read_schema_objects(Database& db) {
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema"));
  SchemaObjects objects;
  while (rows.next()) {
    objects[fmt::format("{} {}", rows.text(0), rows.text(1))] = {std::string(rows.text(0)), std::string(rows.text(2)),
                                                                 std::string(rows.text(3))};
  }
  BERTH_TRY(rows.status());
  if (!objects.contains("table run_edges") || !objects.contains("table device_slots")) return objects;
  BERTH_ASSIGN(Statement fixed, db.prepare("SELECT from_state || ' > ' || to_state, 'run_edges' FROM run_edges UNION "
                                           "ALL SELECT 'device ' || device_index, 'device_slots' FROM device_slots"));
  while (fixed.next()) objects[fmt::format("row {}", fixed.text(0))] = {"row", std::string(fixed.text(1)), ""};
  BERTH_TRY(fixed.status());
  return objects;
}

Result<SchemaObjects> make_schema_objects() {
  BERTH_ASSIGN(Database fresh, Database::open(":memory:", Access::kReadWrite));
  BERTH_TRY(migrate(fresh));
  return read_schema_objects(fresh);
}

// What an admin adds may stay, except triggers on our tables: they would change what our statements do.
Status check_schema(Database& db, std::size_t most, std::vector<Finding>& findings) {
  static const Result<SchemaObjects> made = make_schema_objects();
  BERTH_TRY(made.status());
  FindingList found(kSchemaPromise, most, findings);
  const Result<SchemaObjects> present = read_schema_objects(db);
  if (!present.ok()) return found.end(present.status());
  std::set<std::string> tables;
  for (const auto& [key, object] : *made) {
    tables.insert(object.table);
    const auto same = present->find(key);
    if (same == present->end()) {
      found.add(key, "it is missing");
    } else if (same->second.sql != object.sql || same->second.table != object.table) {
      found.add(key, "it is not as Berth made it");
    }
  }
  for (const auto& [key, object] : *present) {
    const bool is_ours_alone = object.type == "trigger" || object.type == "row";
    if (is_ours_alone && tables.contains(object.table) && !made->contains(key)) {
      found.add(key, fmt::format("somebody added it to Berth's table {}", object.table));
    }
  }
  return found.end({});
}

Status check_ledger(Database& db, std::size_t most, std::vector<Finding>& findings) {
  FindingList found(kBorrowingPromise, most, findings);
  const Result<std::vector<LedgerFlaw>> flaws = check_borrowing(db);
  if (!flaws.ok()) return found.end(flaws.status());
  for (const LedgerFlaw& flaw : *flaws) found.add(flaw.object, flaw.sentence);
  return found.end({});
}

Status check_marks(Database& db, std::size_t most, std::vector<Finding>& findings) {
  FindingList found(kMarksPromise, most, findings);
  const Result<std::vector<WrongMark>> wrong = find_wrong_marks(db);
  if (!wrong.ok()) return found.end(wrong.status());
  for (const WrongMark& each : *wrong) {
    found.add(fmt::format("job {}", each.job),
              fmt::format("it has the marks {}, the last round gave it {}", each.mark, each.decided));
  }
  return found.end({});
}

// What other programs write is not in the history; that rows came or went shows.
Status check_history(Database& db, std::size_t most, std::vector<Finding>& findings) {
  constexpr std::int64_t kMostHistory = 16 << 20;  // bytes of it for each table
  FindingList found(kHistoryPromise, most, findings);
  BERTH_ASSIGN(const std::vector<std::string> tables, changed_tables(db, 0, INT64_MAX));
  for (const std::string& table : tables) {
    const Result<std::vector<Misfit>> misfits = find_misfits(db, table, kMostHistory);
    if (misfits.status().code() == Code::kNotFound) {
      found.add(fmt::format("table {}", table), misfits.status().message());
      continue;
    }
    if (!misfits.ok()) return found.end(misfits.status());
    for (const Misfit& misfit : *misfits) {
      found.add(fmt::format("table {} row {}", table, misfit.key), misfit.is_there
                                                                       ? "it is there, and the history says it is gone"
                                                                       : "it is gone, and the history does not know");
    }
  }
  return found.end({});
}

Status check_records(Database& db, std::size_t most, std::vector<Finding>& findings) {
  FindingList found(kRecordsPromise, most, findings);
  const Result<std::vector<DamagedRecord>> damaged = find_damaged_records(db);
  if (!damaged.ok()) return found.end(damaged.status());
  for (const DamagedRecord& each : *damaged) {
    const std::string part = each.part == 0 ? "the list of its parts" : fmt::format("part {}", each.part);
    found.add(fmt::format("record of {}", each.of),
              fmt::format("{} is damaged: it cannot be replayed, nor can later rounds that share it; VACUUM ROUNDS "
                          "deletes damaged records",
                          part));
  }
  return found.end({});
}

Status check_row_sums(Database& db, std::size_t most, std::vector<Finding>& findings) {
  FindingList found(kSumsPromise, most, findings);
  const Result<std::vector<ChangedRow>> changed = find_changed_rows(db);
  if (!changed.ok()) return found.end(changed.status());
  for (const ChangedRow& row : *changed)
    found.add(fmt::format("table {} row {}", row.table, row.key),
              "its text or numbers are not those that were written");
  return found.end({});
}

// What only the engine can judge: notations and names.
void check_readable(Database& db, std::vector<Finding>& findings) {
  const auto note = [&findings](std::string object, const Status& status) {
    if (!status.ok()) findings.push_back({std::string(kReadablePromise.name), std::move(object), status.message()});
  };
  note("catalog", Catalog::read(db).status());
  const auto note_names = [&](std::string_view sql, const std::function<Status(std::string_view)>& read) {
    Result<Statement> names = db.prepare(sql);
    if (!names.ok()) return note("waits", names.status());
    while (names->next()) note("waits", read(names->text(0)));
    note("waits", names->status());
  };
  note_names("SELECT cause FROM wait_stretches UNION SELECT wait_cause FROM jobs WHERE wait_cause IS NOT NULL",
             [](std::string_view name) { return read_wait_cause(name).status(); });
  note_names(
      "SELECT wait_reason FROM jobs WHERE wait_reason IS NOT NULL UNION SELECT reason FROM decisions WHERE reason IS "
      "NOT NULL",
      [](std::string_view name) { return read_reason(name).status(); });
  note("settings", read_settings(db).status());
  Result<std::vector<Setting>> settings = list_settings(db);
  if (!settings.ok()) return note("settings", settings.status());
  for (const Setting& setting : *settings) {
    if (!setting.is_default)
      note(fmt::format("setting {}", setting.knob->name), check_setting(db, *setting.knob, setting.value).status());
  }
  Result<Statement> stored = db.prepare("SELECT key FROM settings ORDER BY key");
  if (!stored.ok()) return note("settings", stored.status());
  while (stored->next()) note(fmt::format("setting {}", stored->text(0)), find_knob(stored->text(0)).status());
  note("settings", stored->status());
}

}  // namespace

std::vector<Promise> check_promises() {
  std::vector<Promise> promises = {kSchemaPromise};
  for (const PromiseQuery& query : kPromises) promises.push_back(query.promise);
  for (const PromiseQuery& query : work_promises()) promises.push_back(query.promise);
  promises.push_back(kMarksPromise);
  promises.push_back(kBorrowingPromise);
  promises.push_back(kHistoryPromise);
  promises.push_back(kRecordsPromise);
  promises.push_back(kSumsPromise);
  promises.push_back(kReadablePromise);
  return promises;
}

Result<std::vector<Finding>> check_state(Database& db, std::size_t most) {
  std::vector<Finding> findings;
  BERTH_ASSIGN(const Transaction one_view, Transaction::begin_read(db));
  BERTH_TRY(check_schema(db, most, findings));
  // Of a file too damaged to say, the other promises tell.
  const Result<std::int64_t> known = clock_set_back(db);
  const std::int64_t set_back = known.ok() ? *known : 0;
  for (const PromiseQuery& query : kPromises) BERTH_TRY(run_promise(db, query, set_back, most, findings));
  for (const PromiseQuery& query : work_promises()) BERTH_TRY(run_promise(db, query, set_back, most, findings));
  BERTH_TRY(check_marks(db, most, findings).prefixed(fmt::format("checking '{}'", kMarksPromise.name)));
  BERTH_TRY(check_ledger(db, most, findings).prefixed(fmt::format("checking '{}'", kBorrowingPromise.name)));
  BERTH_TRY(check_history(db, most, findings).prefixed(fmt::format("checking '{}'", kHistoryPromise.name)));
  BERTH_TRY(check_records(db, most, findings).prefixed(fmt::format("checking '{}'", kRecordsPromise.name)));
  BERTH_TRY(check_row_sums(db, most, findings).prefixed(fmt::format("checking '{}'", kSumsPromise.name)));
  check_readable(db, findings);
  return findings;
}

}  // namespace berth
