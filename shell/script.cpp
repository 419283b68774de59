#include "shell/script.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <new>
#include <vector>

#include "engine/base/file_bytes.h"
#include "engine/base/plain_text.h"
#include "engine/base/text.h"
#include "shell/commands.h"
#include "shell/printer.h"

namespace berth {

namespace {

// What is read of one that has not ended: it is looked through again at each piece.
constexpr std::int64_t kLongestStatement = std::int64_t{8} << 20;

// Of Lua, as a whole.
constexpr std::size_t kLongestScript = std::size_t{16} << 20;

Status check_no_folder(const std::string& file) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(file, ignored)) return {};
  return Status(Code::kUnavailable, "'" + file + "' is a folder, not a file");
}

bool was_interrupted(const Session& session) { return session.interrupt != nullptr && session.interrupt->load(); }

}  // namespace

ExitCode exit_code_for(Code code) {
  if (code == Code::kOk) return ExitCode::kDone;
  return code == Code::kBusy ? ExitCode::kBusy : ExitCode::kFailed;
}

ExitCode exit_code_for(const Status& status) { return exit_code_for(status.code()); }

bool is_failure(ExitCode code) { return code != ExitCode::kDone && code != ExitCode::kFindings; }

ExitCode combine(ExitCode first, ExitCode second) {
  if (is_failure(first)) return first;
  if (is_failure(second)) return second;
  return first == ExitCode::kFindings ? first : second;
}

ExitCode run_answered(Session& session, const Source& source, std::size_t offset,
                      const std::function<Result<Output>()>& run) {
  const auto start = std::chrono::steady_clock::now();
  const Result<Output> output = run();
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  Status status = output.status();
  try {
    if (output.ok()) status = session.printer->show(*output, session.display);
  } catch (const std::bad_alloc&) {
    status = out_of_memory().with_hint("it was carried out, but what it says is too much to print");
  }
  if (session.display.timer) session.printer->say(fmt::format("time: {:.3f} s\n", spent.count()));
  if (!status.ok()) {
    if (output.ok() && session.printer->reader_left()) return ExitCode::kFailed;  // nobody is there to be told
    session.printer->say(describe_error(status, source, offset, session.display.color_messages));
    return exit_code_for(status);
  }
  // A plan that was refused is a finding, as a round that was.
  if (output->failed != Code::kOk && !output->findings) return exit_code_for(output->failed);
  return output->findings ? ExitCode::kFindings : ExitCode::kDone;
}

ExitCode run_statement(Session& session, const Source& source, const StatementText& statement) {
  return run_answered(session, source, statement.offset, [&] { return execute(session, statement.text); });
}

void Script::feed(std::string_view text) {
  if (stopped_) return;
  const bool has_line_end = text.find('\n') != std::string_view::npos;
  buffer_ += text;
  if (is_start_) buffer_.erase(0, buffer_.size() - without_byte_order_mark(buffer_).size());
  is_start_ = is_start_ && !has_line_end;
  if (has_line_end) run_buffer(std::string_view(buffer_).substr(0, buffer_.rfind('\n') + 1), false);
  if (!stopped_ && std::ssize(buffer_) > kLongestStatement) {
    session_.printer->say(describe_error(
        Status(Code::kInvalid, fmt::format("a statement has more than {} bytes", print_count(kLongestStatement)),
               "is a ';' missing, or is this no text of statements?"),
        Source{name_, {}, line_, show_line_}, 0, session_.display.color_messages));
    code_ = combine(code_, ExitCode::kFailed);
    stopped_ = true;
  }
}

ExitCode Script::finish() {
  if (!stopped_) run_buffer(buffer_, true);
  return code_;
}

void Script::run_one(const Source& source, const StatementText& statement) {
  code_ = combine(code_, run_statement(session_, source, statement));
  if (session_.quit || was_interrupted(session_) || (is_failure(code_) && !session_.keep_going)) stopped_ = true;
}

void Script::run_buffer(std::string_view complete_lines, bool is_end) {
  const Source source{name_, complete_lines, line_, show_line_};
  const StatementList list = split_statements(complete_lines);
  for (const StatementText& statement : list.statements) {
    if (stopped_) return;
    run_one(source, statement);
  }
  if (stopped_) return;
  if (is_end && !list.rest.empty()) {
    run_one(source, {list.rest, list.rest_offset, list.rest_line});
    return;
  }
  const std::size_t done = list.rest.empty() ? complete_lines.size() : list.rest_offset;
  line_ += line_of(complete_lines, done) - 1;
  buffer_.erase(0, done);
}

ExitCode run_script(Session& session, std::string_view text, const std::string& name) {
  Script script(session, name, text.find('\n') != std::string_view::npos && text.find('\n') + 1 < text.size());
  script.feed(text);
  return script.finish();
}

Result<std::string> read_script_file(const Session& session, const std::string& file) {
  BERTH_TRY(check_no_folder(file));
  BERTH_ASSIGN(const std::string text, read_file_bytes(file, kLongestScript, session.interrupt));
  return std::string(without_byte_order_mark(text));
}

// Piece by piece, as standard input: a file may be as long as it likes, what has no end is no text of statements.
Result<ExitCode> run_script_file(Session& session, const std::string& file) {
  BERTH_TRY(check_no_folder(file));
  BERTH_ASSIGN(FileReader reader, FileReader::open(file, session.interrupt));
  Script script(session, file, true);
  std::vector<char> piece(1 << 16);
  while (!script.stopped()) {
    BERTH_ASSIGN(const std::size_t size, reader.read(piece));
    if (size == 0) break;
    script.feed({piece.data(), size});
  }
  return script.finish();
}

}  // namespace berth
