#include "shell/session_factory.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>

#include "engine/base/text.h"
#include "engine/exec/executor.h"
#include "engine/runtime/backtest.h"
#include "engine/runtime/runtime.h"
#include "engine/sim/trace.h"
#include "engine/store/names.h"
#include "engine/store/policy_records.h"
#include "engine/store/settings.h"
#include "engine/store/user_sql.h"
#include "shell/cmd_support.h"
#include "shell/missing_database.h"

namespace berth {

namespace {

constexpr std::size_t kMostNames = 2000;

using Names = std::vector<std::string>;

// Of built-in ones and scripts; "policy" = an order or a score, "script_policy" = any script.
Names names_of_policies(Database& db, std::string_view kind) {
  Names names;
  if (kind == "backtest_policy") {
    names.emplace_back(kLivePolicy);
    kind = "policy";
  }
  const Result<std::vector<StoredPolicy>> scripts = list_policies(db);
  if (kind == "script_policy") {
    if (!scripts.ok()) return names;
    for (const StoredPolicy& script : *scripts) names.push_back(script.script.name);
    return names;
  }
  for (const PolicyKind each : {PolicyKind::kOrder, PolicyKind::kScore}) {
    if (kind != "policy" && kind != (each == PolicyKind::kOrder ? "order_policy" : "score_policy")) continue;
    Result<Names> more = policy_names(db, each);
    if (more.ok()) names.insert(names.end(), more->begin(), more->end());
  }
  if (kind == "policy" && scripts.ok()) {
    for (const StoredPolicy& script : *scripts) {
      if (std::ranges::find(names, script.script.name) == names.end()) names.push_back(script.script.name);
    }
  }
  return names;
}

Names setting_names() {
  Names names;
  for (const Knob& knob : all_knobs()) names.emplace_back(knob.name);
  return names;
}

// What the setting takes: of scripts only those that have the hook.
Names names_for_setting(Database& db, PolicyKind kind) {
  Result<Names> names = policy_names(db, kind);
  return names.ok() ? *std::move(names) : Names();
}

// Of settings with choices, booleans and policies.
Names values_of_setting(Database& db, std::string_view name) {
  const Result<const Knob*> knob = find_knob(name);
  if (!knob.ok()) return {};
  switch ((*knob)->type) {
    case KnobType::kBoolean: return {"true", "false"};
    case KnobType::kChoice: {
      Names names;
      for (const std::string_view choice : split((*knob)->choices, '|')) names.emplace_back(trim(choice));
      return names;
    }
    case KnobType::kOrderPolicy: return names_for_setting(db, PolicyKind::kOrder);
    case KnobType::kScorePolicy: return names_for_setting(db, PolicyKind::kScore);
    case KnobType::kFilterPolicy: return names_for_setting(db, PolicyKind::kFilter);
    case KnobType::kVictimPolicy: return names_for_setting(db, PolicyKind::kVictim);
    case KnobType::kAdmitPolicy: return names_for_setting(db, PolicyKind::kAdmit);
    default: return {};
  }
}

Names format_names() {
  Names names;
  for (const TraceFormat& format : trace_formats()) names.emplace_back(format.name);
  return names;
}

// The query whose first column are the names of a kind; empty = not a kind of the database.
std::string_view names_query(std::string_view kind) {
  struct Row {
    std::string_view kind;
    std::string_view sql;
  };
  static constexpr Row kQueries[] = {
      {"node", "SELECT name FROM nodes WHERE name LIKE ?1 ESCAPE '\\' ORDER BY id LIMIT ?2"},
      {"node_range", "SELECT name FROM nodes WHERE name LIKE ?1 ESCAPE '\\' ORDER BY id LIMIT ?2"},
      {"node_type", "SELECT name FROM node_types WHERE name LIKE ?1 ESCAPE '\\' ORDER BY id LIMIT ?2"},
      {"device_model", "SELECT name FROM device_models WHERE name LIKE ?1 ESCAPE '\\' ORDER BY id LIMIT ?2"},
      {"resource",
       "SELECT name FROM (SELECT 'cpu' AS name UNION SELECT 'memory' UNION SELECT 'gpu' UNION SELECT name FROM "
       "device_models UNION SELECT family FROM device_models) WHERE name LIKE ?1 ESCAPE '\\' ORDER BY name LIMIT ?2"},
      {"pool", "SELECT name FROM pools WHERE name LIKE ?1 ESCAPE '\\' ORDER BY id LIMIT ?2"},
      {"rack", "SELECT DISTINCT rack FROM nodes WHERE rack LIKE ?1 ESCAPE '\\' ORDER BY 1 LIMIT ?2"},
      {"queue", "SELECT name FROM queues WHERE name LIKE ?1 ESCAPE '\\' ORDER BY id LIMIT ?2"},
      {"priority_class", "SELECT name FROM priority_classes WHERE name LIKE ?1 ESCAPE '\\' ORDER BY id LIMIT ?2"},
      {"job",
       "SELECT name FROM jobs WHERE state IN ('pending', 'held', 'running') AND name LIKE ?1 ESCAPE '\\' ORDER BY id "
       "LIMIT ?2"},
      {"user", "SELECT DISTINCT user_name FROM jobs WHERE user_name LIKE ?1 ESCAPE '\\' ORDER BY 1 LIMIT ?2"},
      {"assertion", "SELECT name FROM assertions WHERE name LIKE ?1 ESCAPE '\\' ORDER BY id LIMIT ?2"},
      {"executor", "SELECT name FROM executors WHERE name LIKE ?1 ESCAPE '\\' ORDER BY id LIMIT ?2"},
      {"stray_job", "SELECT DISTINCT job_id FROM strays WHERE job_id LIKE ?1 ESCAPE '\\' ORDER BY 1 LIMIT ?2"},
      {"loan", "SELECT id FROM loans WHERE state = 'open' AND id LIKE ?1 ESCAPE '\\' ORDER BY id DESC LIMIT ?2"},
      {"shadow", "SELECT policy FROM shadows WHERE policy LIKE ?1 ESCAPE '\\' ORDER BY policy LIMIT ?2"},
      {"plan", "SELECT id FROM plans WHERE id LIKE ?1 ESCAPE '\\' ORDER BY id DESC LIMIT ?2"},
      {"round", "SELECT id FROM rounds WHERE id LIKE ?1 ESCAPE '\\' ORDER BY id DESC LIMIT ?2"},
      {"simulation", "SELECT name FROM simulations WHERE name LIKE ?1 ESCAPE '\\' ORDER BY name LIMIT ?2"},
      {"backtest", "SELECT simulation FROM backtests WHERE simulation LIKE ?1 ESCAPE '\\' ORDER BY 1 LIMIT ?2"},
      {"table",
       "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' AND name LIKE ?1 "
       "ESCAPE '\\' ORDER BY name LIMIT ?2"},
      {"column",
       "SELECT DISTINCT c.name FROM sqlite_schema s, pragma_table_info(s.name) c WHERE s.type IN ('table', 'view') AND "
       "c.name LIKE ?1 ESCAPE '\\' ORDER BY 1 LIMIT ?2"},
  };
  for (const Row& row : kQueries) {
    if (row.kind == kind) return row.sql;
  }
  return {};
}

std::string like_prefix(std::string_view prefix) {
  std::string pattern;
  for (const char c : prefix) {
    if (c == '%' || c == '_' || c == '\\') pattern += '\\';
    pattern += c;
  }
  return pattern + "%";
}

Names run_names(Database& db, std::string_view sql, std::string_view first, std::string_view second = {}) {
  Names names;
  Result<Statement> rows = db.prepare(sql);
  if (!rows.ok()) return names;
  if (second.empty()) {
    rows->with(first, kMostNames);
  } else {
    rows->with(first, kMostNames, second);
  }
  while (rows->next()) names.emplace_back(rows->text(0));
  return names;
}

Names names_of_kind(Runtime& runtime, std::string_view kind, std::string_view prefix) {
  const Runtime::Reading reading = runtime.reading();
  Names names;
  if (kind.starts_with("setting_value:")) {
    names = values_of_setting(runtime.queries(), kind.substr(14));
  } else if (kind.ends_with("policy")) {
    names = names_of_policies(runtime.queries(), kind);
  } else if (kind == "setting") {
    names = setting_names();
  } else if (kind == "format") {
    names = format_names();
  } else if (kind == "executor_type") {
    for (const ExecutorType& type : executor_types()) names.emplace_back(type.name);
  } else if (kind.starts_with("column:")) {
    return run_names(reading.db, "SELECT name FROM pragma_table_info(?3) WHERE name LIKE ?1 ESCAPE '\\' LIMIT ?2",
                     like_prefix(prefix), kind.substr(7));
  } else if (const std::string_view sql = names_query(kind); !sql.empty()) {
    return run_names(reading.db, sql, like_prefix(prefix));
  }
  std::erase_if(names, [&](const std::string& name) {
    return !equals_ignoring_case(std::string_view(name).substr(0, prefix.size()), prefix);
  });
  return names;
}

}  // namespace

namespace {

Status bind_cells(Statement& statement, std::span<const Cell> cells) {
  if (std::ssize(cells) != statement.parameter_count()) {
    return Status(Code::kInvalid,
                  fmt::format("the SQL has {}, and {}", print_counted(statement.parameter_count(), "parameter"),
                              cells.size() == 1 ? "1 value is given for them"
                                                : fmt::format("{} values are given for them", cells.size())));
  }
  statement.with();
  for (int i = 0; i < static_cast<int>(cells.size()); ++i) {
    const Cell& cell = cells[static_cast<std::size_t>(i)];
    sqlite3_stmt* const handle = statement.handle();
    int code = SQLITE_OK;  // unbound parameters are NULL
    if (const auto* integer = std::get_if<std::int64_t>(&cell)) {
      code = sqlite3_bind_int64(handle, i + 1, *integer);
    } else if (const auto* real = std::get_if<double>(&cell)) {
      code = sqlite3_bind_double(handle, i + 1, *real);
    } else if (const auto* text = std::get_if<std::string>(&cell)) {
      code = sqlite3_bind_text64(handle, i + 1, text->data(), text->size(), SQLITE_TRANSIENT, SQLITE_UTF8);
    }
    if (code != SQLITE_OK) return Status(Code::kInvalid, fmt::format("value {} cannot be bound to the SQL", i + 1));
  }
  return {};
}

// Tables of the past are those of the read-only connection.
Result<Statement> prepare_query(Runtime& runtime, const Runtime::Reading& reading, std::string_view sql) {
  if (!runtime.in_transaction()) return runtime.query(sql);
  Result<Statement> rows = reading.db.prepare(sql);
  if (rows.ok() || !rows.status().subject().value.starts_with("as_of")) return rows;
  return Status(Code::kConflict, "as_of() cannot be read within a transaction", "ask before it or after it");
}

// While it lives, SQLite gets no more memory than so much: sorting and texts put together have no bound of their own.
class MemoryForQuery {
 public:
  MemoryForQuery() : before_(sqlite3_hard_heap_limit64(-1)) {
    sqlite3_hard_heap_limit64(sqlite3_memory_used() + kMost);
  }
  ~MemoryForQuery() { sqlite3_hard_heap_limit64(before_); }
  MemoryForQuery(const MemoryForQuery&) = delete;
  MemoryForQuery& operator=(const MemoryForQuery&) = delete;

