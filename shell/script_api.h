// The table `berth` of admin scripts: queries, statements, plans, transactions, output.
//
// Statements go through execute(), as if they were typed: the same grammar, handlers, checks and journal, which names
// the script. What a statement refuses is an error in the script, with its line and the statement's hint; pcall may
// catch it, and nothing of that statement is half done.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/lua/host.h"
#include "shell/session.h"

namespace berth {

class ScriptApi {
 public:
  // Both outlive the script.
  explicit ScriptApi(Session& session) : session_(session) {}
  // Before load().
  Status bind(ScriptHost& host, const std::vector<std::string>& arguments);

  // What is left to answer where nothing could be printed meanwhile, and whether there are findings.
  Output answer() && { return std::move(answer_); }
  // The code of the statement whose error `message` ends with; kInvalid when the script failed by itself.
  Code code_of(std::string_view message) const;

 private:
  using Values = std::vector<ScriptValue>;

  Result<ScriptValue> query(const Values& values);
  Result<ScriptValue> exec(const Values& values);
  Result<ScriptValue> plan(const Values& values);
  Result<ScriptValue> apply(const Values& values);
  Result<ScriptValue> simulate(const Values& values);
  Result<ScriptValue> backtest(const Values& values);
  Result<ScriptValue> print(const Values& values);
  Result<ScriptValue> log(const Values& values);
  Result<ScriptValue> finding(const Values& values);
  Result<ScriptValue> show(const Values& values);
  Result<ScriptValue> plot(const Values& values);
  Result<ScriptValue> now(const Values& values);
  Result<ScriptValue> time_text(const Values& values);
  Result<ScriptValue> quote(const Values& values);
  Result<ScriptValue> to_json(const Values& values);

  Result<ScriptValue> run_statement(const std::string& text);
  Status write(Output output);
  // Remembers what failed, for code_of().
  template <class T>
  Result<T> noted(Result<T> result);

  // berth.transaction(f) and berth.what_if(f), whose work is taken back.
  enum class Ending { kCommit, kTakeBack };
  template <Ending kEnding>
  static int run_in_transaction(lua_State* lua);
  // Null, or what is wrong.
  const char* begin();
  const char* commit();

  Session& session_;
  Output answer_;
  Status failure_;
  std::string failure_text_;
};

}  // namespace berth
