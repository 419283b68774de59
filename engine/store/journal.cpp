#include "engine/store/journal.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/base/text.h"
#include "engine/store/account_records.h"
#include "engine/store/change.h"
#include "engine/store/history.h"
#include "engine/store/settings.h"

namespace berth {

namespace {

constexpr std::size_t kMovesNamed = 3;

std::string print_event(const Event& event) {
  std::string text = event.kind + " " + event.object;
  if (!event.actor.empty()) text += " by " + event.actor;
  return text;
}

Result<std::string> saved_plan_ids(Database& db) {
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT id FROM plans WHERE state = 'open' ORDER BY id DESC LIMIT 10"));
  std::vector<std::string> ids;
  while (rows.next()) ids.emplace_back(rows.text(0));
  BERTH_TRY(rows.status());
  return ids.empty() ? std::string("there is no open plan") : "open plans: " + join(ids, ", ");
}

// No file has these names: the jobs stand there, and the text that readers do not see.
constexpr const char* kJobsKey = "";
constexpr const char* kTextKey = "/";

std::string statement_to_json(const PlannedStatement& statement) {
  nlohmann::json json(statement.digests);
  if (statement.text != statement.spoken) json[kTextKey] = statement.text;
  for (const auto& [id, job] : statement.jobs) {
    json[kJobsKey].push_back({{"id", id}, {"name", job.name}, {"queue", job.queue}, {"groups", job.groups}});
  }
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void read_statement_json(std::string_view text, PlannedStatement& statement) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  for (const auto& [name, value] : json.items()) {
    if (name == kTextKey && value.is_string()) {
      statement.text = value.get<std::string>();
    } else if (value.is_string()) {
      statement.digests.emplace(name, value.get<std::string>());
    }
    if (name != kJobsKey || !value.is_array()) continue;
    for (const nlohmann::json& job : value) {
      statement.jobs.emplace(job.value("id", std::int64_t{0}),
                             PlannedJob{job.value("name", std::string()), job.value("queue", std::int64_t{0}),
                                        job.value("groups", std::vector<std::string>())});
    }
  }
}

}  // namespace

std::string makes_anew(const PlannedStatement& statement) {
  if (statement.text.empty()) return "PLAN SCHEDULE; makes a new one";
  const std::string_view masked = statement.spoken == statement.text ? "" : ", with the values of env instead of ***";
  return fmt::format("PLAN {}; makes a new one{}", statement.spoken, masked);
}

Result<PlannedJobs> read_planned_jobs(Database& db, std::int64_t last_job) {
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT j.id, j.name, j.queue_id, g.name FROM jobs j JOIN task_groups g ON "
                                          "g.job_id = j.id WHERE j.id > ?1 ORDER BY j.id, g.group_index"));
  PlannedJobs jobs;
  rows.with(last_job);
  while (rows.next()) {
    PlannedJob& job = jobs[rows.integer(0)];
    job.name = rows.text(1);
    job.queue = rows.integer(2);
    job.groups.emplace_back(rows.text(3));
  }
  BERTH_TRY(rows.status());
  return jobs;
}

Status write_event(Database& db, Seconds now, std::string_view kind, std::string_view object, std::string_view detail,
                   const Author& author) {
  BERTH_ASSIGN(Statement event, db.prepare("INSERT INTO events (time, state_version, kind, object, actor, detail, "
                                           "statement) SELECT ?1, value, ?2, ?3, ?4, ?5, ?6 FROM meta WHERE key = "
                                           "'state_version'"));
  return event.run(now, kind, object, author.name, detail, author.statement);
}

Result<std::vector<Event>> events_after(Database& db, std::int64_t version, std::size_t most) {
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT id, time, state_version, kind, object, actor, detail FROM events "
                                          "WHERE state_version > ?1 ORDER BY state_version, id LIMIT ?2"));
  rows.with(version, most);
  std::vector<Event> events;
  while (rows.next()) {
    events.push_back({rows.integer(0), rows.quantity<Seconds>(1), rows.integer(2), std::string(rows.text(3)),
                      std::string(rows.text(4)), std::string(rows.text(5)), std::string(rows.text(6))});
  }
  BERTH_TRY(rows.status());
  return events;
}

Result<std::string> describe_moves_since(Database& db, std::int64_t version) {
  BERTH_ASSIGN(const std::vector<Event> events, events_after(db, version, kMovesNamed));
  BERTH_ASSIGN(Statement row, db.prepare("SELECT count(*) FROM events WHERE state_version > ?1"));
  const std::int64_t count = row.with(version).next() ? row.integer(0) : 0;
  BERTH_TRY(row.status());
  std::vector<std::string> moves;
  for (const Event& event : events) moves.push_back(print_event(event));
  if (moves.empty()) return std::string("the events of that time have been pruned");
  std::string text = join(moves, "; ");
  const std::int64_t unnamed = count - static_cast<std::int64_t>(events.size());
  if (unnamed > 0) text += fmt::format("; and {} more", print_count(unnamed));
  return text;
}

