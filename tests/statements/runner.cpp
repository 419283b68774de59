#include "tests/statements/runner.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "engine/base/env.h"
#include "engine/base/text.h"
#include "shell/cells.h"
#include "shell/commands.h"
#include "shell/error_report.h"
#include "shell/families.h"
#include "shell/lexer.h"
#include "shell/printer.h"
#include "shell/render.h"
#include "shell/session_factory.h"
#include "tests/statements/past.h"
#include "tests/statements/replay.h"
#include "tests/statements/test_file.h"

namespace berth::test {

namespace {

namespace fs = std::filesystem;
constexpr Seconds kStart{1767225600};  // 2026-01-01 00:00:00 UTC
constexpr std::string_view kEmptyLine = "<empty>";

Result<std::string> read_text_file(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  if (!stream || !(text << stream.rdbuf())) return Status(Code::kUnavailable, "cannot read '" + file + "'");
  return text.str();
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.empty()) return lines;
  for (const std::string_view line : split(text, '\n')) lines.emplace_back(line);
  return lines;
}

std::string indented(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += "    " + line + "\n";
  return text;
}

// A folder that goes with its object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "berth_test_XXXXXX").string();
    path_ = mkdtemp(pattern.data()) != nullptr ? pattern : std::string();
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// What scripts print while they run.
class Printed {
 public:
  Printed() : file_(open_memstream(&text_, &size_)) {}
  ~Printed() {
    std::fclose(file_);
    std::free(text_);
  }
  Printed(const Printed&) = delete;
  Printed& operator=(const Printed&) = delete;

  std::FILE* file() const { return file_; }
  // Since the last call.
  std::string take() {
    std::fflush(file_);
    const std::size_t begin = std::exchange(taken_, size_);
    return std::string(text_ + begin, size_ - begin);
  }

 private:
  char* text_ = nullptr;
  std::size_t size_ = 0;
  std::size_t taken_ = 0;
  std::FILE* file_;
};

// What one statement did.
struct Answer {
  Status status;
  Output output;
  std::string report;  // of an error, as printed
};

class FileRunner {
 public:
  FileRunner(std::string file, const TestMode& mode)
      : file_(std::move(file)), mode_(mode), clock_(kStart), printer_(data_.file(), messages_.file()) {
    variables_["DIR"] = fs::path(file_).parent_path().string();
    variables_["TMP"] = folder_.path();
    const char* shared = std::getenv("BERTH_SHARED");
    // Whom events name.
    const passwd* user = getpwuid(geteuid());
    variables_["ACTOR"] = user != nullptr ? user->pw_name : std::to_string(geteuid());
    variables_["SHARED"] = shared != nullptr ? shared : "../shared";
    options_.database = folder_.path() + "/test.db";
    options_.env = &clock_;
  }

  FileOutcome run(const TestFile& file) {
    run_steps(file.steps, file_, true);
    if (outcome_.skipped.empty() && outcome_.failures.empty() && mode_.keep_history) check_past();
    if (outcome_.skipped.empty() && outcome_.failures.empty() && command_table().parse("CHECK").ok()) check_promises();
    return std::move(outcome_);
  }

  // What queries and outputs answered, by the line of their ----.
  struct Approved {
    std::size_t begin;
    std::size_t end;
    std::vector<std::string> lines;
  };
  const std::vector<Approved>& approved() const { return approved_; }

 private:
  void fail(const std::string& file, const TestStep& step, const std::string& why) {
    outcome_.failures.push_back(file + ":" + std::to_string(step.line) + ": " + why);
  }

  // False when the file must not go on.
  bool run_steps(const std::vector<TestStep>& steps, const std::string& file, bool may_approve) {
    return std::all_of(steps.begin(), steps.end(),
                       [&](const TestStep& step) { return run_step(step, file, may_approve); });
  }

  bool run_step(const TestStep& step, const std::string& file, bool may_approve) {
    ++outcome_.steps;
    switch (step.type) {
      case TestStep::Type::kStatementOk:
      case TestStep::Type::kStatementError:
      case TestStep::Type::kStatementFindings:
      case TestStep::Type::kQuery:
      case TestStep::Type::kOutput: run_statement_step(step, file, may_approve); return true;
      case TestStep::Type::kRound: return run_rounds(step, file);
      case TestStep::Type::kAdvance: return advance(step, file);
      case TestStep::Type::kRestart: return restart(step, file);
      case TestStep::Type::kSeed: return set_seed(step, file);
      case TestStep::Type::kInclude: return run_include(step, file);
      case TestStep::Type::kRequire: return require(step, file);
      case TestStep::Type::kSkip: return !skips_mode(step);
      case TestStep::Type::kLoop: break;
    }
    for (const std::string& word : step.words) {
      variables_[step.text] = word;
      if (!run_steps(step.body, file, false)) return false;
    }
    variables_.erase(step.text);
    return true;
  }

