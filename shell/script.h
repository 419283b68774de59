// Runs statements from a file, a pipe or the command line, one after the other, as if they were typed.
//
// Each statement is executed and its answer printed before the next is looked at. An error is reported with its place;
// the script then stops, unless the session keeps going. A last statement without `;` is run too.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "shell/error_report.h"
#include "shell/lexer.h"
#include "shell/session.h"

namespace berth {

// Exit codes of the program.
enum class ExitCode : int { kDone = 0, kFailed = 1, kUsage = 2, kBusy = 3, kFindings = 4 };

ExitCode exit_code_for(Code code);
ExitCode exit_code_for(const Status& status);
// What a run that had `first` and then `second` ends with: the first failure, else findings, else done.
ExitCode combine(ExitCode first, ExitCode second);
bool is_failure(ExitCode code);

// Prints what `run` answers, or its error, through session.printer; `offset` is where it begins in `source`.
ExitCode run_answered(Session& session, const Source& source, std::size_t offset,
                      const std::function<Result<Output>()>& run);
// Executes one statement of `source` and prints what it answers.
ExitCode run_statement(Session& session, const Source& source, const StatementText& statement);

// Text that may arrive in pieces; statements run as soon as they are complete.
class Script {
 public:
  // `name` of the file, empty for -c and standard input; `show_line`: errors tell the line number.
  Script(Session& session, std::string name, bool show_line)
      : session_(session), name_(std::move(name)), show_line_(show_line) {}

  void feed(std::string_view text);
  ExitCode finish();
  bool stopped() const { return stopped_; }

 private:
  void run_buffer(std::string_view complete_lines, bool is_end);
  void run_one(const Source& source, const StatementText& statement);

  Session& session_;
  std::string name_;
  bool show_line_;
  std::string buffer_;
  std::size_t line_ = 1;  // of the buffer's start
  ExitCode code_ = ExitCode::kDone;
  bool stopped_ = false;
  bool is_start_ = true;  // of the text: its first line is not whole yet
};

// All of a text; lines are told when there are several.
ExitCode run_script(Session& session, std::string_view text, const std::string& name);
// A script in Lua. kUnavailable when the file cannot be read, kInvalid when it is longer than any script.
Result<std::string> read_script_file(const Session& session, const std::string& file);
// Of statements, of any length; kUnavailable when the file cannot be read.
Result<ExitCode> run_script_file(Session& session, const std::string& file);

}  // namespace berth
