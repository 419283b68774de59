#include "shell/script_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <lua.hpp>
#include <span>

#include "engine/base/plain_text.h"
#include "engine/base/text.h"
#include "engine/runtime/runtime.h"
#include "shell/cmd_support.h"
#include "shell/commands.h"
#include "shell/printer.h"
#include "shell/script_plot.h"
#include "shell/script_statement.h"
#include "shell/script_values.h"
#include "shell/session_factory.h"
#include "shell/unicode.h"

namespace berth {

namespace {

// Of one query or answer.
constexpr QueryLimits kAnswerLimits{.rows = 50'000, .cells = 1'000'000, .bytes = std::int64_t{64} << 20};

Status check_count(const std::vector<ScriptValue>& values, std::size_t least, std::size_t most,
                   std::string_view usage) {
  if (values.size() >= least && values.size() <= most) return {};
  return Status(Code::kInvalid, fmt::format("expected {}", usage));
}

Result<std::string> text_argument(const std::vector<ScriptValue>& values, std::string_view usage) {
  BERTH_TRY(check_count(values, 1, 1, usage));
  if (const auto* text = values[0].get<std::string>()) return *text;
  return Status(Code::kInvalid, fmt::format("expected {}, found a {}", usage, values[0].type_name()));
}

// A statement and the values in it.
Result<std::string> statement_argument(const std::vector<ScriptValue>& values, std::string_view usage) {
  BERTH_TRY(check_count(values, 1, 100, usage));
  BERTH_ASSIGN(const std::string text, text_argument({values[0]}, usage));
  return fill_in(text, std::span(values).subspan(1));
}

// The one statement in the text, without `;`.
Result<std::string> one_statement(const std::string& text) {
  const StatementList list = split_statements(text);
  const std::size_t count = list.statements.size() + (list.rest.empty() ? 0 : 1);
  if (count == 1) return std::string(list.rest.empty() ? list.statements.front().text : list.rest);
  return Status(Code::kInvalid, count == 0 ? "there is no statement to run" : "expected one statement, found several",
                count == 0 ? "" : "call berth.exec for each");
}

Status check_size(const Output& output) {
  std::int64_t cells = 0;
  for (const Part& part : output.parts) {
    if (const auto* table = std::get_if<ResultTable>(&part.content))
      cells += std::ssize(table->rows) * std::ssize(table->columns);
  }
  if (cells <= kAnswerLimits.cells) return {};
  return Status(Code::kInvalid, fmt::format("the answer has more than {}", print_counted(kAnswerLimits.cells, "cell")),
                "berth.query takes a part of the tables");
}

ScriptValue arguments_value(const std::vector<std::string>& arguments) {
  ScriptTable table;
  for (const std::string& argument : arguments) {
    table.items.push_back({argument});
    const std::size_t equals = argument.find('=');
    if (equals == std::string::npos || equals == 0) continue;
    table.fields.push_back({.name = argument.substr(0, equals), .value = {argument.substr(equals + 1)}});
  }
  return {std::move(table)};
}

}  // namespace

template <class T>
Result<T> ScriptApi::noted(Result<T> result) {
  if (!result.ok()) {
    failure_ = result.status();
    const std::string hint = failure_.hint().empty() ? "" : fmt::format(" ({})", failure_.hint());
    failure_text_ = plain_line(failure_.message() + hint, kLongestScriptError);
  }
  return result;
}

Code ScriptApi::code_of(std::string_view message) const {
  return !failure_.ok() && message.ends_with(failure_text_) ? failure_.code() : Code::kInvalid;
}

// ---- reading and changing -------------------------------------------------------------------------------------------

Result<ScriptValue> ScriptApi::query(const Values& values) {
  constexpr std::string_view kUsage = "berth.query(sql, value of each ?)";
  BERTH_TRY(check_count(values, 1, 100, kUsage));
  BERTH_ASSIGN(const std::string text, text_argument({values[0]}, kUsage));
  BERTH_ASSIGN(const std::string sql, one_statement(text));
  std::vector<Cell> parameters;
  for (std::size_t i = 1; i < values.size(); ++i) {
    Result<Cell> cell = cell_of_script(values[i]);
    if (!cell.ok()) return std::move(cell).status().prefixed(fmt::format("value {}", i));
    parameters.push_back(*std::move(cell));
  }
  BERTH_ASSIGN(const ResultTable table, run_user_query(session_, sql, parameters, kAnswerLimits));
  return script_value_of(table);
}

Result<ScriptValue> ScriptApi::run_statement(const std::string& text) {
  BERTH_ASSIGN(const std::string statement, one_statement(text));
  BERTH_ASSIGN(const CommandTable::Call call, session_.commands->parse(statement));
  if (call.row->effect == Effect::kTerminal) {
    return Status(Code::kInvalid, fmt::format("'{}' is for people at a terminal, not for scripts", statement));
  }
  if (call.row->family == "sql") {
    BERTH_ASSIGN(ResultTable table, run_user_query(session_, statement, {}, kAnswerLimits));
    return script_value_of(Output(std::move(table)));
  }
  BERTH_ASSIGN(const Output output, execute(session_, statement));
  if (output.failed != Code::kOk) {
    return Status(output.failed, output.notes.empty() ? std::string("the statement failed") : output.notes.front());
  }
  BERTH_TRY(check_size(output));
  return script_value_of(output);
}

Result<ScriptValue> ScriptApi::plan(const Values& values) {
  if (values.empty()) return run_statement("PLAN SCHEDULE");
  BERTH_ASSIGN(const std::string statement, statement_argument(values, "berth.plan(statement, value of each ?)"));
  return run_statement("PLAN " + statement);
}

Result<ScriptValue> ScriptApi::exec(const Values& values) {
  BERTH_ASSIGN(const std::string statement, statement_argument(values, "berth.exec(statement, value of each ?)"));
  return run_statement(statement);
}

Result<ScriptValue> ScriptApi::simulate(const Values& values) {
  BERTH_TRY(check_count(values, 1, 1, "berth.simulate{using = {...}, from = 'jobs.csv'}"));
  BERTH_ASSIGN(const std::string statement, simulate_statement_of(values[0]));
  return run_statement(statement);
}

Result<ScriptValue> ScriptApi::backtest(const Values& values) {
  BERTH_TRY(check_count(values, 1, 1, "berth.backtest{using = {...}, from = '2026-10-01'}"));
  BERTH_ASSIGN(const std::string statement, backtest_statement_of(values[0]));
  return run_statement(statement);
}

Result<ScriptValue> ScriptApi::apply(const Values& values) {
  constexpr std::string_view kUsage = "berth.apply(plan): what berth.plan answered, or a number";
  BERTH_TRY(check_count(values, 1, 1, kUsage));
  const ScriptValue* plan = &values[0];
  if (const auto* answer = plan->get<ScriptTable>(); answer != nullptr) plan = answer->find("plan");
  if (plan == nullptr) {
    return Status(Code::kInvalid, "this was not kept as a plan, so it cannot be applied", "its notes say why");
  }
  const auto* const number = plan->get<std::int64_t>();
  if (number == nullptr) return Status(Code::kInvalid, fmt::format("expected {}", kUsage));
  return run_statement(fmt::format("APPLY PLAN {}", *number));
}

// ---- small helps ----------------------------------------------------------------------------------------------------

Result<ScriptValue> ScriptApi::now(const Values&) { return ScriptValue{session_.runtime->now().value()}; }

Result<ScriptValue> ScriptApi::time_text(const Values& values) {
  constexpr std::string_view kUsage = "berth.time_text(seconds since 1970)";
  BERTH_TRY(check_count(values, 1, 1, kUsage));
  const auto* const seconds = values[0].get<std::int64_t>();
  if (seconds == nullptr) return Status(Code::kInvalid, fmt::format("expected {}", kUsage));
  return ScriptValue{print_time(Seconds(*seconds))};
}

Result<ScriptValue> ScriptApi::quote(const Values& values) {
  BERTH_ASSIGN(const std::string text, text_argument(values, "berth.quote(text)"));
  return ScriptValue{quote_word(text)};
}

Result<ScriptValue> ScriptApi::to_json(const Values& values) {
  BERTH_TRY(check_count(values, 1, 1, "berth.to_json(value)"));
  BERTH_ASSIGN(std::string json, script_value_to_json(values[0]));
  return ScriptValue{std::move(json)};
}

// ---- transactions ---------------------------------------------------------------------------------------------------

const char* ScriptApi::begin() {
  Result<ScriptValue> begun = noted([&]() -> Result<ScriptValue> {
    BERTH_TRY(session_.runtime->begin_transaction());
    return ScriptValue();
  }());
  return begun.ok() ? nullptr : failure_text_.c_str();
}

const char* ScriptApi::commit() {
  Result<ScriptValue> committed = noted([&]() -> Result<ScriptValue> {
    BERTH_TRY(session_.runtime->commit_transaction());
    return ScriptValue();
  }());
  return committed.ok() ? nullptr : failure_text_.c_str();
}

// Upvalue: the ScriptApi. Owns nothing while Lua may jump.
template <ScriptApi::Ending kEnding>
int ScriptApi::run_in_transaction(lua_State* lua) {
  auto* const api = static_cast<ScriptApi*>(lua_touserdata(lua, lua_upvalueindex(1)));
  if (!lua_isfunction(lua, 1) || lua_gettop(lua) != 1) {
    const char* const name = kEnding == Ending::kCommit ? "transaction" : "what_if";
    return luaL_error(lua, "expected berth.%s(function() ... end)", name);
  }
  if (const char* const failure = api->begin(); failure != nullptr) return luaL_error(lua, "%s", failure);
  const int outcome = lua_pcall(lua, 0, LUA_MULTRET, 0);
  if (outcome != LUA_OK) {
    api->session_.runtime->roll_back_transaction();
    return lua_error(lua);
  }
  if (kEnding == Ending::kTakeBack) {
    api->session_.runtime->roll_back_transaction();
  } else if (const char* const failure = api->commit(); failure != nullptr) {
    return luaL_error(lua, "%s", failure);
  }
  return lua_gettop(lua);
}

// ---- output ---------------------------------------------------------------------------------------------------------

Status ScriptApi::write(Output output) {
  session_.progress->finish();
  if (session_.printer != nullptr) return session_.printer->show(output, session_.display);
  answer_.raw += output.raw;
  for (std::string& note : output.notes) answer_.notes.push_back(std::move(note));
  for (Part& part : output.parts) answer_.parts.push_back(std::move(part));
  return {};
}

Result<ScriptValue> ScriptApi::print(const Values& values) {
  std::vector<std::string> texts;
  for (const ScriptValue& value : values) texts.push_back(print_script_cell(value));
  Output output;
  output.raw = join(texts, "\t") + "\n";
  BERTH_TRY(write(std::move(output)));
  return ScriptValue();
}

Result<ScriptValue> ScriptApi::log(const Values& values) {
  BERTH_ASSIGN(const std::string text, text_argument(values, "berth.log(text)"));
  BERTH_TRY(write(Output::note(escape_controls_in_lines(text))));
  return ScriptValue();
}

Result<ScriptValue> ScriptApi::finding(const Values& values) {
  BERTH_ASSIGN(const std::string text, text_argument(values, "berth.finding(text)"));
  answer_.findings = true;
  BERTH_TRY(write(Output::note(escape_controls_in_lines(text))));
  return ScriptValue();
}

Result<ScriptValue> ScriptApi::show(const Values& values) {
  BERTH_TRY(check_count(values, 1, 2, "berth.show(rows) or berth.show(rows, columns)"));
  BERTH_ASSIGN(ResultTable table, table_of_script(values[0], values.size() == 2 ? values[1] : ScriptValue()));
  BERTH_TRY(write(Output(std::move(table))));
  return ScriptValue();
}

Result<ScriptValue> ScriptApi::plot(const Values& values) {
  BERTH_TRY(check_count(values, 1, 1, "berth.plot{series = {{name = ..., x = {...}, y = {...}}}}"));
  BERTH_ASSIGN(std::string text, draw_script_plot(values[0], chart_style(session_.display)));
  Output output;
  output.add_chart(std::move(text));
  BERTH_TRY(write(std::move(output)));
  return ScriptValue();
}

// ---- binding --------------------------------------------------------------------------------------------------------

Status ScriptApi::bind(ScriptHost& host, const std::vector<std::string>& arguments) {
  struct Row {
    std::string_view name;
    Result<ScriptValue> (ScriptApi::*function)(const Values&);
  };
  constexpr Row kFunctions[] = {
      {"query", &ScriptApi::query},         {"exec", &ScriptApi::exec},         {"plan", &ScriptApi::plan},
      {"apply", &ScriptApi::apply},         {"simulate", &ScriptApi::simulate}, {"backtest", &ScriptApi::backtest},
      {"print", &ScriptApi::print},         {"log", &ScriptApi::log},           {"finding", &ScriptApi::finding},
      {"show", &ScriptApi::show},           {"plot", &ScriptApi::plot},         {"now", &ScriptApi::now},
      {"time_text", &ScriptApi::time_text}, {"quote", &ScriptApi::quote},       {"to_json", &ScriptApi::to_json}};
  const auto called = [this](auto function) {
    return [this, function](const Values& values) { return noted((this->*function)(values)); };
  };
  for (const Row& row : kFunctions) BERTH_TRY(host.add_function("berth", row.name, called(row.function)));
  BERTH_TRY(host.add_function("", "print", called(&ScriptApi::print)));
  BERTH_TRY(host.add_native("berth", "transaction", run_in_transaction<Ending::kCommit>, this));
  BERTH_TRY(host.add_native("berth", "what_if", run_in_transaction<Ending::kTakeBack>, this));
  return host.add_value("berth", "args", arguments_value(arguments));
}

}  // namespace berth