 private:
  static constexpr std::int64_t kMost = std::int64_t{512} << 20;
  std::int64_t before_;
};

Result<ResultTable> read_table(Session& session, std::string_view sql, std::span<const Cell> parameters,
                               const QueryLimits& limits) {
  const Runtime::Reading reading = session.runtime->reading();
  const Interruptible interruptible(reading.db, session.interrupt);
  const MemoryForQuery memory;
  BERTH_ASSIGN(Statement rows, prepare_query(*session.runtime, reading, sql));
  BERTH_TRY(bind_cells(rows, parameters));
  const UserSqlLimits bounds(reading.db);
  return table_of(std::move(rows), limits);
}

}  // namespace

namespace {

// Names of tables and columns are words: one of three letters with a letter replaced is another word ("env", "end").
// What is meant may be longer.
std::string suggest_sql_name(std::string_view word, const std::vector<std::string>& names) {
  constexpr std::size_t kShortWord = 3;
  if (word.size() > kShortWord) return suggest(word, names);
  const std::string start = to_lower(word);
  const auto longer =
      std::ranges::find_if(names, [&](const std::string& each) { return to_lower(each).starts_with(start); });
  return word.size() < kShortWord || longer == names.end() ? std::string() : fmt::format("did you mean '{}'?", *longer);
}

}  // namespace

Status with_nearest_name(Status status, const Session& session) {
  const std::string kind = status.subject().field;
  if (kind != "table" && kind != "column") return status;
  std::string name = status.subject().value;
  if (const std::size_t dot = name.rfind('.'); dot != std::string::npos) name.erase(0, dot + 1);
  const std::vector<std::string> names = session.names(kind, "");
  const bool is_elsewhere =
      std::ranges::any_of(names, [&](const std::string& each) { return equals_ignoring_case(each, name); });
  std::string hint =
      is_elsewhere ? fmt::format("other tables have a column '{}'", name) : suggest_sql_name(name, names);
  return std::move(status).with_hint(std::move(hint));
}

Result<ResultTable> run_user_query(Session& session, std::string_view sql, std::span<const Cell> parameters,
                                   const QueryLimits& limits) {
  Result<ResultTable> table = read_table(session, sql, parameters, limits);
  if (table.ok()) return table;
  return with_nearest_name(std::move(table).status(), session);
}

Result<std::unique_ptr<Session>> open_session(const SessionOptions& options) {
  BERTH_ASSIGN(std::unique_ptr<Runtime> runtime, Runtime::open({.database = options.database,
                                                                .read_only = options.read_only,
                                                                .actor = options.actor,
                                                                .env = options.env,
                                                                .seed = options.seed}));
  return make_session(options, std::move(runtime));
}

std::unique_ptr<Session> make_session(const SessionOptions& options, std::unique_ptr<Runtime> runtime) {
  auto session = std::make_unique<Session>();
  session->database = options.database;
  session->read_only = options.read_only;
  session->runtime = std::move(runtime);
  Session* self = session.get();
  session->run_sql = [self](std::string_view sql) -> Result<ResultTable> {
    if (self->runtime == nullptr)
      return Status(Code::kNotFound, fmt::format("there is no database '{}'", self->database));
    return run_user_query(*self, sql);
  };
  session->names = [self](std::string_view kind, std::string_view prefix) {
    return self->runtime != nullptr ? names_of_kind(*self->runtime, kind, prefix) : std::vector<std::string>();
  };
  return session;
}

}  // namespace berth
