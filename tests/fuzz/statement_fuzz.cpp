// Lexer, statement splitter, grammar and completion: nothing crashes, and every place that is told lies in the text.
#include <algorithm>

#include "shell/complete.h"
#include "shell/error_report.h"
#include "shell/families.h"
#include "tests/fuzz/fuzz.h"

using berth::test::promise;

namespace {

bool lies_in(berth::Span span, std::string_view text) {
  return span.offset <= text.size() && span.length <= text.size() - span.offset;
}

void look_at_statement(std::string_view text) {
  const berth::Lexed lexed = berth::lex(text);
  std::size_t after = 0;
  for (const berth::Token& token : lexed.tokens) {
    promise(lies_in(token.span, text) && token.span.length > 0, "a token lies in the text", text);
    promise(token.span.offset >= after, "tokens follow one another", text);
    after = token.span.offset + token.span.length;
  }
  const berth::Result<berth::CommandTable::Call> call = berth::command_table().parse(text);
  if (call.ok()) return promise(lexed.status().ok(), "what is taken has an end", text);
  const berth::Status status = call.status();
  promise(!status.message().empty() && status.code() == berth::Code::kInvalid, "an error says what is wrong", text);
  if (status.span()) {
    const bool is_end = status.span()->offset <= text.size() && status.span()->length == 1;  // more was expected there
    promise(is_end || lies_in(*status.span(), text), "an error's place lies in the text", text);
  }
  const std::string report = berth::describe_error(status, {"", text, 1, false}, 0, false);
  promise(report.find('\x1b') == std::string::npos, "a report carries no control characters", text);
}

void look_at_split(std::string_view text) {
  const berth::StatementList list = berth::split_statements(text);
  std::size_t after = 0;
  for (const berth::StatementText& statement : list.statements) {
    promise(statement.offset >= after && lies_in({statement.offset, statement.text.size()}, text),
            "statements follow one another in the text", text);
    promise(text.substr(statement.offset, statement.text.size()) == statement.text,
            "a statement is a piece of the text", text);
    promise(statement.line == berth::line_of(text, statement.offset), "a statement knows its line", text);
    after = statement.offset + statement.text.size();
    look_at_statement(statement.text);
  }
  promise(list.rest.empty() || text.substr(list.rest_offset, list.rest.size()) == list.rest,
          "what is left is a piece of the text", text);
}

void look_at_completion(std::string_view text, std::size_t cursor) {
  const berth::Completion completion = berth::complete_at(berth::command_table(), text, cursor);
  promise(completion.begin <= completion.end && completion.end <= text.size(), "a completion lies in the text", text);
  const auto names = [](std::string_view, std::string_view) { return std::vector<std::string>{"a", "O'Neil \"x\""}; };
  (void)berth::candidates(completion, text, names);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = berth::test::as_text(data, std::min<std::size_t>(size, 2000));
  look_at_split(text);
  look_at_statement(text);
  // At every cursor of a statement that a person might type; in longer texts at a hundred of them.
  const std::size_t step = 1 + text.size() / 100;
  for (std::size_t cursor = 0; cursor <= text.size(); cursor += step) look_at_completion(text, cursor);
  look_at_completion(text, text.size());
  return 0;
}
