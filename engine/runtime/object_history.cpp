#include "engine/runtime/object_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "engine/base/text.h"
#include "engine/model/wait_cause.h"
#include "engine/runtime/change_words.h"
#include "engine/store/names.h"

namespace berth {

namespace {

// Events as they concern an object: the verb, who, what was added.
struct Cause {
  std::string kind;
  std::string object;
  std::string actor;
  std::string detail;
  std::string statement;  // empty: nobody typed one

  // The round, the statement, or the event; with what it says when `in_full`.
  std::string told(bool in_full) const {
    if (object.starts_with("round ")) return object;
    if (!statement.empty()) return statement;
    return in_full && !detail.empty() ? kind + ": " + detail : kind;
  }
};

class HistoryWriter {
 public:
  HistoryWriter(Runtime& runtime, const ObjectHistoryRequest& request)
      : db_(runtime.db()), now_(runtime.now()), request_(request), names_(runtime.db()) {}

  Result<std::vector<Happening>> write() {
    BERTH_TRY(find_object());
    BERTH_ASSIGN(since_, db_.integer("SELECT coalesce((SELECT time FROM history_moments ORDER BY id LIMIT 1), "
                                     "9223372036854775807)"));
    switch (request_.of) {
      case HistoryOf::kJob: BERTH_TRY(add_job()); break;
      case HistoryOf::kNode: BERTH_TRY(add_node()); break;
      case HistoryOf::kQueue: BERTH_TRY(add_queue()); break;
    }
    BERTH_TRY(add_events());
    std::ranges::stable_sort(found_, {}, [](const Placed& each) { return std::pair(each.happening.time, each.order); });
    std::vector<Happening> happenings;
    for (Placed& each : found_) {
      const Seconds time = each.happening.time;
      if ((request_.from && time < *request_.from) || (request_.to && time > *request_.to)) continue;
      happenings.push_back(std::move(each.happening));
    }
    return happenings;
  }

 private:
  struct Placed {
    Happening happening;
    std::int64_t order;  // among those of one second: the version
  };

  std::string_view noun() const {
    return request_.of == HistoryOf::kJob ? "job" : request_.of == HistoryOf::kNode ? "node" : "queue";
  }
  std::string table() const { return fmt::format("{}s", noun()); }

  Status find_object() {
    const Result<std::int64_t> present = request_.of == HistoryOf::kJob    ? find_job(db_, request_.name)
                                         : request_.of == HistoryOf::kNode ? find_id(db_, Thing::kNode, request_.name)
                                                                           : find_id(db_, Thing::kQueue, request_.name);
    if (present.ok()) {
      id_ = *present;
      name_ = names_.of(table(), id_);
      return {};
    }
    // One that is gone or renamed: the last that had the name.
    name_ = request_.name;
    BERTH_TRY(for_each_step(
        db_, table(), [](const std::vector<TableValue>&) { return true; },
        [&](const RowStep&, const RowView& before, const RowView& after) {
          const bool gave_it_up = before && before.text("name") == name_ && (!after || after.text("name") != name_);
          if (gave_it_up) id_ = before.integer("id");
          return Status();
        }));
    if (id_ == 0) return present.status();
    name_ = names_.of(table(), id_);
    return {};
  }

  void add(Seconds time, std::int64_t order, std::string what, std::string who = {}, std::string detail = {}) {
    found_.push_back({{time, std::move(what), std::move(who), std::move(detail)}, order});
  }

  // The event that made a version; the one that is about this kind of thing where there are several.
  Result<Cause> cause_of_version(std::int64_t version) {
    if (const auto known = causes_.find(version); known != causes_.end()) return known->second;
    BERTH_ASSIGN(Statement row, db_.prepare("SELECT kind, object, actor, detail, statement FROM events WHERE "
                                            "state_version = ?1 ORDER BY object <> ?2, kind NOT LIKE ?3, id LIMIT 1"));
    Cause cause;
    if (row.with(version, name_, fmt::format("%{}%", noun())).next()) {
      cause = {std::string(row.text(0)), std::string(row.text(1)), std::string(row.text(2)), std::string(row.text(3)),
               std::string(row.text(4))};
    }
    BERTH_TRY(row.status());
    return causes_.emplace(version, std::move(cause)).first->second;
  }

