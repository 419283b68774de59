// RUN SCRIPT.
#include "shell/admin_script.h"
#include "shell/cmd_support.h"
#include "shell/families.h"

namespace berth {

namespace {

Result<Output> run_script_statement(Session& session, const Arguments& arguments) {
  const Options& options = arguments.options();
  AdminScript script{.file = arguments.text("file"),
                     .arguments = {},
                     .time_limit = options.given("time_limit") ? options.duration("time_limit") : Seconds(0),
                     .memory = options.memory("memory"),
                     .one_transaction = options.boolean("transaction")};
  for (const Value& argument : options.list("args")) script.arguments.push_back(argument.text);
  Result<Output> output = run_admin_script(session, script);
  if (!output.ok() && output.status().code() == Code::kUnavailable && session.script.empty())
    return blame(std::move(output).status(), arguments.span("file"));
  return output;
}

constexpr OptionRow kScriptOptions[] = {
    {.name = "args",
     .kind = "text",
     .default_value = "",
     .sentence = "What the script finds in berth.args: args = ('days=30', train).",
     .many = true},
    {.name = "time_limit",
     .kind = "duration",
     .default_value = "",
     .minimum = "1s",
     .sentence = "The script and the statement it is at are stopped after so long."},
    {.name = "memory",
     .kind = "memory",
     .default_value = "256MiB",
     .minimum = "1MiB",
     .maximum = "64GiB",
     .sentence = "That the script may hold at most."},
    {.name = "transaction",
     .kind = "boolean",
     .default_value = "false",
     .sentence = "All that the script changes becomes true together at its end, or nothing when it fails."},
};

constexpr CommandRow kScriptRows[] = {
    {.family = "scripts",
     .syntax = "RUN SCRIPT <file:file> [WITH (<options>)]",
     .effect = Effect::kReads,
     .handler = run_script_statement,
     .summary = "Runs a Lua script, which queries, makes statements, plans and reports through the table berth.",
     .example = "RUN SCRIPT 'nightly_rebalance.lua' WITH (args = 'most_lost=4', time_limit = 10m)",
     .options = kScriptOptions,
     .details =
         "berth.query(sql, values of ?) answers rows by column name; berth.exec(statement, values of ?) any "
         "statement's {rows, tables, notes, findings}; berth.plan() and berth.plan(change) also {plan}, which "
         "berth.apply() carries out; berth.simulate{using, from, ...}, berth.backtest{using, from, ...}. print() "
         "writes to standard output, as do berth.show(rows) and berth.plot{series}; berth.log() to standard error, and "
         "berth.finding(), which makes the exit code 4. berth.args, now(), time_text(), quote(), to_json(). A column "
         "that is NULL is nil, and null in to_json(). Each statement commits by itself, as in a file of statements, "
         "and is journalled with the script's name. berth.transaction(f): what f changes becomes true together, or "
         "nothing when it fails; others cannot change anything meanwhile, and no round runs in it. "
         "berth.what_if(f): the same, taken back. An error says script and line; pcall catches it. A script has no "
         "files, programs or network; it ends with Ctrl-C. A session that is read-only refuses its changes one by "
         "one. berth --script FILE ARGS... does the same."},
};

}  // namespace

std::span<const CommandRow> script_commands() { return kScriptRows; }

}  // namespace berth
