// HELP, and the dot commands, which concern this terminal only.
#include <array>

#include "engine/base/text.h"
#include "shell/cmd_support.h"
#include "shell/families.h"
#include "shell/help.h"
#include "shell/output_file.h"
#include "shell/printer.h"
#include "shell/render.h"
#include "shell/script.h"

namespace berth {

namespace {

constexpr int kDeepestRead = 16;
constexpr int kHelpWidth = 100;  // of help in a file or pipe

Result<Output> show_help(Session& session, const Arguments& arguments) {
  const int width = session.display.width > 0 ? session.display.width : kHelpWidth;
  if (!arguments.has("words")) return help_overview(*session.commands, width);
  return help_on(*session.commands, arguments.list("words"), width);
}

Result<Output> set_mode(Session& session, const Arguments& arguments) {
  if (!arguments.has("mode")) return Output::note("mode: " + std::string(output_mode_name(session.display.mode)));
  BERTH_ASSIGN(session.display.mode, read_output_mode(arguments.text("mode")));
  return Output();
}

Status need_printer(const Session& session) {
  return session.printer != nullptr ? Status() : Status(Code::kUnavailable, "this session has no terminal");
}

Result<Output> set_output(Session& session, const Arguments& arguments) {
  BERTH_TRY(need_printer(session));
  const std::string file = arguments.text_or("file", "stdout");
  if (arguments.has("file")) BERTH_TRY(blame(check_not_database(file, session.database), arguments.span("file")));
  BERTH_TRY(session.printer->redirect(file));
  return Output();
}

Result<Output> read_script(Session& session, const Arguments& arguments) {
  BERTH_TRY(need_printer(session));
  if (session.read_depth >= kDeepestRead) {
    return arguments.fail(
        "file", Code::kInvalid,
        "files that .read one another are nested more than " + std::to_string(kDeepestRead) + " deep");
  }
  ++session.read_depth;
  Result<ExitCode> code = run_script_file(session, arguments.text("file"));
  --session.read_depth;
  if (!code.ok()) return std::move(code).status().at(arguments.span("file"));
  Output output;
  if (is_failure(*code)) output.failed = *code == ExitCode::kBusy ? Code::kBusy : Code::kConflict;
  output.findings = *code == ExitCode::kFindings;
  return output;
}

Result<Output> set_timer(Session& session, const Arguments& arguments) {
  session.display.timer = arguments.integer("state") != 0;
  return Output();
}

Result<Output> set_widths(Session& session, const Arguments& arguments) {
  std::vector<int> widths;
  for (const Value& width : arguments.list("widths")) {
    if (width.integer < 0 || width.integer > 10000) {
      return Status(Code::kInvalid, "a column is 0 (as needed) to 10000 wide, found '" + width.text + "'")
          .at(width.span);
    }
    widths.push_back(static_cast<int>(width.integer));
  }
  session.display.column_widths = std::move(widths);
  return Output();
}

Result<Output> set_null_text(Session& session, const Arguments& arguments) {
  session.display.null_text = arguments.text_or("text", "");
  return Output();
}

Result<Output> list_tables(Session& session, const Arguments&) {
  ResultTable table{"", {{"table"}}, {}};
  if (session.names) {
    for (const std::string& name : session.names("table", "")) table.rows.push_back({name});
  }
  return Output(std::move(table));
}

Result<Output> show_schema(Session& session, const Arguments& arguments) {
  if (!session.run_sql) return Status(Code::kUnavailable, "this session has no database");
  std::string sql = "SELECT name AS \"table\", sql AS definition FROM sqlite_schema WHERE sql IS NOT NULL";
  if (arguments.has("table")) {
    std::string quoted = "'";
    for (const char c : arguments.text("table")) quoted.append(c == '\'' ? 2 : 1, c);
    sql += " AND tbl_name = " + quoted + "'";
  }
  BERTH_ASSIGN(ResultTable table, session.run_sql(sql + " ORDER BY type = 'index', tbl_name, name"));
  if (table.rows.empty() && arguments.has("table")) return unknown_table(session, arguments);
  std::string text;
  for (const std::vector<Cell>& row : table.rows) text += std::get<std::string>(row[1]) + ";\n";
  Output output;
  output.add(std::move(table), Audience::kPrograms);
  output.add_chart(std::move(text));
  return output;
}

Result<Output> quit(Session& session, const Arguments&) {
  session.quit = true;
  return Output();
}

constexpr std::array kShellRows = {
    CommandRow{.family = "help",
               .syntax = "HELP [<words:statement_word> ...]",
               .effect = Effect::kReads,
               .handler = show_help,
               .summary = "Lists the statements, or tells all about those that begin with these words.",
               .example = "HELP CREATE NODES"},
    CommandRow{.family = "terminal",
               .syntax = ".help [<words:statement_word> ...]",
               .effect = Effect::kTerminal,
               .handler = show_help,
               .summary = "The same as HELP.",
               .example = ".help .mode"},
    CommandRow{.family = "terminal",
               .syntax = ".mode [<mode:table|csv|json|jsonl|markdown|line>]",
               .effect = Effect::kTerminal,
               .handler = set_mode,
               .summary = "How results are printed; alone, tells how.",
               .example = ".mode json"},
    CommandRow{.family = "terminal",
               .syntax = ".output [<file:file>]",
               .effect = Effect::kTerminal,
               .handler = set_output,
               .summary = "Writes results to a file from now on; alone or with stdout, to the terminal again.",
               .example = ".output nodes.csv"},
    CommandRow{.family = "terminal",
               .syntax = ".read <file:file>",
               .effect = Effect::kTerminal,
               .handler = read_script,
               .summary = "Runs the statements of a file.",
               .example = ".read cluster.sql"},
    CommandRow{.family = "terminal",
               .syntax = ".timer <state:boolean>",
               .effect = Effect::kTerminal,
               .handler = set_timer,
               .summary = "Tells after each statement how long it took.",
               .example = ".timer on"},
    CommandRow{.family = "terminal",
               .syntax = ".width [<widths:integer> ...]",
               .effect = Effect::kTerminal,
               .handler = set_widths,
               .summary = "Widths of the columns in table mode, 0 = as needed; alone, as needed for all.",
               .example = ".width 20 0 8"},
    CommandRow{.family = "terminal",
               .syntax = ".nullvalue [<text:text>]",
               .effect = Effect::kTerminal,
               .handler = set_null_text,
               .summary = "What is printed for NULL (not in JSON); alone, nothing.",
               .example = ".nullvalue NULL"},
    CommandRow{.family = "terminal",
               .syntax = ".tables",
               .effect = Effect::kTerminal,
               .handler = list_tables,
               .summary = "Lists the tables and views that SELECT reads.",
               .example = ".tables"},
    CommandRow{.family = "terminal",
               .syntax = ".schema [<table:table>]",
               .effect = Effect::kTerminal,
               .handler = show_schema,
               .summary = "Shows how tables and views are defined.",
               .example = ".schema nodes"},
    CommandRow{.family = "terminal",
               .syntax = "{.quit | .exit | QUIT | EXIT}",
               .effect = Effect::kTerminal,
               .handler = quit,
               .summary = "Leaves the shell (also Ctrl-D).",
               .example = ".quit"},
};

}  // namespace

std::span<const CommandRow> shell_commands() { return kShellRows; }

}  // namespace berth
