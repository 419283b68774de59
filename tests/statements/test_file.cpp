#include "tests/statements/test_file.h"

#include <array>
#include <optional>

#include "engine/base/text.h"

namespace berth::test {

namespace {

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  for (const std::string_view word : split(line, ' ')) {
    if (!trim(word).empty()) words.emplace_back(trim(word));
  }
  return words;
}

struct Directive {
  std::string_view word;
  TestStep::Type type;
};
constexpr std::array kSimpleDirectives = {
    Directive{"round", TestStep::Type::kRound},     Directive{"advance", TestStep::Type::kAdvance},
    Directive{"restart", TestStep::Type::kRestart}, Directive{"seed", TestStep::Type::kSeed},
    Directive{"include", TestStep::Type::kInclude}, Directive{"require", TestStep::Type::kRequire},
    Directive{"skip", TestStep::Type::kSkip},
};

class TestFileParser {
 public:
  explicit TestFileParser(std::string_view text) : lines_(split(text, '\n')) {
    for (std::string_view& line : lines_) {
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    }
  }

  Result<TestFile> parse(bool is_include) {
    TestFile file;
    if (!is_include) {
      BERTH_TRY(take_header("name", file.name));
      BERTH_TRY(take_header("purpose", file.purpose));
      BERTH_TRY(take_header("group", file.group));
    }
    BERTH_TRY(take_steps(file.steps, 0));
    return file;
  }

 private:
  Status wrong(std::size_t line, const std::string& why) const {
    return Status(Code::kInvalid, "line " + std::to_string(line) + ": " + why);
  }

  Status take_header(std::string_view key, std::string& value) {
    const std::string start = "# " + std::string(key) + ": ";
    if (at_ >= lines_.size() || !lines_[at_].starts_with(start)) return wrong(at_ + 1, "expected '" + start + "...'");
    value = std::string(lines_[at_++].substr(start.size()));
    return {};
  }

  Status take_steps(std::vector<TestStep>& steps, std::size_t loop_line) {
    while (at_ < lines_.size()) {
      const std::string_view line = trim(lines_[at_]);
      if (line.empty() || line.starts_with('#')) {
        ++at_;
        continue;
      }
      if (line == "endloop") {
        if (loop_line == 0) return wrong(at_ + 1, "endloop without a loop");
        ++at_;
        return {};
      }
      BERTH_ASSIGN(TestStep step, take_step(line));
      steps.push_back(std::move(step));
    }
    return loop_line == 0 ? Status() : wrong(loop_line, "this loop does not end");
  }

  Result<TestStep> take_step(std::string_view line) {
    const std::vector<std::string> words = words_of(line);
    TestStep step;
    step.line = ++at_;
    if (words[0] == "loop" || words[0] == "foreach") return take_loop(words, std::move(step));
    for (const Directive& directive : kSimpleDirectives) {
      if (words[0] != directive.word) continue;
      step.type = directive.type;
      step.text = std::string(trim(line.substr(directive.word.size())));
      return step;
    }
    if (!read_statement_directive(words, step))
      return wrong(step.line, "unknown directive '" + std::string(line) + "'");
    BERTH_TRY(take_body(step));
    return step;
  }

  static bool read_statement_directive(const std::vector<std::string>& words, TestStep& step) {
    const std::string all = join(words, " ");
    step.sorted = all == "query rowsort";
    step.contains = all == "output contains";
    if (all == "statement ok") {
      step.type = TestStep::Type::kStatementOk;
    } else if (all == "statement error") {
      step.type = TestStep::Type::kStatementError;
    } else if (all == "statement findings") {
      step.type = TestStep::Type::kStatementFindings;
    } else if (all == "query" || step.sorted) {
      step.type = TestStep::Type::kQuery;
    } else if (all == "output" || step.contains) {
      step.type = TestStep::Type::kOutput;
    } else {
      return false;
    }
    return true;
  }

  Status take_body(TestStep& step) {
    while (at_ < lines_.size() && !lines_[at_].empty() && lines_[at_] != "----") {
      step.text += (step.text.empty() ? "" : "\n") + std::string(lines_[at_++]);
    }
    if (step.text.empty()) return wrong(step.line, "there is no statement");
    if (at_ >= lines_.size() || lines_[at_] != "----") return {};
    step.expected_begin = ++at_ + 1;
    while (at_ < lines_.size() && !lines_[at_].empty()) {
      step.expected.emplace_back(lines_[at_] == "<empty>" ? std::string_view() : lines_[at_]);
      ++at_;
    }
    step.expected_end = at_ + 1;
    return {};
  }

  Result<TestStep> take_loop(const std::vector<std::string>& words, TestStep step) {
    step.type = TestStep::Type::kLoop;
    if (words.size() < 3) return wrong(step.line, "a loop is 'loop i FIRST LAST' or 'foreach x WORD ...'");
    step.text = words[1];
    if (words[0] == "foreach") {
      step.words.assign(words.begin() + 2, words.end());
    } else {
      const Result<std::int64_t> first = read_integer(words[2]);
      const Result<std::int64_t> last =
          words.size() == 4 ? read_integer(words[3]) : Result<std::int64_t>(Status(Code::kInvalid, "no end"));
      if (!first.ok() || !last.ok()) return wrong(step.line, "a loop is 'loop i FIRST LAST'");
      for (std::int64_t i = *first; i <= *last; ++i) step.words.push_back(std::to_string(i));
    }
    BERTH_TRY(take_steps(step.body, step.line));
    return step;
  }

  std::vector<std::string_view> lines_;
  std::size_t at_ = 0;
};

}  // namespace

Result<TestFile> parse_test_file(std::string_view text, bool is_include) {
  return TestFileParser(text).parse(is_include);
}

}  // namespace berth::test