  std::string substitute(std::string text) const {
    for (const auto& [name, value] : variables_) {
      const std::string mark = "${" + name + "}";
      for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + value.size())) {
        text.replace(at, mark.size(), value);
      }
    }
    return text;
  }

  // ---- sessions -----------------------------------------------------------------------------------------------------

  Status open() {
    if (session_) return {};
    BERTH_ASSIGN(session_, open_session(options_));
    session_->display = display_;
    session_->printer = &printer_;
    return {};
  }
  void close() {
    if (session_) display_ = session_->display;
    session_.reset();
  }

  Answer execute_text(const std::string& text) {
    Answer answer;
    answer.status = open();
    if (answer.status.ok()) {
      const StatementList list = split_statements(text);
      const bool alone = list.statements.size() + (list.rest.empty() ? 0 : 1) == 1;
      const std::string_view statement = !alone ? text : list.statements.empty() ? list.rest : list.statements[0].text;
      const std::size_t offset = !alone ? 0 : list.statements.empty() ? list.rest_offset : list.statements[0].offset;
      if (const Status same = replay(statement); !same.ok()) {
        outcome_.failures.push_back(file_ + ": " + std::string(statement) + ": " + same.message());
      }
      Result<Output> output = execute(*session_, statement);
      answer.status = output.status();
      if (output.ok()) answer.output = *std::move(output);
      add_printed(answer.output);
      if (answer.output.failed != Code::kOk && !answer.output.findings)
        answer.status = Status(answer.output.failed, "failed, and told already");
      if (!answer.status.ok()) answer.report = describe_error(answer.status, {"", text, 1, false}, offset, false);
      if (const Status kept = mode_.keep_history ? past_.keep(*session_) : Status(); !kept.ok()) {
        outcome_.failures.push_back(file_ + ": " + std::string(statement) + ": " + kept.message());
      }
    } else {
      answer.report = answer.status.message();
    }
    if (mode_.reopen_after_statement) close();
    return answer;
  }

  // Beside the answer, what was printed before it.
  void add_printed(Output& output) {
    output.raw.insert(0, data_.take());
    std::vector<std::string> notes = lines_of(messages_.take());
    output.notes.insert(output.notes.begin(), notes.begin(), notes.end());
  }

  Status replay(std::string_view statement) {
    if (!mode_.replay_rounds || session_->read_only || !plans_a_round(statement)) return {};
    return replay_round(*session_, statement, options_, folder_.path() + "/replayed.db");
  }

  // ---- statements ---------------------------------------------------------------------------------------------------

  void run_statement_step(const TestStep& step, const std::string& file, bool may_approve) {
    const Answer answer = execute_text(substitute(step.text));
    if (step.type == TestStep::Type::kStatementError) return expect_error(step, file, answer);
    if (!answer.status.ok()) return fail(file, step, step.text + "\n" + indented(lines_of(answer.report)));
    const bool wants_findings = step.type == TestStep::Type::kStatementFindings;
    if (step.type != TestStep::Type::kQuery && step.type != TestStep::Type::kOutput &&
        answer.output.findings != wants_findings) {
      return fail(file, step,
                  step.text + (wants_findings ? "\n    reported no findings\n" : "\n    reported findings\n"));
    }
    if (step.type == TestStep::Type::kQuery) {
      expect_lines(step, file, rows_of(answer.output, step.sorted), may_approve);
    } else if (step.type == TestStep::Type::kOutput) {
      expect_output(step, file, answer.output, may_approve);
    } else {
      expect_contains(step, file, join(answer.output.notes, "\n"));
    }
    if (!mode_.then.empty()) run_then(step, file);
  }

  void run_then(const TestStep& step, const std::string& file) {
    const Answer answer = execute_text(mode_.then);
    // Before the first round there is nothing to replay.
    const bool has_none =
        !answer.output.notes.empty() && answer.output.notes.back().starts_with("no round of these has a record");
    if (!answer.status.ok() || (answer.output.findings && !has_none)) {
      fail(file, step,
           step.text + "\n    then " + mode_.then + " failed: " + answer.report + "\n" +
               indented(lines_of(render(answer.output, {}))));
    }
  }

  void expect_error(const TestStep& step, const std::string& file, const Answer& answer) {
    if (answer.status.ok()) return fail(file, step, step.text + "\n    succeeded, an error was expected\n");
    expect_contains(step, file, answer.report);
  }

  void expect_contains(const TestStep& step, const std::string& file, const std::string& text) {
    for (const std::string& line : step.expected) {
      if (text.find(substitute(line)) != std::string::npos) continue;
      fail(file, step,
           step.text + "\n  expected in the answer:\n    " + line + "\n  got:\n" + indented(lines_of(text)));
    }
  }

  void expect_output(const TestStep& step, const std::string& file, const Output& output, bool may_approve) {
    const std::string text = render(output, display_of_output());
    if (step.contains) return expect_contains(step, file, text);
    std::vector<std::string> lines = lines_of(text);
    expect_lines(step, file, std::move(lines), may_approve);
  }

  Display display_of_output() const {
    Display display = session_ ? session_->display : display_;
    display.null_text = "NULL";
    return display;
  }

  void expect_lines(const TestStep& step, const std::string& file, std::vector<std::string> lines, bool may_approve) {
    std::vector<std::string> expected;
    for (const std::string& line : step.expected) expected.push_back(substitute(line));
    if (step.sorted) std::sort(expected.begin(), expected.end());
    if (lines == expected) return;
    if (may_approve && step.expected_begin != 0) {
      approved_.push_back({step.expected_begin, step.expected_end, lines});
    }
    fail(file, step, step.text + "\n  expected:\n" + indented(expected) + "  got:\n" + indented(lines));
  }

  static std::vector<std::string> rows_of(const Output& output, bool sorted) {
    Display display;
    display.mode = OutputMode::kCsv;
    display.null_text = "NULL";
    std::vector<std::string> rows;
    for (const Part& part : output.parts) {
      const auto* table = std::get_if<ResultTable>(&part.content);
      if (table == nullptr || part.audience == Audience::kPeople) continue;
      std::vector<std::string> lines = lines_of(render_csv(*table, display));
      rows.insert(rows.end(), lines.begin() + 1, lines.end());
    }
    if (sorted) std::sort(rows.begin(), rows.end());
    return rows;
  }

  void check_promises() {
    close();
    const Answer answer = execute_text("CHECK");
    if (answer.status.ok() && !answer.output.findings) return;
    TestStep end;
    fail(file_, end, "CHECK at the end:\n" + answer.report + indented(lines_of(render(answer.output, {}))));
  }

  void check_past() {
    const TestStep end;
    if (!open().ok()) return;
    const Result<std::vector<std::string>> differences = past_.differences(*session_);
    if (!differences.ok()) return fail(file_, end, "the past: " + differences.status().message());
    for (const std::string& difference : *differences) fail(file_, end, "the past: " + difference);
  }

  // ---- other directives ---------------------------------------------------------------------------------------------

  bool run_rounds(const TestStep& step, const std::string& file) {
    const Result<std::int64_t> count =
        step.text.empty() ? Result<std::int64_t>(1) : read_integer(substitute(step.text));
    if (!count.ok()) return stop(step, file, count.status().message());
    for (std::int64_t i = 0; i < *count; ++i) {
      const Answer answer = execute_text("RUN SCHEDULE");
      if (!answer.status.ok()) fail(file, step, "round:\n" + indented(lines_of(answer.report)));
    }
    return true;
  }

  bool stop(const TestStep& step, const std::string& file, const std::string& why) {
    fail(file, step, why);
    return false;
  }

  bool advance(const TestStep& step, const std::string& file) {
    const Result<Seconds> by = read_duration(substitute(step.text));
    if (!by.ok()) return stop(step, file, by.status().message());
    clock_.advance(*by);
    return true;
  }

  bool restart(const TestStep& step, const std::string& file) {
    if (!step.text.empty() && step.text != "read_only") return stop(step, file, "a restart is 'restart [read_only]'");
    options_.read_only = step.text == "read_only";
    close();
    return true;
  }

  bool set_seed(const TestStep& step, const std::string& file) {
    const Result<std::int64_t> seed = read_integer(substitute(step.text));
    if (!seed.ok()) return stop(step, file, seed.status().message());
    options_.seed = static_cast<std::uint64_t>(*seed);
    close();
    return true;
  }

  bool run_include(const TestStep& step, const std::string& file) {
    const std::string name = (fs::path(file).parent_path() / step.text).string();
    const Result<std::string> text = read_text_file(name);
    if (!text.ok()) return stop(step, file, text.status().message());
    const Result<TestFile> included = parse_test_file(*text, true);
    if (!included.ok()) return stop(step, file, name + ": " + included.status().message());
    return run_steps(included->steps, name, false);
  }

  bool require(const TestStep& step, const std::string& file) {
    if (step.text != "shared")
      return stop(step, file, "unknown requirement '" + step.text + "': shared is the one there is");
    if (fs::is_directory(variables_["SHARED"])) return true;
    outcome_.skipped = "the public traces are not there (BERTH_SHARED)";
    return false;
  }

  bool skips_mode(const TestStep& step) {
    const std::size_t because = step.text.find(" because ");
    if (because == std::string::npos || step.text.substr(0, because) != mode_.name) return false;
    outcome_.skipped = step.text.substr(because + 1);
    return true;
  }

  std::string file_;
  const TestMode& mode_;
  ManualEnv clock_;
  Printed data_;
  Printed messages_;
  Printer printer_;
  TemporaryFolder folder_;
  SessionOptions options_;
  std::map<std::string, std::string> variables_;
  Display display_;
  std::unique_ptr<Session> session_;
  FileOutcome outcome_;
  std::vector<Approved> approved_;
  KeptPast past_;
};

