// A shell whose clock its input moves, for checkers in any language: clock_shell DATABASE [FIRST_SECOND] < LINES
//
// A line is one statement, or
//   @advance 90s       time passes; otherwise it stands still
//   @round             RUN SCHEDULE
//   @now               writes the seconds since 1970
//   @csv @json @table  how answers look, CSV at first
// It writes "> LINE", notes as "-- NOTE", errors as the shell prints them, and the answer. FIRST_SECOND is 2026-01-01
// UTC unless given; a database used before needs a second not before its last one.
#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <string>

#include "engine/base/env.h"
#include "engine/base/text.h"
#include "shell/commands.h"
#include "shell/error_report.h"
#include "shell/printer.h"
#include "shell/render.h"
#include "shell/session_factory.h"

namespace {

using namespace berth;

class ClockShell {
 public:
  ClockShell(Seconds first, std::string database) : clock_(first), printer_(stdout, stdout) {
    options_.database = std::move(database);
    options_.env = &clock_;
    display_.mode = OutputMode::kCsv;
    display_.null_text = "NULL";
  }

  Status open() {
    BERTH_ASSIGN(session_, open_session(options_));
    session_->printer = &printer_;
    return {};
  }

  void run(std::string_view line) {
    fmt::print("> {}\n", line);
    if (line == "@round") line = "RUN SCHEDULE";
    const Status done = line.front() == '@' ? follow(line.substr(1)) : answer(line);
    if (!done.ok()) fmt::print("{}\n", describe_error(done, {"", std::string(line), 1, false}, 0, false));
    std::fflush(stdout);
  }

 private:
  Status follow(std::string_view word) {
    if (word.starts_with("advance ")) {
      Seconds by;
      BERTH_ASSIGN(by, read_duration(word.substr(word.find(' ') + 1)));
      clock_.advance(by);
    } else if (word == "now") {
      fmt::print("{}\n", clock_.now().value());
    } else if (word == "csv") {
      display_.mode = OutputMode::kCsv;
    } else if (word == "json") {
      display_.mode = OutputMode::kJson;
    } else if (word == "table") {
      display_.mode = OutputMode::kTable;
    } else {
      return Status(Code::kInvalid, fmt::format("'@{}' is none of @advance, @round, @now, @csv, @json, @table", word));
    }
    return {};
  }

  Status answer(std::string_view statement) {
    Output output;
    BERTH_ASSIGN(output, execute(*session_, statement));
    for (const std::string& note : output.notes) fmt::print("-- {}\n", note);
    fmt::print("{}{}", output.raw, render(output, display_));
    return output.failed == Code::kOk ? Status() : Status(output.failed, "the statement failed");
  }

  ManualEnv clock_;
  Printer printer_;
  SessionOptions options_;
  Display display_;
  std::unique_ptr<Session> session_;
};

}  // namespace

int main(int count, char** arguments) {
  if (count < 2 || count > 3) return fmt::print(stderr, "clock_shell DATABASE [FIRST_SECOND] < LINES\n"), 2;
  const Result<std::int64_t> first = read_integer(count == 3 ? arguments[2] : "1767225600");
  if (!first.ok()) return fmt::print(stderr, "{}\n", first.status().message()), 2;
  ClockShell shell(Seconds{*first}, arguments[1]);
  if (const Status opened = shell.open(); !opened.ok()) return fmt::print("error: {}\n", opened.message()), 1;
  for (std::string line; std::getline(std::cin, line);) {
    const std::string_view text = trim(line);
    if (!text.empty() && text.front() != '#') shell.run(text.ends_with(';') ? text.substr(0, text.size() - 1) : text);
  }
  return 0;
}
