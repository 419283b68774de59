#include "shell/command_line.h"

#include <algorithm>
#include <array>

#include "engine/base/text.h"
#include "shell/render.h"

namespace berth {

namespace {

constexpr std::array<std::string_view, 10> kOptionNames = {
    "--db", "--mode", "--json", "--read-only", "--keep-going", "--timeout", "--script", "-c", "--help", "--version"};

constexpr std::string_view kProgramUsage = R"(berth - schedules a GPU cluster from one SQLite file

usage: berth [options] [-c STATEMENTS | FILE | -] ... [--script FILE [ARGUMENT] ...]

  -c STATEMENTS   run these statements
  FILE            run the statements of a file; - is standard input
                  (nothing: the interactive shell, or standard input when it is a pipe)
  --script FILE   run a Lua script; all that follows are its arguments (HELP RUN SCRIPT)

  --db FILE       the database; default $BERTH_DB, else ./berth.db; created by the
                  interactive shell, --script, and statements that begin one
                  (CREATE, IMPORT, SET, GENERATE, SIMULATE, SNAPSHOT LOAD)
  --mode MODE     table, csv, json, jsonl, markdown or line
  --json          the same as --mode json
  --read-only     refuse statements that change the database
  --keep-going    go on after an error; the exit code still tells it
  --timeout TIME  stop after so long, as Ctrl-C would: 90s, 5m; exit code 1
  --help          this text; the statement HELP explains the statements
  --version       the version

Results go to standard output, everything else to standard error.
--json: a statement that answers prints one JSON value, an array with an object per row; one that answers with several
tables an object with such an array for each. Which of both is the statement's, whatever the data. Other statements
print nothing.
--mode csv is for programs: cells are as they are, also those that begin with =; EXPORT guards them for spreadsheets.
exit codes: 0 done, 1 failed, 2 wrong usage, 3 busy (another round is running), 4 done with findings
)";

Status unknown_option(std::string_view option) {
  const std::vector<std::string> names(kOptionNames.begin(), kOptionNames.end());
  const std::string hint = option.starts_with("--") ? suggest(option, names) : std::string();
  return Status(Code::kInvalid, "unknown option '" + std::string(option) + "'",
                hint.empty() ? "berth --help lists the options" : hint);
}

// Walks the arguments; an option's value is the next one, or follows `=`.
class CommandLineReader {
 public:
  explicit CommandLineReader(const std::vector<std::string>& arguments) : arguments_(arguments) {}

  Result<CommandLine> read() {
    while (next_ < arguments_.size()) BERTH_TRY(read_one());
    return std::move(line_);
  }

 private:
  Status read_one() {
    std::string argument = arguments_[next_++];
    if (only_files_ || argument == "-" || !argument.starts_with('-')) {
      add_file(std::move(argument));
      return {};
    }
    const std::size_t equals = argument.starts_with("--") ? argument.find('=') : std::string::npos;
    has_value_ = equals != std::string::npos;
    if (has_value_) value_ = argument.substr(equals + 1);
    const std::string option = argument.substr(0, equals);
    if (option == "--db") return take_value(option, line_.database);
    if (option == "--mode") return take_mode(option);
    if (option == "--timeout") return take_timeout(option);
    if (option == "-c") return take_statements(option);
    if (option == "--script") return take_script(option);
    if (has_value_ && std::find(kOptionNames.begin(), kOptionNames.end(), option) != kOptionNames.end()) {
      return Status(Code::kInvalid, "option '" + option + "' takes no value");
    }
    return take_flag(option);
  }

  Status take_flag(const std::string& option) {
    if (option == "--json") {
      line_.mode = OutputMode::kJson;
    } else if (option == "--read-only") {
      line_.read_only = true;
    } else if (option == "--keep-going") {
      line_.keep_going = true;
    } else if (option == "--help" || option == "-h") {
      line_.help = true;
    } else if (option == "--version") {
      line_.version = true;
    } else if (option == "--") {
      only_files_ = true;
    } else {
      return unknown_option(option);
    }
    return {};
  }

  Status take_value(const std::string& option, std::string& into) {
    if (!has_value_) {
      if (next_ == arguments_.size()) return Status(Code::kInvalid, "option '" + option + "' needs a value");
      value_ = arguments_[next_++];
    }
    into = value_;
    return into.empty() ? Status(Code::kInvalid, "option '" + option + "' needs a value") : Status();
  }

  Status take_mode(const std::string& option) {
    std::string name;
    BERTH_TRY(take_value(option, name));
    BERTH_ASSIGN(line_.mode, read_output_mode(name));
    return {};
  }

  Status take_timeout(const std::string& option) {
    std::string text;
    BERTH_TRY(take_value(option, text));
    Result<Seconds> timeout = read_duration(text);
    if (!timeout.ok()) return std::move(timeout).status().prefixed("option '--timeout'");
    if (*timeout < Seconds(1)) return Status(Code::kInvalid, "option '--timeout' is at least 1s");
    line_.timeout = *timeout;
    return {};
  }

  Status take_statements(const std::string& option) {
    std::string statements;
    if (!has_value_ && next_ < arguments_.size() && arguments_[next_].empty()) {
      ++next_;  // an empty script
    } else {
      BERTH_TRY(take_value(option, statements));
    }
    line_.inputs.push_back({CommandLine::InputKind::kStatements, std::move(statements)});
    return {};
  }

  // What follows the script is the script's, whatever it looks like.
  Status take_script(const std::string& option) {
    std::string file;
    BERTH_TRY(take_value(option, file));
    const auto rest = arguments_.begin() + static_cast<std::ptrdiff_t>(next_);
    line_.inputs.push_back({CommandLine::InputKind::kScript, std::move(file), {rest, arguments_.end()}});
    next_ = arguments_.size();
    return {};
  }

  void add_file(std::string name) {
    const auto kind =
        name == "-" && !only_files_ ? CommandLine::InputKind::kStandardInput : CommandLine::InputKind::kFile;
    line_.inputs.push_back({kind, std::move(name)});
  }

  const std::vector<std::string>& arguments_;
  std::size_t next_ = 0;
  bool has_value_ = false;
  std::string value_;
  bool only_files_ = false;
  CommandLine line_;
};

}  // namespace

Result<CommandLine> read_command_line(const std::vector<std::string>& arguments) {
  return CommandLineReader(arguments).read();
}

std::string_view usage_text() { return kProgramUsage; }

}  // namespace berth