  // Changes of rows of a table that have to do with the object.
  Status add_changes(const std::string& table, const std::function<bool(const std::vector<TableValue>&)>& wanted,
                     const std::function<bool(const RowView&)>& concerns) {
    return for_each_step(db_, table, wanted, [&](const RowStep& step, const RowView& before, const RowView& after) {
      if (!concerns(after ? after : before)) return Status();
      ObjectChange change = words_of_change(table, before, after, names_);
      if (change.words.empty()) return Status();
      if (table == "loans" && (after ? after : before).integer("borrower_id") == id_)
        change.words = {borrower_words(before, after, names_)};
      BERTH_ASSIGN(const Cause cause, cause_of_version(step.version));
      told_.insert(step.version);
      const std::string detail = cause.told(true);
      for (std::string what : change.words) {
        if (what.starts_with("waits for ")) continue;  // the stretches of waiting say more
        if (request_.of == HistoryOf::kJob && what == "started" && placed_.contains(step.version))
          what += " on " + join(placed_.at(step.version), ", ");
        add(step.time, step.version, std::move(what), cause.actor, detail);
      }
      return Status();
    });
  }

  bool is_id(const TableValue& value) const {
    const auto* number = std::get_if<std::int64_t>(&value);
    return number != nullptr && *number == id_;
  }
  std::function<bool(const std::vector<TableValue>&)> keyed() const {
    return [this](const std::vector<TableValue>& key) { return is_id(key.front()); };
  }
  static bool every_row(const RowView&) { return true; }
  static bool every_key(const std::vector<TableValue>&) { return true; }

  // ---- jobs ---------------------------------------------------------------------------------------------------------

  Status add_job() {
    BERTH_TRY(read_places());
    BERTH_TRY(add_changes("jobs", keyed(), every_row));
    BERTH_TRY(add_before_history());
    BERTH_TRY(
        add_rows("SELECT time, 0, iif(whole, 'evicted', 'gave up ' || tasks || iif(tasks = 1, ' task', ' tasks')) || "
                 "' for ' || coalesce(iif(rule = 'loan', 'loan ' || beneficiary_id, (SELECT "
                 "name FROM jobs WHERE id = beneficiary_id)), 'job ' || beneficiary_id) || ' of ' || "
                 "coalesce((SELECT name FROM queues WHERE id = beneficiary_queue_id), 'a queue that is gone'), "
                 "'round ' || round_id || ': rule ' || rule || ', ' || round(lost_gpu_milli_s / 3.6e6, 2) || ' "
                 "GPU-hours lost, ' || (SELECT state FROM eviction_log WHERE eviction = evictions.id), "
                 "coalesce((SELECT actor FROM rounds WHERE id = round_id), '') FROM evictions "
                 "WHERE victim_id = ?1"));
    BERTH_TRY(
        add_rows("SELECT end_time, 9223372036854775807, 'attempt ' || attempt || ' ' || state || ' on ' || (SELECT "
                 "group_concat(value, ', ') FROM json_each(nodes)), 'ran ' || (end_time - start_time) || ' s; ' || "
                 "tasks || ' tasks on ' || (gpu_milli / 1000.0) || ' GPUs' || iif(detail = '', '', '; ' || detail) "
                 "FROM runs WHERE job_id = ?1 AND end_time IS NOT NULL"));
    BERTH_TRY(
        add_rows("SELECT j.submit_time, 9223372036854775807, 'right-sized by ' || r.policy, 'group ' || "
                 "r.group_index || ': GPUs ' || (r.gpu_count * r.gpu_milli / 1000.0) || ' -> ' || (g.gpu_count * "
                 "g.gpu_milli / 1000.0) || ', cpu ' || (r.cpu_milli / 1000.0) || ' -> ' || (g.cpu_milli / 1000.0) || "
                 "', memory ' || r.memory_mib || ' -> ' || g.memory_mib || ' MiB' FROM requested_amounts r JOIN "
                 "jobs j ON j.id = r.job_id JOIN task_groups g USING (job_id, group_index) WHERE r.job_id = ?1"));
    return add_waits();
  }

