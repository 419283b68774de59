#include <algorithm>

#include "engine/base/text.h"
#include "shell/program.h"

namespace berth {

namespace {

bool is_less(const Value& a, const Value& b) {
  return a.type == ValueType::kReal ? a.real < b.real : a.integer < b.integer;
}

Status check_range(const OptionSpec& option, const Value& value) {
  const bool low = option.minimum && is_less(value, *option.minimum);
  const bool high = option.maximum && is_less(*option.maximum, value);
  if (!low && !high) return {};
  const std::string bound =
      low ? "at least " + std::string(option.row->minimum) : "at most " + std::string(option.row->maximum);
  return Status(Code::kInvalid,
                "option '" + std::string(option.row->name) + "' must be " + bound + ", found '" + value.text + "'")
      .at(value.span);
}

// A choice is bound as the table writes it, whatever case was typed.
Result<Value> read_terminal(const Terminal& terminal, const Token& token) {
  if (terminal.kind != nullptr) return read_value(*terminal.kind, token.text, token.span);
  for (const std::string& choice : terminal.choices) {
    if (equals_ignoring_case(choice, token.text)) return Value{choice, token.span, ValueType::kText, 0, 0};
  }
  return Status(Code::kInternal, "no such choice").at(token.span);
}

}  // namespace

// Walks the events of an accepted statement, with the statement's arguments below those of the group it is in.
class ArgumentBuilder {
 public:
  ArgumentBuilder(const Grammar::Program& program, const RowInfo& info, const std::vector<Token>& tokens,
                  std::string_view statement)
      : program_(program), info_(info), tokens_(tokens), statement_(statement) {}

  Result<Arguments> build(const std::vector<BindEvent>& events) {
    open(root_, "");
    for (const BindEvent& event : events) BERTH_TRY(take(event));
    BERTH_TRY(check_required(root_));
    return std::move(root_);
  }

 private:
  void open(Arguments& scope, std::string_view label) {
    scope.statement_ = statement_text_;
    scope.declared_ = info_.declared;
    for (const std::string& set : info_.option_sets.find(label)->second) {
      Options& options = scope.options_[set];
      for (const OptionSpec& option : info_.options) {
        if (option.row->set != set) continue;
        Options::Entry& entry = options.entries_[std::string(option.row->name)];
        if (option.default_value) entry.values.push_back(*option.default_value);
      }
    }
  }

  Status take(const BindEvent& event) {
    const State& state = program_.states[static_cast<std::size_t>(event.state)];
    if (state.type == State::Type::kGroupBegin) {
      group_ = Arguments();
      open(group_, state.label);
      scope_ = &group_;
      return {};
    }
    if (state.type == State::Type::kGroupEnd) {
      scope_ = &root_;
      BERTH_TRY(check_required(group_));
      root_.groups_[state.label].push_back(std::move(group_));
      return {};
    }
    return take_token(*state.terminal, tokens_[static_cast<std::size_t>(event.token)]);
  }

  Status take_token(const Terminal& terminal, const Token& token) {
    switch (terminal.type) {
      case Terminal::Type::kKeyword: scope_->words_.insert(terminal.text); return {};
      case Terminal::Type::kSymbol: return {};
      case Terminal::Type::kArgument:
        return is_rest(terminal) ? take_rest(terminal, token) : take_argument(terminal, token);
      case Terminal::Type::kOptionName: return take_option_name(*terminal.option, token);
      case Terminal::Type::kOptionValue: return take_option_value(terminal, token);
    }
    return {};
  }

  Status take_argument(const Terminal& terminal, const Token& token) {
    BERTH_ASSIGN(Value value, read_terminal(terminal, token));
    scope_->values_[terminal.text].push_back(std::move(value));
    return {};
  }

  Status take_rest(const Terminal& terminal, const Token& token) {
    if (scope_->values_.contains(terminal.text)) return {};
    const std::size_t begin = token.span.offset;
    const Span span{begin, statement_.size() - begin};
    scope_->values_[terminal.text].push_back(
        {std::string(trim(statement_.substr(begin))), span, ValueType::kText, 0, 0});
    return {};
  }

  Options::Entry& entry_of(const OptionRow& row) {
    return scope_->options_.find(row.set)->second.entries_.find(row.name)->second;
  }

  Status take_option_name(const OptionRow& row, const Token& token) {
    Options::Entry& entry = entry_of(row);
    if (entry.given) {
      return Status(Code::kInvalid, "option '" + std::string(row.name) + "' is given twice").at(token.span);
    }
    entry.given = true;
    entry.key = token.span;
    entry.values.clear();
    return {};
  }

  Status take_option_value(const Terminal& terminal, const Token& token) {
    Result<Value> value = read_terminal(terminal, token);
    if (!value.ok()) return std::move(value).status().prefixed("option '" + std::string(terminal.option->name) + "'");
    BERTH_TRY(check_range(*info_.find_option(terminal.option->name, terminal.option->set), *value));
    if (terminal.option->secret) root_.secrets_.push_back(token.span);
    entry_of(*terminal.option).values.push_back(*std::move(value));
    return {};
  }

  Status check_required(const Arguments& scope) const {
    for (const auto& [set, options] : scope.options_) {
      for (const OptionSpec& option : info_.options) {
        if (option.row->set != set || !option.row->required || options.given(option.row->name)) continue;
        return Status(Code::kInvalid, "option '" + std::string(option.row->name) + "' is missing",
                      "add WITH (" + std::string(option.row->name) + " = ...): " + std::string(option.row->sentence))
            .at({statement_.size(), 1});
      }
    }
    return {};
  }

  const Grammar::Program& program_;
  const RowInfo& info_;
  const std::vector<Token>& tokens_;
  std::string_view statement_;
  std::shared_ptr<const std::string> statement_text_ = std::make_shared<const std::string>(statement_);
  Arguments root_;
  Arguments group_;
  Arguments* scope_ = &root_;
};

Result<Arguments> bind_arguments(const Grammar::Program& program, const RowInfo& info,
                                 const std::vector<BindEvent>& events, const std::vector<Token>& tokens,
                                 std::string_view statement) {
  return ArgumentBuilder(program, info, tokens, statement).build(events);
}

}  // namespace berth
