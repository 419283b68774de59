#include "engine/store/executor_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/store/database_home.h"
#include "engine/store/journal.h"
#include "engine/store/names.h"

namespace berth {

namespace {

constexpr std::string_view kExecutorColumns =
    "SELECT id, name, type, options, is_default, state, last_contact, failures, next_try, error, inventory_at FROM "
    "executors";
constexpr Use kExecutorUses[] = {
    {"SELECT count(*) FROM pools WHERE executor_id = ?1", "pool"},  // no work: see check_idle
    {"SELECT count(*) FROM run_tasks WHERE executor_id = ?1 AND (phase = 'pending' OR phase = 'starting' OR phase = "
     "'running')",
     "live task"},
    {"SELECT count(*) FROM outbox WHERE executor_id = ?1", "effect on its way"},
};

ExecutorRecord executor_from(const Statement& row) {
  ExecutorRecord executor;
  executor.id = row.integer(0);
  executor.name = row.text(1);
  executor.type = row.text(2);
  const auto options = nlohmann::json::parse(row.text(3), nullptr, false);
  for (const auto& [key, value] : options.items()) {
    if (value.is_string()) executor.options[key] = value.get<std::string>();
  }
  executor.is_default = row.integer(4) != 0;
  executor.state = row.text(5);
  if (!row.is_null(6)) executor.last_contact = row.quantity<Seconds>(6);
  executor.failures = row.integer(7);
  executor.next_try = row.quantity<Seconds>(8);
  executor.error = row.text(9);
  executor.inventory_at = row.quantity<Seconds>(10);
  return executor;
}

std::string options_text(const ExecutorRecord& executor) {
  nlohmann::json options = nlohmann::json::object();
  for (const auto& [name, value] : executor.options) options[name] = value;
  return options.dump();
}

// What keeps them is JSON.
Status check_texts(const ExecutorRecord& executor) {
  for (const auto& [name, value] : executor.options)
    BERTH_TRY(check_plain_text(fmt::format("option '{}'", name), value).about(name));
  return {};
}

Status take_default(Database& db, std::int64_t executor) {
  BERTH_TRY(db.execute("UPDATE executors SET is_default = 0 WHERE is_default = 1"));
  BERTH_ASSIGN(Statement update, db.prepare("UPDATE executors SET is_default = 1 WHERE id = ?1"));
  return update.run(executor);
}

}  // namespace

Result<std::vector<ExecutorRecord>> list_executors(Database& db) {
  std::vector<ExecutorRecord> executors;
  BERTH_ASSIGN(Statement rows, db.prepare(fmt::format("{} ORDER BY id", kExecutorColumns)));
  while (rows.next()) executors.push_back(executor_from(rows));
  BERTH_TRY(rows.status());
  return executors;
}

Result<ExecutorRecord> find_executor(Database& db, std::string_view name) {
  BERTH_ASSIGN(const std::int64_t id, find_id(db, Thing::kExecutor, name));
  BERTH_ASSIGN(Statement row, db.prepare(fmt::format("{} WHERE id = ?1", kExecutorColumns)));
  if (!row.with(id).next())
    return row.status().ok() ? Status(Code::kNotFound, fmt::format("no executor '{}'", name)) : row.status();
  return executor_from(row);
}

Status check_executor_name(std::string_view name) {
  const bool leads_elsewhere = name.empty() || name == "." || name == ".." ||
                               name.find('/') != std::string_view::npos || name.find('\0') != std::string_view::npos;
  if (!leads_elsewhere) return {};
  return Status(Code::kInvalid, fmt::format("'{}' cannot name an executor: a folder is called after it", name));
}

Status create_executor(Change& change, const ExecutorRecord& executor) {
  Database& db = change.db();
  BERTH_TRY(check_new_name(db, Thing::kExecutor, executor.name));
  BERTH_TRY(check_executor_name(executor.name));
  BERTH_TRY(check_texts(executor));
  BERTH_ASSIGN(const std::int64_t others, db.integer("SELECT count(*) FROM executors"));
  BERTH_ASSIGN(const std::int64_t at_work, db.integer("SELECT count(*) FROM executors WHERE type <> 'simulated'"));
  BERTH_ASSIGN(Statement insert, db.prepare("INSERT INTO executors (name, type, options) VALUES (?1, ?2, ?3)"));
  BERTH_TRY(insert.run(executor.name, executor.type, options_text(executor)));
  if (runs_work(executor) && at_work == 0) BERTH_TRY(begin_home(db));
  if (executor.is_default || others == 0) BERTH_TRY(take_default(db, db.last_row_id()));
  return change.record("create executor", executor.name, executor.type);
}

Status check_idle(Database& db, const ExecutorRecord& executor) {
  return check_unused(db, Thing::kExecutor, executor.name, executor.id, std::span(kExecutorUses).subspan(1));
}

Status alter_executor(Change& change, const ExecutorRecord& executor) {
  Database& db = change.db();
  BERTH_TRY(check_texts(executor));
  BERTH_ASSIGN(Statement update, db.prepare("UPDATE executors SET options = ?2, next_try = 0 WHERE id = ?1"));
  BERTH_TRY(update.run(executor.id, options_text(executor)));
  if (executor.is_default) BERTH_TRY(take_default(db, executor.id));
  return change.record("alter executor", executor.name, options_text(executor));
}

Status drop_executor(Change& change, std::string_view name) {
  Database& db = change.db();
  BERTH_ASSIGN(const std::int64_t id, find_id(db, Thing::kExecutor, name));
  BERTH_TRY(check_unused(db, Thing::kExecutor, name, id, kExecutorUses));
  // With executors every node has one: of a gang that lies on nodes with and without, half would never start.
  BERTH_ASSIGN(Statement others, db.prepare("SELECT 1 FROM executors WHERE id <> ?1 AND EXISTS (SELECT 1 FROM "
                                            "executors WHERE id = ?1 AND is_default = 1)"));
  if (others.with(id).next()) {
    return Status(Code::kConflict, fmt::format("executor '{}' is the default one, and there are others", name),
                  "ALTER EXECUTOR ... WITH (default = true) makes another one the default");
  }
  BERTH_TRY(others.status());
  BERTH_ASSIGN(Statement remove, db.prepare("DELETE FROM executors WHERE id = ?1"));
  BERTH_TRY(remove.run(id));
  BERTH_ASSIGN(const std::int64_t left, db.integer("SELECT count(*) FROM executors"));
  if (left == 0) {
    // Nobody is left to say that nodes are in order again, or that work of others has ended.
    BERTH_TRY(db.execute(
        "UPDATE nodes SET state = 'up' WHERE state IN ('draining', 'drained') AND id IN (SELECT node_id FROM "
        "node_health WHERE state = 'cordoned') AND id NOT IN (SELECT node_id FROM drains)"));
    BERTH_TRY(db.execute("DELETE FROM node_health WHERE state = 'cordoned'"));
    BERTH_TRY(db.execute("DELETE FROM foreign_use"));
  }
  return change.record("drop executor", name);
}

Status set_pool_executor(Change& change, std::string_view pool, std::optional<std::string_view> executor) {
  Database& db = change.db();
  BERTH_ASSIGN(const std::int64_t pool_id, find_id(db, Thing::kPool, pool));
  std::optional<std::int64_t> executor_id;
  if (executor) {
    BERTH_ASSIGN(executor_id, find_id(db, Thing::kExecutor, *executor));
  }
  BERTH_ASSIGN(Statement update, db.prepare("UPDATE pools SET executor_id = ?2 WHERE id = ?1"));
  BERTH_TRY(update.run(pool_id, executor_id));
  return change.record("alter pool", pool, fmt::format("executor {}", executor.value_or("NONE")));
}

Result<std::vector<std::string>> nodes_of_executor(Database& db, const ExecutorRecord& executor) {
  BERTH_ASSIGN(Statement rows,
               db.prepare("SELECT n.name FROM nodes n LEFT JOIN pools p ON p.id = n.pool_id WHERE "
                          "coalesce(p.executor_id, (SELECT id FROM executors WHERE is_default = 1)) = ?1 "
                          "ORDER BY n.id"));
  rows.with(executor.id);
  std::vector<std::string> names;
  while (rows.next()) names.emplace_back(rows.text(0));
  BERTH_TRY(rows.status());
  return names;
}

Status note_inventory(Database& db, const ExecutorRecord& executor, Seconds now) {
  BERTH_ASSIGN(Statement update, db.prepare("UPDATE executors SET inventory_at = ?2 WHERE id = ?1"));
  return update.run(executor.id, now);
}

Status note_contact(Database& db, ExecutorRecord& executor, const Status& answer, Seconds now) {
  const std::string_view state = answer.ok() ? "up" : "down";
  if (executor.state != state && (executor.state != "unknown" || !answer.ok())) {
    BERTH_TRY(write_event(db, now, fmt::format("executor {}", state), executor.name, answer.message()));
  }
  executor.state = state;
  if (answer.ok()) {
    BERTH_ASSIGN(Statement update, db.prepare("UPDATE executors SET state = 'up', last_contact = ?2, failures = 0, "
                                              "next_try = 0, error = '' WHERE id = ?1"));
    return update.run(executor.id, now);
  }
  ++executor.failures;
  const Seconds pause(std::min<std::int64_t>(kLongestPause.value(),
                                             std::int64_t{1} << std::min<std::int64_t>(executor.failures - 1, 6)));
  BERTH_ASSIGN(Statement update,
               db.prepare("UPDATE executors SET state = 'down', failures = failures + 1, next_try = ?2, "
                          "error = ?3 WHERE id = ?1"));
  return update.run(executor.id, now + pause, answer.message());
}

}  // namespace berth