  // On which nodes tasks of the job were placed, by the version that placed them.
  Status read_places() {
    return for_each_step(
        db_, "allocations", [this](const std::vector<TableValue>& key) { return key.size() > 1 && is_id(key[1]); },
        [&](const RowStep& step, const RowView& before, const RowView& after) {
          if (before || !after) return Status();
          std::vector<std::string>& nodes = placed_[step.version];
          const std::string node = names_.of("nodes", after.integer("node_id"));
          if (std::ranges::find(nodes, node) == nodes.end()) nodes.push_back(node);
          return Status();
        });
  }

  // What the job itself knows of the time before the history.
  Status add_before_history() {
    BERTH_TRY(
        add_rows(fmt::format("SELECT submit_time, -1, 'submitted to ' || (SELECT name FROM queues WHERE id = "
                             "queue_id), iif(user_name = '', '', 'of ' || user_name) FROM jobs WHERE id = ?1 AND "
                             "submit_time < {}",
                             since_)));
    return add_rows(
        fmt::format("SELECT start_time, -1, 'attempt ' || attempt || ' started', '' FROM runs WHERE job_id = "
                    "?1 AND start_time < {}",
                    since_));
  }

  Status add_waits() {
    BERTH_ASSIGN(
        Statement rows,
        db_.prepare("SELECT i.from_time, coalesce(i.to_time, ?2) - i.from_time, i.cause, b.name, i.to_time IS "
                    "NULL FROM wait_intervals i LEFT JOIN queues b ON b.id = i.beneficiary_id WHERE i.job_id = "
                    "?1 ORDER BY 1"));
    rows.with(id_, now_);
    while (rows.next()) {
      if (rows.integer(1) <= 0) continue;
      const Result<WaitCause> cause = read_wait_cause(rows.text(2));
      std::string why(cause.ok() ? wait_cause_words(*cause) : rows.text(2));
      if (!rows.is_null(3)) why += fmt::format(" ({} has it)", rows.text(3));
      add(rows.quantity<Seconds>(0), INT64_MAX,
          fmt::format("{} {}", rows.integer(4) != 0 ? "waits since then, for" : "waited",
                      print_duration(rows.quantity<Seconds>(1))),
          {}, std::move(why));
    }
    return rows.status();
  }

  // Rows of time, order, what, detail, and who where that is known.
  Status add_rows(std::string_view sql) {
    BERTH_ASSIGN(Statement rows, db_.prepare(sql));
    rows.with(id_);
    while (rows.next())
      add(rows.quantity<Seconds>(0), rows.integer(1), std::string(rows.text(2)),
          rows.column_count() > 4 ? std::string(rows.text(4)) : std::string(), std::string(rows.text(3)));
    return rows.status();
  }

  // ---- nodes and queues ---------------------------------------------------------------------------------------------

  Status add_node() {
    BERTH_TRY(add_changes("nodes", keyed(), every_row));
    BERTH_TRY(add_changes("devices", keyed(), every_row));
    BERTH_TRY(add_changes("drains", keyed(), every_row));
    return add_tasks();
  }

  // Tasks that started and stopped on the node.
  Status add_tasks() {
    struct Tasks {
      Seconds time;
      std::int64_t started = 0;
      std::int64_t stopped = 0;
    };
    std::map<std::pair<std::int64_t, std::int64_t>, Tasks> tasks;  // by version, job
    BERTH_TRY(for_each_step(db_, "allocations", keyed(),
                            [&](const RowStep& step, const RowView& before, const RowView& after) {
                              if (static_cast<bool>(before) == static_cast<bool>(after)) return Status();
                              Tasks& of_job = tasks[{step.version, (after ? after : before).integer("job_id")}];
                              of_job.time = step.time;
                              ++(after ? of_job.started : of_job.stopped);
                              return Status();
                            }));
    for (const auto& [which, of_job] : tasks) {
      BERTH_ASSIGN(const Cause cause, cause_of_version(which.first));
      const std::string job = names_.of("jobs", which.second);
      const std::string detail = cause.told(false);
      if (of_job.stopped > 0)
        add(of_job.time, which.first, fmt::format("{} of {} stopped", print_counted(of_job.stopped, "task"), job),
            cause.actor, detail);
      if (of_job.started > 0)
        add(of_job.time, which.first, fmt::format("{} of {} started", print_counted(of_job.started, "task"), job),
            cause.actor, detail);
    }
    return add_rows(
        fmt::format("SELECT a.start_time, -1, count(*) || iif(count(*) = 1, ' task of ', ' tasks of ') || j.name || "
                    "' started', 'round ' || a.round_id FROM allocations a JOIN jobs j ON j.id = a.job_id WHERE "
                    "a.node_id = ?1 AND a.start_time < {} GROUP BY a.job_id, a.start_time, a.round_id",
                    since_));
  }

