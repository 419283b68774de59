// Reading is SQL: whatever SQLite answers on a read-only connection.
#include <array>

#include "shell/cmd_support.h"
#include "shell/families.h"

namespace berth {

namespace {

Result<Output> run_query(Session& session, const Arguments& arguments) {
  if (!session.run_sql) return Status(Code::kUnavailable, "this session has no database");
  BERTH_ASSIGN(ResultTable table, session.run_sql(arguments.statement()));
  return Output(std::move(table));
}

Result<Output> show_columns(Session& session, const Arguments& arguments) {
  if (!session.run_sql) return Status(Code::kUnavailable, "this session has no database");
  BERTH_ASSIGN(ResultTable table, session.run_sql(arguments.statement()));
  if (table.rows.empty()) return unknown_table(session, arguments);
  return Output(std::move(table));
}

constexpr std::array kSqlRows = {
    CommandRow{.family = "sql",
               .syntax = "SELECT <query:sql>",
               .effect = Effect::kReads,
               .handler = run_query,
               .summary = "Reads tables and views with SQLite's SQL.",
               .example = "SELECT name, state FROM nodes ORDER BY name",
               .details =
                   ".tables lists what can be read, .schema shows its columns. as_of('jobs', '2026-11-01 09:00') in "
                   "place of a table is that table or view as it was; also '90m ago', 'version 12', 'round 7'. "
                   "What other programs than Berth write is not in that history."},
    CommandRow{.family = "sql",
               .syntax = "WITH <query:sql>",
               .effect = Effect::kReads,
               .handler = run_query,
               .summary = "A SELECT with named subqueries, also recursive ones.",
               .example = "WITH up AS (SELECT * FROM nodes WHERE state = 'up') SELECT count(*) FROM up"},
    CommandRow{.family = "sql",
               .syntax = "VALUES <query:sql>",
               .effect = Effect::kReads,
               .handler = run_query,
               .summary = "Rows given in the statement itself.",
               .example = "VALUES (1, 'one'), (2, 'two')"},
    CommandRow{.family = "sql",
               .syntax = "EXPLAIN QUERY PLAN <query:sql>",
               .effect = Effect::kReads,
               .handler = run_query,
               .summary = "How SQLite would run a query.",
               .example = "EXPLAIN QUERY PLAN SELECT * FROM nodes"},
    CommandRow{.family = "sql",
               .syntax = "PRAGMA TABLE_INFO (<table:table>)",
               .effect = Effect::kReads,
               .handler = show_columns,
               .summary = "The columns of a table or view.",
               .example = "PRAGMA table_info(nodes)"},
};

}  // namespace

std::span<const CommandRow> sql_commands() { return kSqlRows; }

}  // namespace berth
