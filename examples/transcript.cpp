// Runs an example and prints it as it would look in a terminal: every statement after a prompt, its answer below.
//
//   transcript DATABASE SESSION     e.g. transcript /tmp/demo.db examples/demo/session.sql
//
// The statements run through the shell's own code, on a clock that starts at 2026-01-05 09:00:00 UTC and moves one
// minute a statement, by a user named ann; a comment line "-- 9h later" moves it by that much more. Measured columns
// (speed, memory) are left out. So the same example gives the same bytes, and examples/*/expected.txt can be compared
// with it. Answers and messages both go to standard output. Goes on after an error, as a person would. Exit code 0 once
// all was run; 2 when the arguments or files are not usable.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <variant>

#include "engine/base/text.h"
#include "shell/commands.h"
#include "shell/error_report.h"
#include "shell/lexer.h"
#include "shell/printer.h"
#include "shell/session_factory.h"

namespace berth {
namespace {

constexpr Seconds kStart{1767603600};  // 2026-01-05 09:00:00 UTC
constexpr Seconds kStep{60};
constexpr int kWidth = 120;

bool is_measured(std::string_view column) {
  return column == "decisions_per_second" || column == "peak_memory_mib" || column.ends_with("_seconds");
}

void drop_measured(Output& output) {
  for (Part& part : output.parts) {
    ResultTable* table = std::get_if<ResultTable>(&part.content);
    if (table == nullptr) continue;
    for (std::size_t column = table->columns.size(); column-- > 0;) {
      if (!is_measured(table->columns[column].name)) continue;
      const auto at = static_cast<std::ptrdiff_t>(column);
      table->columns.erase(table->columns.begin() + at);
      for (auto& row : table->rows) row.erase(row.begin() + at);
    }
  }
}

// "berth> " before the first line, "  ...> " before the others.
std::string typed(std::string_view statement) {
  std::string text = "berth> ";
  for (const char c : statement) {
    text += c;
    if (c == '\n') text += "  ...> ";
  }
  return text + '\n';
}

// An empty line, and the comments between two statements, if there are any.
std::string between(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \n");
  if (begin == std::string_view::npos) return "\n";
  return fmt::format("\n{}\n", text.substr(begin, text.find_last_not_of(" \n") + 1 - begin));
}

// What the comment lines "-- 9h later" between two statements come to.
Seconds time_passed(std::string_view text) {
  constexpr std::string_view kBegin = "-- ";
  constexpr std::string_view kEnd = " later";
  Seconds passed;
  for (std::string_view line : split(text, '\n')) {
    line = trim(line);
    if (!line.starts_with(kBegin) || !line.ends_with(kEnd)) continue;
    line.remove_prefix(kBegin.size());
    line.remove_suffix(std::min(line.size(), kEnd.size()));
    const Result<Seconds> time = read_duration(line);
    if (time.ok()) passed += *time;
  }
  return passed;
}

void run(Session& session, ManualEnv& clock, const std::string& text) {
  std::size_t done = 0;
  for (const StatementText& statement : split_statements(text).statements) {
    const std::string_view before = std::string_view(text).substr(done, statement.offset - done);
    session.printer->say(between(before));
    clock.advance(time_passed(before));
    const bool is_dot_command = statement.text.starts_with('.');
    done = statement.offset + statement.text.size() + (is_dot_command ? 0 : 1);
    session.printer->say(typed(std::string_view(text).substr(statement.offset, done - statement.offset)));
    Result<Output> output = execute(session, statement.text);
    Status status = output.status();
    if (output.ok()) {
      drop_measured(*output);
      status = session.printer->show(*output, session.display);
    }
    if (!status.ok()) session.printer->say(describe_error(status, Source{"", text}, statement.offset, false));
    clock.advance(kStep);
  }
}

int fail(const std::string& message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  return 2;
}

int run_example(const std::string& database, const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  if (text.str().empty()) return fail("cannot read " + file);
  ManualEnv clock(kStart);
  const Result<std::unique_ptr<Session>> opened =
      open_session({.database = database, .read_only = false, .env = &clock, .seed = std::nullopt, .actor = "ann"});
  if (!opened.ok()) return fail(opened.status().message());
  Session& session = **opened;
  Printer printer(stdout, stdout);
  session.printer = &printer;
  session.display.width = kWidth;
  run(session, clock, text.str());
  return 0;
}

}  // namespace
}  // namespace berth

int main(int count, char** arguments) {
  if (count != 3) return berth::fail("usage: transcript DATABASE SESSION");
  return berth::run_example(arguments[1], arguments[2]);
}