Result<std::int64_t> save_plan(Database& db, const Plan& plan, std::string_view kind, Seconds now,
                               const RoundRecord* record, const PlannedStatement& statement) {
  BERTH_ASSIGN(Transaction transaction, Transaction::begin_write(db));
  std::optional<std::int64_t> record_id;
  if (record != nullptr) {
    BERTH_ASSIGN(const WrittenRecord written, write_round_record(db, *record, now));
    record_id = written.id;
  }
  BERTH_ASSIGN(Statement insert, db.prepare("INSERT INTO plans (created_at, state_version, kind, plan_json, record_id, "
                                            "statement, files) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"));
  BERTH_TRY(insert.run(now, plan.version, kind, plan_to_json(plan), record_id, statement.spoken,
                       statement_to_json(statement)));
  const std::int64_t id = db.last_row_id();
  BERTH_TRY(transaction.commit());
  return id;
}

Result<SavedPlan> load_plan(Database& db, std::int64_t id) {
  BERTH_ASSIGN(Statement row, db.prepare("SELECT created_at, kind, state, plan_json, statement, files FROM plans "
                                         "WHERE id = ?1"));
  if (!row.with(id).next()) {
    BERTH_TRY(row.status());
    BERTH_ASSIGN(std::string hint, saved_plan_ids(db));
    return Status(Code::kNotFound, fmt::format("no plan {}", id), std::move(hint));
  }
  SavedPlan saved;
  saved.id = id;
  saved.created_at = row.quantity<Seconds>(0);
  saved.kind = row.text(1);
  saved.state = row.text(2) == "applied" ? PlanState::kApplied : PlanState::kOpen;
  Result<Plan> plan = plan_from_json(row.text(3));
  if (!plan.ok()) return Status(Code::kCorrupt, plan.status().message()).prefixed(fmt::format("in plan {}", id));
  saved.plan = *std::move(plan);
  saved.statement.spoken = row.text(4);
  saved.statement.text = saved.statement.spoken;
  try {
    read_statement_json(row.text(5), saved.statement);
  } catch (const nlohmann::json::exception& error) {
    return Status(Code::kCorrupt, error.what()).prefixed(fmt::format("in the files of plan {}", id));
  }
  return saved;
}

namespace {

constexpr std::string_view kVacuum = "vacuum rounds";

}  // namespace

Result<std::int64_t> prune_history(Database& db, Seconds now, const Author& author) {
  BERTH_ASSIGN(const Settings settings, read_settings(db));
  struct Pruning {
    std::string_view sql;
    Seconds keep;
  };
  const Pruning prunings[] = {
      {"DELETE FROM rounds WHERE started_at < ?1", settings.round_retention},
      {"DELETE FROM drift WHERE time < ?1", settings.round_retention},
      {"DELETE FROM plans WHERE created_at < ?1", settings.round_retention},
      {"DELETE FROM events WHERE time < ?1", settings.event_retention},
      {"DELETE FROM prediction_keys WHERE last_end < ?1", settings.prediction_retention},
      // What a live job remembers stays: whom it was evicted for, and what it comes after.
      {"DELETE FROM evictions WHERE time < ?1 AND victim_id NOT IN (SELECT id FROM live_jobs)",
       settings.round_retention},
      {"DELETE FROM jobs WHERE end_time < ?1 AND id NOT IN (SELECT after_id FROM dependencies WHERE state <> 'met')",
       settings.job_retention},
  };
  BERTH_ASSIGN(Transaction transaction, Transaction::begin_write(db));
  std::int64_t deleted = 0;
  for (const Pruning& pruning : prunings) {
    BERTH_ASSIGN(Statement remove, db.prepare(pruning.sql));
    BERTH_TRY(remove.run(now - pruning.keep));
    deleted += db.changed_rows();
  }
  BERTH_ASSIGN(const std::int64_t accounts, prune_accounts(db, now - settings.chargeback_retention - kAccountDay));
  BERTH_ASSIGN(const std::int64_t records, prune_records(db, now - settings.record_retention, settings.record_bytes));
  BERTH_ASSIGN(const std::int64_t moments, prune_moments(db, now - settings.history_retention, settings.history_bytes));
  if (deleted + accounts + records + moments > 0) {
    BERTH_TRY(write_event(db, now, kVacuum, "history",
                          fmt::format("past retention: {} and {} deleted", print_counted(records, "record"),
                                      print_counted(deleted + accounts + moments, "other row")),
                          author));
  }
  BERTH_TRY(transaction.commit());
  return deleted + accounts + records + moments;
}

Status vacuum_records(Database& db, Seconds keep_since, Seconds now, const Author& author) {
  BERTH_ASSIGN(Transaction transaction, Transaction::begin_write(db));
  BERTH_ASSIGN(const std::int64_t records, prune_records(db, keep_since));
  if (records > 0) {
    BERTH_TRY(write_event(
        db, now, kVacuum, "records",
        fmt::format("{} from before {} deleted", print_counted(records, "record"), print_time(keep_since)), author));
  }
  return transaction.commit();
}

Result<std::int64_t> vacuum_damaged_records(Database& db, Seconds now, const Author& author) {
  BERTH_ASSIGN(Transaction transaction, Transaction::begin_write(db));
  BERTH_ASSIGN(const std::int64_t records, drop_damaged_records(db));
  if (records > 0) {
    BERTH_TRY(write_event(db, now, kVacuum, "records",
                          fmt::format("{} deleted", print_counted(records, "damaged record")), author));
  }
  BERTH_TRY(transaction.commit());
  return records;
}

}  // namespace berth