// Replaces expected lines from the last to the first, so that line numbers hold.
void write_approved(const std::string& file, const std::string& text, std::vector<FileRunner::Approved> approved) {
  std::vector<std::string> lines = lines_of(text);
  std::sort(approved.begin(), approved.end(), [](const auto& a, const auto& b) { return a.begin > b.begin; });
  for (const FileRunner::Approved& change : approved) {
    std::vector<std::string> shown = change.lines;
    for (std::string& line : shown) {
      if (line.empty()) line = kEmptyLine;
    }
    const auto first = lines.begin() + static_cast<std::ptrdiff_t>(change.begin) - 1;
    const auto last = lines.begin() + static_cast<std::ptrdiff_t>(change.end) - 1;
    lines.insert(lines.erase(first, last), shown.begin(), shown.end());
  }
  std::ofstream(file, std::ios::binary) << join(lines, "\n") << "\n";
}

}  // namespace

Result<TestMode> read_mode(const std::string& file) {
  BERTH_ASSIGN(const std::string text, read_text_file(file));
  TestMode mode;
  mode.name = fs::path(file).stem().string();
  for (const std::string& line : lines_of(text)) {
    if (trim(line).empty() || line.starts_with('#')) continue;
    const std::size_t equals = line.find('=');
    const std::string key(trim(std::string_view(line).substr(0, equals)));
    const std::string value(equals == std::string::npos ? "" : trim(std::string_view(line).substr(equals + 1)));
    if (key == "reopen") {
      mode.reopen_after_statement = value == "true";
    } else if (key == "replay") {
      mode.replay_rounds = value == "true";
    } else if (key == "history") {
      mode.keep_history = value == "true";
    } else if (key == "then") {
      mode.then = value;
    } else {
      return Status(Code::kInvalid, file + ": unknown key '" + key + "'");
    }
  }
  return mode;
}

FileOutcome run_test_file(const std::string& file, const TestMode& mode, bool approve) {
  FileOutcome outcome;
  const Result<std::string> text = read_text_file(file);
  const Result<TestFile> parsed = text.ok() ? parse_test_file(*text, false) : Result<TestFile>(text.status());
  if (!parsed.ok()) {
    outcome.failures.push_back(file + ": " + parsed.status().message());
    return outcome;
  }
  FileRunner runner(file, mode);
  outcome = runner.run(*parsed);
  const std::string folder = fs::path(file).parent_path().filename().string();
  if (parsed->group != folder) outcome.failures.push_back(file + ":3: the group is the folder: '" + folder + "'");
  if (approve && !runner.approved().empty()) write_approved(file, *text, runner.approved());
  return outcome;
}

}  // namespace berth::test
