// The program: arguments, the terminal's facts, exit codes.
#include <fcntl.h>
#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>

#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "engine/base/text.h"
#include "engine/exec/supervisor.h"
#include "shell/admin_script.h"
#include "shell/command_line.h"
#include "shell/commands.h"
#include "shell/error_report.h"
#include "shell/families.h"
#include "shell/interrupt.h"
#include "shell/missing_database.h"
#include "shell/printer.h"
#include "shell/progress.h"
#include "shell/script.h"
#include "shell/session_factory.h"
#include "shell/terminal.h"

namespace berth {
namespace {

int fail(const Status& status, ExitCode code) {
  const bool color = isatty(STDERR_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
  std::fputs(describe_error(status, Source{}, 0, color).c_str(), stderr);
  return static_cast<int>(code);
}

// Descriptors 0 to 2 must be taken, or the database would get one of them. What was closed stays unusable: a write to
// standard output then fails and is told.
void keep_standard_descriptors() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) != -1) continue;
    const int wrong_direction = descriptor == 0 ? O_WRONLY : O_RDONLY;
    if (open("/dev/null", wrong_direction) != descriptor) std::exit(static_cast<int>(ExitCode::kFailed));
  }
}

// UTF-8 unless the user's locale says otherwise; nobody asked for the "C" of an empty environment.
bool set_locale() {
  std::setlocale(LC_CTYPE, "");
  const auto is_unset = [](const char* name) { return std::getenv(name) == nullptr || *std::getenv(name) == '\0'; };
  if (is_unset("LC_ALL") && is_unset("LC_CTYPE") && is_unset("LANG")) std::setlocale(LC_CTYPE, "C.UTF-8");
  return std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

int columns_of(int descriptor) {
  winsize size = {};
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

Display find_display(OutputMode mode, bool utf8_locale) {
  const bool colors = std::getenv("NO_COLOR") == nullptr || *std::getenv("NO_COLOR") == '\0';
  const char* term = std::getenv("TERM");
  const bool dumb = term == nullptr || std::strcmp(term, "dumb") == 0;
  const bool on_terminal = isatty(STDOUT_FILENO) != 0;
  Display display;
  display.mode = mode;
  display.color = on_terminal && colors && !dumb;
  display.color_messages = isatty(STDERR_FILENO) != 0 && colors && !dumb;
  display.unicode = !on_terminal || utf8_locale;
  display.is_terminal = on_terminal;
  display.width = on_terminal ? columns_of(STDOUT_FILENO) : 0;
  return display;
}

std::string database_path(const CommandLine& line) {
  if (!line.database.empty()) return line.database;
  const char* path = std::getenv("BERTH_DB");
  return path != nullptr && *path != '\0' ? path : "./berth.db";
}

ExitCode run_standard_input(Session& session) {
  Script script(session, "", true);
  std::vector<char> piece(1 << 16);
  while (!script.stopped()) {
    const ssize_t size = read(STDIN_FILENO, piece.data(), piece.size());
    if (size > 0) {
      script.feed({piece.data(), static_cast<std::size_t>(size)});
    } else if (size == 0 || errno != EINTR || session.interrupt->load()) {
      break;
    }
  }
  return script.finish();
}

ExitCode run_input(Session& session, const CommandLine::Input& input) {
  switch (input.kind) {
    case CommandLine::InputKind::kStatements: return run_script(session, input.text, "");
    case CommandLine::InputKind::kStandardInput: return run_standard_input(session);
    case CommandLine::InputKind::kScript:
      return run_answered(session, Source{}, 0, [&] {
        return run_admin_script(session, {.file = input.text, .arguments = input.arguments});
      });
    case CommandLine::InputKind::kFile: break;
  }
  const Result<ExitCode> code = run_script_file(session, input.text);
  return code.ok() ? *code : static_cast<ExitCode>(fail(code.status(), ExitCode::kFailed));
}

ExitCode run_batch(Session& session, const std::vector<CommandLine::Input>& inputs) {
  catch_interrupts(SecondInterrupt::kEndsProcess);
  ExitCode code = ExitCode::kDone;
  for (const CommandLine::Input& input : inputs) {
    code = combine(code, run_input(session, input));
    const bool stops = session.quit || session.interrupt->load() || (is_failure(code) && !session.keep_going);
    if (stops) break;
  }
  return code;
}

ExitCode run_interactive(Session& session) {
  catch_interrupts(SecondInterrupt::kIsTheSame);
  std::fprintf(stderr, "Berth %s on %s. HELP lists the statements, Ctrl-D leaves.\n", BERTH_VERSION,
               session.database.c_str());
  run_terminal(session);
  return ExitCode::kDone;
}

int run(CommandLine line) {
  if (line.inputs.empty() && isatty(STDIN_FILENO) == 0)
    line.inputs.push_back({CommandLine::InputKind::kStandardInput, "-"});
  const bool utf8_locale = set_locale();
  const SessionOptions options = {database_path(line), line.read_only, nullptr, std::nullopt};
  const bool may_create = line.inputs.empty() || line.inputs.front().kind == CommandLine::InputKind::kScript;
  const bool is_new = is_missing_database(options.database);
  Result<std::unique_ptr<Session>> opened = may_create ? open_session(options) : open_batch_session(options);
  if (!opened.ok()) return fail(opened.status(), exit_code_for(opened.status()));
  Session& session = **opened;
  Printer printer(stdout, stderr);
  session.printer = &printer;
  session.display = find_display(line.mode, utf8_locale);
  session.keep_going = line.keep_going;
  session.interrupt = &interrupt_flag();
  session.commands = &command_table();
  TerminalProgress progress(stderr, columns_of(STDERR_FILENO));
  if (isatty(STDERR_FILENO) != 0) session.progress = &progress;
  if (line.timeout > Seconds(0)) interrupt_after(static_cast<unsigned>(line.timeout.value()));
  const ExitCode code = line.inputs.empty() ? run_interactive(session) : run_batch(session, line.inputs);
  if (is_new && !line.inputs.empty() && is_failure(code)) remove_unused_database(session);
  if (has_timed_out()) {
    printer.say(fmt::format("stopped by --timeout {}\n", print_duration(line.timeout)));
    return static_cast<int>(combine(code, ExitCode::kFailed));
  }
  return static_cast<int>(code);
}

int print_data(std::string_view text) {
  Printer printer(stdout, stderr);
  Output output;
  output.add_chart(std::string(text));
  const Status status = printer.show(output, Display{});
  if (printer.reader_left()) return static_cast<int>(ExitCode::kFailed);
  return status.ok() ? 0 : fail(status, ExitCode::kFailed);
}

int start(const std::vector<std::string>& words) {
  keep_standard_descriptors();
  std::signal(SIGCHLD, SIG_DFL);  // who started us may have ignored it: then no program's exit would be known
  std::signal(SIGPIPE, SIG_IGN);  // a reader that leaves is an error of the write
  std::signal(SIGXFSZ, SIG_IGN);  // so is a limit on the size of files
  Result<CommandLine> line = read_command_line(words);
  if (!line.ok()) return fail(line.status(), ExitCode::kUsage);
  if (line->help) return print_data(usage_text());
  if (line->version) return print_data("berth " BERTH_VERSION "\n");
  return run(*std::move(line));
}

}  // namespace
}  // namespace berth

int main(int count, char** arguments) {
  // Not for people: the process that stands by running tasks (see supervisor.h).
  if (berth::is_supervisor_call(count, arguments)) return berth::supervise();
  try {
    return berth::start({arguments + (count > 0 ? 1 : 0), arguments + count});
  } catch (const std::bad_alloc&) {  // beside statements, which say so themselves
    return berth::fail(berth::out_of_memory(), berth::ExitCode::kFailed);
  }
}
