// What the domain handlers share: the engine behind a session, SQL as a result table, counting words.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/text.h"
#include "engine/runtime/runtime.h"
#include "engine/sim/simulation.h"
#include "engine/store/assertion_holds.h"
#include "shell/arguments.h"
#include "shell/chart.h"
#include "shell/commands.h"
#include "shell/session_factory.h"

namespace berth {

struct Stray;

inline Runtime& engine_of(Session& session) { return *session.runtime; }

// A finished statement as a table: columns by name, cells by what SQLite holds. kInvalid when there is more than the
// limits allow.
Result<ResultTable> table_of(Statement rows, const QueryLimits& limits = {});

// People see amounts in GiB (columns "..._gib") to two decimals.
void round_memory_columns(ResultTable& table);

template <class... Values>
Result<ResultTable> query_table(Session& session, std::string_view sql, const Values&... values) {
  BERTH_ASSIGN(Statement rows, engine_of(session).db().prepare(sql));
  rows.with(values...);
  BERTH_ASSIGN(ResultTable table, table_of(std::move(rows)));
  round_memory_columns(table);
  return table;
}

template <class... Values>
Result<Output> query_output(Session& session, std::string_view sql, const Values&... values) {
  BERTH_ASSIGN(ResultTable table, query_table(session, sql, values...));
  return Output(std::move(table));
}

// One accepted statement, answered with a sentence.
template <std::invocable<Change&> Body>
Result<Output> change_with_note(Session& session, std::string note, Body&& body) {
  const Result<std::int64_t> version = engine_of(session).change(std::forward<Body>(body));
  if (!version.ok()) return version.status();
  return Output::note(std::move(note));
}

inline double gpu_hours_of(std::int64_t milli_gpu_seconds) { return static_cast<double>(milli_gpu_seconds) / 3.6e6; }

inline std::string counted(std::int64_t count, std::string_view noun) { return print_counted(count, noun); }

// Points an engine error at the argument it is about, unless it already points somewhere.
inline Status blame(Status status, Span span) { return std::move(status).at(span); }

inline Cell cell_or_null(const std::optional<double>& value) { return value ? Cell(*value) : Cell(std::monostate()); }
inline Cell cell_or_null(const std::optional<std::int64_t>& value) {
  return value ? Cell(*value) : Cell(std::monostate());
}
// An empty text is none.
inline Cell text_or_null(std::string text) { return text.empty() ? Cell(std::monostate()) : Cell(std::move(text)); }
inline Cell time_or_null(std::optional<Seconds> time) {
  return time ? Cell(print_time(*time)) : Cell(std::monostate());
}
// People see only the columns that say something.
ResultTable without_empty_columns(const ResultTable& table);

// Ctrl-C and the progress line, for a simulation.
SimulationControl control_of(Session& session);

// Names out of `<names:node_range>, ...`, ranges expanded; errors point at the range.
Result<std::vector<std::string>> expand_names(const std::vector<Value>& values);
// The same of what is there already: a name that is given twice counts once.
Result<std::vector<std::string>> expand_known_names(const std::vector<Value>& values);

// Tasks at executors that wait for a verdict, if any: findings.
void add_strays(const std::vector<Stray>& strays, Output& output);
// What a plan would break, if anything: findings.
void add_broken(const std::vector<BrokenAssertion>& broken, Output& output);
// Which jobs are held back for assertions, if any: findings.
void add_held_back(std::span<const HeldBackJob> seen, std::span<const AssertionHold> holds,
                   const std::function<std::string(std::int64_t)>& name_of_job, Output& output);

// An argument "table" that names no table or view.
Status unknown_table(const Session& session, const Arguments& arguments);

// How charts are drawn for this session's display.
ChartStyle chart_style(const Display& display, int height = 12);

}  // namespace berth
