#include "shell/kinds.h"

#include <array>
#include <charconv>

#include "engine/base/text.h"

namespace berth {

namespace {

constexpr KindRow amount_kind(std::string_view name, ValueType type, std::string_view expected,
                              std::string_view sentence) {
  return {name, TokenClass::kAmount, type, expected, sentence};
}
constexpr KindRow text_kind(std::string_view name, TokenClass tokens, std::string_view expected,
                            std::string_view sentence, bool listed = false) {
  return {name, tokens, ValueType::kText, expected, sentence, listed};
}
constexpr KindRow listed_kind(std::string_view name, std::string_view expected, std::string_view sentence) {
  return text_kind(name, TokenClass::kName, expected, sentence, true);
}

constexpr std::array kKinds = {
    // Plain values.
    amount_kind("integer", ValueType::kInteger, "an integer", "a whole number: 42"),
    amount_kind("real", ValueType::kReal, "a number", "a number: 0.25"),
    amount_kind("gpu", ValueType::kGpu, "a number of GPUs", "GPUs: 8, 0.5, 500m (thousandths) or 1/4"),
    amount_kind("gpu_hours", ValueType::kGpuHours, "a number of GPU-hours", "GPU-hours: 8, 0.5 or 1/4"),
    amount_kind("cpu", ValueType::kCpu, "a number of CPU cores", "CPU cores: 96, 0.5 or 500m"),
    amount_kind("memory", ValueType::kMemory, "an amount of memory",
                "memory: 40GiB = 40Gi = 40G, 512MiB, 2TiB (not GB: thousands); a bare number is MiB"),
    amount_kind("duration", ValueType::kDuration, "a duration",
                "a duration: 90m, 2h, 1d12h, 45s; a bare number is seconds"),
    amount_kind("time", ValueType::kTime, "a time", "a moment (UTC): 2026-12-01, '2026-12-01 08:00'"),
    text_kind("amount", TokenClass::kAmount, "an amount",
              "an amount of the resource: 512 cores, 2TiB, 8.5 GPUs; a bare number is cores, MiB or GPUs; text in "
              "quotes is read the same way"),
    KindRow{"boolean", TokenClass::kFlag, ValueType::kBoolean, "true or false",
            "true or false (also on/off, yes/no, 1/0)"},
    text_kind("text", TokenClass::kAnyText, "a text", "a text, in quotes when it is more than one word: 'two words'"),
    text_kind("string", TokenClass::kString, "a text in quotes", "a text in quotes: 'two words'"),
    text_kind("file", TokenClass::kAnyText, "a file name in quotes", "a file name: 'nodes.csv'", true),
    text_kind("moment", TokenClass::kAnyText, "a moment of the past",
              "a moment of the past: '2026-11-01 09:00' (UTC), '90m ago', now, 'version 12', 'round 7' (as it left the "
              "state)"),
    text_kind("value", TokenClass::kAnyText, "a value", "a number, a word, or a text in quotes"),
    text_kind("setting_value", TokenClass::kAnyText, "a value", "a number, a word, or a text in quotes", true),
    text_kind("statement_word", TokenClass::kName, "words of a statement",
              "words a statement begins with, or a family"),
    text_kind("rest", TokenClass::kRest, "more", "anything up to the end of the statement"),
    text_kind("statement", TokenClass::kRest, "a statement", "another statement"),
    text_kind("sql", TokenClass::kRest, "SQL", "SQLite's SQL over the tables and views of the database"),
    // Names that a statement introduces.
    text_kind("new_name", TokenClass::kName, "a name", "a name of letters, digits and _ - . (others in \"quotes\")"),
    text_kind("new_nodes", TokenClass::kName, "a node name or range",
              "a node name, or a range for many: train[001-064]"),
    // Names that the database knows.
    listed_kind("node", "a node name", "the name of a node"),
    listed_kind("node_range", "a node name or range", "a node, or a range of nodes: train[001-064]"),
    listed_kind("node_type", "a node type", "the name of a node type"),
    listed_kind("device_model", "a device model", "the name of a device model"),
    listed_kind("resource", "a resource", "cpu, memory, gpu (all devices), a device model or a family of models"),
    listed_kind("pool", "a pool", "the name of a pool"),
    listed_kind("rack", "a rack", "the name of a rack"),
    listed_kind("queue", "a queue", "the name of a queue"),
    listed_kind("priority_class", "a priority class", "the name of a priority class"),
    listed_kind("job", "a job", "the name or number of a job"),
    listed_kind("user", "a user", "the name of a user"),
    listed_kind("assertion", "an assertion", "the name of an assertion (SHOW ASSERTIONS)"),
    listed_kind("executor", "an executor", "the name of an executor (SHOW EXECUTORS)"),
    listed_kind("executor_type", "a type of executor", "a type of executor (SHOW EXECUTOR TYPES)"),
    listed_kind("loan", "a loan number", "the number of a loan (SHOW LOANS)"),
    listed_kind("stray_job", "a job number", "the number of a job with stray tasks (SHOW DRIFT)"),
    listed_kind("plan", "a plan number", "the number of a plan (SHOW PLANS)"),
    listed_kind("round", "a round number", "the number of a round (SHOW ROUNDS)"),
    listed_kind("simulation", "a simulation", "the name of a simulation"),
    listed_kind("policy", "a policy", "the name of a policy (SHOW POLICIES)"),
    listed_kind("shadow", "a shadow policy", "the name of a policy in shadow (SHOW SHADOWS)"),
    listed_kind("backtest_policy", "a policy", "the name of a policy (SHOW POLICIES), or live: what the settings say"),
    listed_kind("backtest", "a backtest", "the name of a backtest"),
    listed_kind("order_policy", "an order policy", "the name of an order policy (SHOW POLICIES)"),
    listed_kind("score_policy", "a score policy", "the name of a score policy (SHOW POLICIES)"),
    listed_kind("script_policy", "a policy in Lua", "the name of a policy in Lua (SHOW POLICIES)"),
    listed_kind("setting", "a setting", "the name of a setting (SHOW SETTINGS)"),
    listed_kind("format", "a format", "the name of a file format"),
    listed_kind("table", "a table", "the name of a table or view"),
};

std::string describe_token(const KindRow& kind, std::string_view text) {
  return "expected " + std::string(kind.expected) + ", found '" + std::string(text) + "'";
}

template <class Quantity>
Result<std::int64_t> unwrap_quantity(Result<Quantity> quantity) {
  if (!quantity.ok()) return std::move(quantity).status();
  return quantity->value();
}

Result<std::int64_t> read_gpu_hours_of(std::string_view text) {
  const Result<MilliGpu> hours = read_gpu(text);  // written as GPUs are
  if (hours.ok()) return hours->value();
  return Status(Code::kInvalid, "'" + std::string(text) + "' is not a number of GPU-hours such as 8, 0.5 or 1/4");
}

Result<std::int64_t> read_boolean(std::string_view text) {
  for (const std::string_view yes : {"true", "on", "yes", "1"}) {
    if (equals_ignoring_case(text, yes)) return std::int64_t{1};
  }
  for (const std::string_view no : {"false", "off", "no", "0"}) {
    if (equals_ignoring_case(text, no)) return std::int64_t{0};
  }
  return Status(Code::kInvalid, "expected true or false, found '" + std::string(text) + "'");
}

Result<std::int64_t> read_number(const KindRow& kind, std::string_view text) {
  switch (kind.type) {
    case ValueType::kInteger: return read_integer(text);
    case ValueType::kGpu: return unwrap_quantity(read_gpu(text));
    case ValueType::kGpuHours: return read_gpu_hours_of(text);
    case ValueType::kCpu: return unwrap_quantity(read_cpu(text));
    case ValueType::kMemory: return unwrap_quantity(read_memory(text));
    case ValueType::kDuration: return unwrap_quantity(read_duration(text));
    case ValueType::kTime: return unwrap_quantity(read_time(text));
    case ValueType::kBoolean: return read_boolean(text);
    default: return Status(Code::kInternal, "kind '" + std::string(kind.name) + "' is not a number");
  }
}

bool is_flag_word(std::string_view text) { return read_boolean(text).ok(); }

}  // namespace

std::span<const KindRow> all_kinds() { return kKinds; }

const KindRow* find_kind(std::string_view name) {
  for (const KindRow& kind : kKinds) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

bool takes_token(TokenClass tokens, const Token& token) {
  if (token.kind == TokenKind::kSymbol) return tokens == TokenClass::kRest;
  switch (tokens) {
    case TokenClass::kAmount: return token.kind == TokenKind::kNumber || token.kind == TokenKind::kString;
    case TokenClass::kString: return token.kind == TokenKind::kString;
    case TokenClass::kFlag: return is_flag_word(token.text);
    case TokenClass::kName:
    case TokenClass::kAnyText:
    case TokenClass::kRest: return true;
  }
  return false;
}

Result<Value> read_value(const KindRow& kind, std::string_view text, Span span) {
  Value value{std::string(text), span, kind.type, 0, 0};
  if (kind.type == ValueType::kText) {
    if (kind.tokens == TokenClass::kName && text.empty())
      return Status(Code::kInvalid, describe_token(kind, text)).at(span);
    return value;
  }
  if (kind.type == ValueType::kReal) {
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value.real);
    if (error != std::errc() || stop != end) return Status(Code::kInvalid, describe_token(kind, text)).at(span);
    return value;
  }
  Result<std::int64_t> number = read_number(kind, text);
  if (!number.ok()) return std::move(number).status().at(span);
  value.integer = *number;
  return value;
}

}  // namespace berth