  Status add_queue() {
    BERTH_TRY(add_changes("queues", keyed(), every_row));
    const auto of_queue = [this](const RowView& row) { return row.integer("queue_id") == id_; };
    BERTH_TRY(add_changes("quotas", every_key, of_queue));
    return add_changes("loans", every_key, [this](const RowView& row) {
      return row.integer("lender_id") == id_ || row.integer("borrower_id") == id_;
    });
  }

  // Versions that changed other jobs, which had the name before or after.
  Result<std::set<std::int64_t>> versions_of_others() {
    std::set<std::int64_t> ids;
    std::set<std::int64_t> versions;
    if (request_.of != HistoryOf::kJob) return versions;
    BERTH_ASSIGN(Statement rows, db_.prepare("SELECT id FROM jobs WHERE name = ?1 AND id <> ?2"));
    rows.with(name_, id_);
    while (rows.next()) ids.insert(rows.integer(0));
    BERTH_TRY(rows.status());
    if (ids.empty()) return versions;
    const auto is_one = [&](const std::vector<TableValue>& key) {
      const auto* number = std::get_if<std::int64_t>(&key.front());
      return number != nullptr && ids.contains(*number);
    };
    BERTH_TRY(for_each_step(db_, "jobs", is_one, [&](const RowStep& step, const RowView&, const RowView&) {
      versions.insert(step.version);
      return Status();
    }));
    return versions;
  }

  // Events about the object that changed no row of it: those of before the history, refusals, signals.
  Status add_events() {
    BERTH_ASSIGN(const std::set<std::int64_t> of_others, versions_of_others());
    BERTH_ASSIGN(
        Statement rows,
        db_.prepare("SELECT time, state_version, kind, actor, iif(statement = '', detail, statement) FROM "
                    "events e WHERE object = ?1 AND (kind LIKE '% ' || ?2 OR kind LIKE ?2 || ' %' OR kind LIKE "
                    "'% ' || ?2 || ' %' OR kind LIKE '% quota') AND NOT (?3 AND EXISTS (SELECT 1 FROM jobs WHERE "
                    "id = ?4 AND (e.time < submit_time OR e.time > end_time))) ORDER BY id"));
    // A name may have been that of several jobs, one after the other.
    rows.with(name_, noun(), request_.of == HistoryOf::kJob, id_);
    while (rows.next()) {
      const bool is_ours = !rows.text(2).ends_with(" quota") || request_.of == HistoryOf::kQueue;
      if (!is_ours || told_.contains(rows.integer(1)) || of_others.contains(rows.integer(1))) continue;
      add(rows.quantity<Seconds>(0), rows.integer(1), std::string(rows.text(2)), std::string(rows.text(3)),
          std::string(rows.text(4)));
    }
    return rows.status();
  }

  Database& db_;
  Seconds now_;
  const ObjectHistoryRequest& request_;
  PastNames names_;
  std::int64_t id_ = 0;
  std::string name_;
  std::int64_t since_ = 0;
  std::map<std::int64_t, Cause> causes_;                     // by version
  std::map<std::int64_t, std::vector<std::string>> placed_;  // by version
  std::set<std::int64_t> told_;                              // versions
  std::vector<Placed> found_;
};

}  // namespace

Result<std::vector<Happening>> object_history(Runtime& runtime, const ObjectHistoryRequest& request) {
  BERTH_ASSIGN(Transaction transaction, Transaction::begin_read(runtime.db()));
  return HistoryWriter(runtime, request).write();
}

}  // namespace berth
