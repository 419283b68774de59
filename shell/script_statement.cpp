#include "shell/script_statement.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "engine/base/text.h"
#include "shell/lexer.h"
#include "shell/script_values.h"

namespace berth {

namespace {

Result<std::string> text_of(const ScriptTable& request, std::string_view name) {
  const ScriptValue* const value = request.find(name);
  if (value == nullptr) return std::string();
  if (const auto* text = value->get<std::string>(); text != nullptr && !text->empty()) return *text;
  return Status(Code::kInvalid, fmt::format("{}: expected a text, found a {}", name, value->type_name()));
}

Result<std::string> needed_text_of(const ScriptTable& request, std::string_view name, std::string_view example) {
  BERTH_ASSIGN(std::string text, text_of(request, name));
  if (!text.empty()) return text;
  return Status(Code::kInvalid, fmt::format("'{}' is missing, as in {}", name, example));
}

bool flag_of(const ScriptTable& request, std::string_view name) {
  const ScriptValue* const value = request.find(name);
  return value != nullptr && value->get<bool>() != nullptr && *value->get<bool>();
}

std::string count_values(std::span<const ScriptValue> values) {
  return values.size() == 1 ? "1 value is given" : fmt::format("{} values are given", values.size());
}

// One value of an option: quoted, but for numbers and flags.
Result<std::string> option_word(const ScriptValue& value) {
  if (const auto* text = value.get<std::string>()) return quote_word(*text);
  if (value.get<ScriptTable>() == nullptr) return print_script_cell(value);
  return Status(Code::kInvalid, "expected a text, a number or a boolean, not a table");
}

Result<std::string> option_value(const ScriptValue& value) {
  const auto* const list = value.get<ScriptTable>();
  if (list == nullptr) return option_word(value);
  std::vector<std::string> words;
  for (const ScriptValue& item : list->items) {
    BERTH_ASSIGN(words.emplace_back(), option_word(item));
  }
  return fmt::format("({})", join(words, ", "));
}

// " WITH (...)" of the fields that are not in `others`; empty when there are none.
Result<std::string> with_options(const ScriptTable& request, std::span<const std::string_view> others) {
  std::vector<std::string> options;
  for (const auto& [name, value] : request.fields) {
    if (std::ranges::find(others, name) != others.end()) continue;
    Result<std::string> word = option_value(value);
    if (!word.ok()) return std::move(word).status().prefixed(name);
    options.push_back(fmt::format("{} = {}", name, *word));
  }
  return options.empty() ? std::string() : fmt::format(" WITH ({})", join(options, ", "));
}

// "fifo + berth" with both names quoted.
std::string policy_words(std::string_view policy) {
  std::vector<std::string> names;
  for (const std::string_view name : split(policy, '+')) names.push_back(quote_word(trim(name)));
  return join(names, " + ");
}

Result<std::string> policy_with_options(const ScriptValue& value) {
  if (const auto* text = value.get<std::string>()) return policy_words(*text);
  const auto* const table = value.get<ScriptTable>();
  if (table == nullptr) return Status(Code::kInvalid, "using: expected policies by name");
  constexpr std::string_view kOwn[] = {"policy"};
  BERTH_ASSIGN(const std::string policy,
               needed_text_of(*table, "policy", "{policy = 'fifo + berth', backfill = 'easy'}"));
  BERTH_ASSIGN(const std::string options, with_options(*table, kOwn));
  return policy_words(policy) + options;
}

Result<std::string> using_words(const ScriptTable& request) {
  const ScriptValue* const policies = request.find("using");
  if (policies == nullptr) return Status(Code::kInvalid, "'using' is missing, as in using = {'fifo', 'sjf + berth'}");
  const auto* const list = policies->get<ScriptTable>();
  if (list == nullptr || list->items.empty()) return policy_with_options(*policies);
  std::vector<std::string> words;
  for (const ScriptValue& policy : list->items) {
    BERTH_ASSIGN(words.emplace_back(), policy_with_options(policy));
  }
  return join(words, ", ");
}

Result<std::string> quoted_clause(const ScriptTable& request, std::string_view name, std::string_view word) {
  BERTH_ASSIGN(const std::string text, text_of(request, name));
  return text.empty() ? std::string() : fmt::format(" {} {}", word, quote_word(text));
}

Result<const ScriptTable*> request_table(const ScriptValue& request) {
  const auto* const table = request.get<ScriptTable>();
  if (table == nullptr || !table->items.empty()) {
    return Status(Code::kInvalid, "expected one table of named fields, as in {using = {'fifo'}, from = 'jobs.csv'}");
  }
  return table;
}

}  // namespace

std::string quote_word(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted.append(c == '\'' ? 2 : 1, c);
  return quoted + "'";
}

Result<std::string> fill_in(std::string_view statement, std::span<const ScriptValue> values) {
  std::string filled;
  std::size_t done = 0;
  std::size_t used = 0;
  for (const Token& token : lex(statement).tokens) {
    if (token.kind != TokenKind::kSymbol || token.text != "?") continue;
    filled += statement.substr(done, token.span.offset - done);
    done = token.span.offset + token.span.length;
    if (used < values.size()) {
      Result<std::string> word = option_word(values[used]);
      if (!word.ok() || values[used].is_nil()) {
        return Status(Code::kInvalid, fmt::format("value {}: expected a text, a number or a boolean, not a {}",
                                                  used + 1, values[used].type_name()));
      }
      filled += *word;
    }
    ++used;
  }
  if (used != values.size()) {
    return Status(Code::kInvalid, fmt::format("the statement has {} ?, and {}", used, count_values(values)));
  }
  filled += statement.substr(done);
  return filled;
}

Result<std::string> simulate_statement_of(const ScriptValue& request) {
  constexpr std::string_view kOwn[] = {"kind", "from", "format", "nodes", "nodes_format", "using", "by_queue", "into"};
  BERTH_ASSIGN(const ScriptTable* table, request_table(request));
  BERTH_ASSIGN(std::string kind, text_of(*table, "kind"));
  if (kind.empty()) kind = "jobs";
  if (kind != "jobs" && kind != "arrivals") {
    return Status(Code::kInvalid, fmt::format("kind: expected 'jobs' or 'arrivals', found '{}'", kind));
  }
  BERTH_ASSIGN(const std::string file, needed_text_of(*table, "from", "from = 'jobs.csv'"));
  BERTH_ASSIGN(const std::string format, quoted_clause(*table, "format", "FORMAT"));
  BERTH_ASSIGN(std::string nodes, quoted_clause(*table, "nodes", "NODES FROM"));
  BERTH_ASSIGN(const std::string nodes_format, quoted_clause(*table, "nodes_format", "FORMAT"));
  if (nodes.empty()) nodes = " CLUSTER";
  BERTH_ASSIGN(const std::string policies, using_words(*table));
  BERTH_ASSIGN(const std::string options, with_options(*table, kOwn));
  BERTH_ASSIGN(const std::string into, quoted_clause(*table, "into", "INTO"));
  return fmt::format("SIMULATE {} FROM {}{} ON{}{} USING {}{}{}{}", to_upper(kind), quote_word(file), format, nodes,
                     nodes_format, policies, flag_of(*table, "by_queue") ? " BY QUEUE" : "", options, into);
}

Result<std::string> backtest_statement_of(const ScriptValue& request) {
  constexpr std::string_view kOwn[] = {"using", "from", "to", "by_queue", "into"};
  BERTH_ASSIGN(const ScriptTable* table, request_table(request));
  BERTH_ASSIGN(const std::string policies, using_words(*table));
  BERTH_ASSIGN(const std::string from, needed_text_of(*table, "from", "from = '2026-10-01'"));
  BERTH_ASSIGN(const std::string to, quoted_clause(*table, "to", "TO"));
  BERTH_ASSIGN(const std::string options, with_options(*table, kOwn));
  BERTH_ASSIGN(const std::string into, quoted_clause(*table, "into", "INTO"));
  return fmt::format("BACKTEST USING {} FROM {}{}{}{}{}", policies, quote_word(from), to,
                     flag_of(*table, "by_queue") ? " BY QUEUE" : "", options, into);
}

}  // namespace berth
