#include "shell/program.h"

#include <algorithm>

#include "engine/base/text.h"

namespace berth {

namespace {

std::vector<std::string> read_choices(std::string_view kind) {
  std::vector<std::string> choices;
  for (const std::string_view choice : split(kind, '|')) choices.emplace_back(trim(choice));
  return choices;
}

Status set_option_value(const OptionSpec& spec, std::string_view text, std::optional<Value>& value) {
  if (text.empty()) return {};
  if (spec.kind == nullptr) {
    if (std::find(spec.choices.begin(), spec.choices.end(), text) == spec.choices.end()) {
      return Status(Code::kInternal, "'" + std::string(text) + "' is not one of the choices");
    }
    value = Value{std::string(text), {}, ValueType::kText, 0, 0};
    return {};
  }
  BERTH_ASSIGN(value, read_value(*spec.kind, text, {}));
  return {};
}

Result<OptionSpec> read_option_row(const OptionRow& row) {
  OptionSpec spec;
  spec.row = &row;
  if (row.kind.find('|') != std::string_view::npos) {
    spec.choices = read_choices(row.kind);
  } else {
    spec.kind = find_kind(row.kind);
    if (spec.kind == nullptr) return Status(Code::kInternal, "no kind '" + std::string(row.kind) + "'");
  }
  BERTH_TRY(set_option_value(spec, row.default_value, spec.default_value));
  BERTH_TRY(set_option_value(spec, row.minimum, spec.minimum));
  BERTH_TRY(set_option_value(spec, row.maximum, spec.maximum));
  return spec;
}

// Compiles one row. Every function takes the state that follows and returns the piece's first state.
class RowCompiler {
 public:
  RowCompiler(Grammar::Program& program, int info) : program_(program), info_(info) {}

  Result<int> compile(const SyntaxNode& node, int next) {
    switch (node.type) {
      case SyntaxNode::Type::kSequence: return compile_sequence(node, next);
      case SyntaxNode::Type::kAlternatives: return compile_alternatives(node, next);
      case SyntaxNode::Type::kOptional: {
        BERTH_ASSIGN(const int content, compile(node.children.front(), next));
        return add_split(content, next);
      }
      case SyntaxNode::Type::kRepeat: return compile_repeat(node, next);
      case SyntaxNode::Type::kGroup: return compile_group(node, next);
      case SyntaxNode::Type::kKeyword:
        return add_terminal({Terminal::Type::kKeyword, node.text, nullptr, {}, nullptr}, next);
      case SyntaxNode::Type::kSymbol: return add_symbol(node.text, next);
      case SyntaxNode::Type::kArgument: return compile_argument(node, next);
      case SyntaxNode::Type::kOptions: return compile_options(node.text, next);
    }
    return Status(Code::kInternal, "unknown syntax");
  }

  int add_state(State state) {
    state.info = info_;
    program_.states.push_back(std::move(state));
    return static_cast<int>(program_.states.size()) - 1;
  }

 private:
  RowInfo& info() { return program_.infos[static_cast<std::size_t>(info_)]; }

  int add_split(int first, int second) { return add_state({State::Type::kSplit, first, second, nullptr, -1, {}}); }
  // A split whose first way is not known yet.
  int add_loop(int exit) { return add_split(-1, exit); }
  void close_loop(int loop, int first) { program_.states[static_cast<std::size_t>(loop)].next = first; }

  int add_terminal(Terminal terminal, int next) {
    program_.terminals.push_back(std::move(terminal));
    return add_state({State::Type::kTerminal, next, -1, &program_.terminals.back(), -1, {}});
  }
  int add_symbol(const std::string& symbol, int next) {
    return add_terminal({Terminal::Type::kSymbol, symbol, nullptr, {}, nullptr}, next);
  }

  Result<int> compile_sequence(const SyntaxNode& node, int next) {
    for (auto child = node.children.rbegin(); child != node.children.rend(); ++child) {
      BERTH_ASSIGN(next, compile(*child, next));
    }
    return next;
  }

  Result<int> compile_alternatives(const SyntaxNode& node, int next) {
    int entry = -1;
    for (auto child = node.children.rbegin(); child != node.children.rend(); ++child) {
      BERTH_ASSIGN(const int way, compile(*child, next));
      entry = entry < 0 ? way : add_split(way, entry);
    }
    return entry;
  }

  Result<int> compile_repeat(const SyntaxNode& node, int next) {
    const int loop = add_loop(next);
    BERTH_ASSIGN(const int entry, compile(node.children.front(), loop));
    close_loop(loop, node.commas ? add_symbol(",", entry) : entry);
    return entry;
  }

  Result<int> compile_group(const SyntaxNode& node, int next) {
    if (!scope_.empty()) return Status(Code::kInternal, "group '" + node.text + "' inside a group");
    info().declared->insert(node.text);
    scope_ = node.text;
    info().option_sets[scope_];
    const int end = add_state({State::Type::kGroupEnd, next, -1, nullptr, -1, node.text});
    BERTH_ASSIGN(const int content, compile(node.children.front(), end));
    scope_.clear();
    return add_state({State::Type::kGroupBegin, content, -1, nullptr, -1, node.text});
  }

  Result<int> compile_argument(const SyntaxNode& node, int next) {
    info().declared->insert(node.text);
    Terminal terminal{Terminal::Type::kArgument, node.text, nullptr, {}, nullptr};
    if (node.kind.find('|') != std::string::npos) {
      terminal.choices = read_choices(node.kind);
    } else {
      terminal.kind = find_kind(node.kind);
      if (terminal.kind == nullptr) return Status(Code::kInternal, "no kind '" + node.kind + "'");
    }
    if (!is_rest(terminal)) return add_terminal(std::move(terminal), next);
    const int loop = add_loop(next);
    const int entry = add_terminal(std::move(terminal), loop);
    close_loop(loop, entry);
    return entry;
  }

  // name = value {, name = value}
  Result<int> compile_options(const std::string& set, int next) {
    info().option_sets[scope_].push_back(set);
    const int after_one = add_loop(next);
    int entry = -1;
    for (auto spec = info().options.rbegin(); spec != info().options.rend(); ++spec) {
      if (spec->row->set != set) continue;
      const int equals = add_symbol("=", compile_option_value(*spec, after_one));
      const int one = add_terminal(option_terminal(Terminal::Type::kOptionName, *spec), equals);
      entry = entry < 0 ? one : add_split(one, entry);
    }
    if (entry < 0) return Status(Code::kInternal, "no options of set '" + set + "'");
    close_loop(after_one, add_symbol(",", entry));
    return entry;
  }

  int compile_option_value(const OptionSpec& spec, int next) {
    const int single = add_terminal(option_terminal(Terminal::Type::kOptionValue, spec), next);
    if (!spec.row->many) return single;
    const int after_one = add_loop(add_symbol(")", next));
    const int listed = add_terminal(option_terminal(Terminal::Type::kOptionValue, spec), after_one);
    close_loop(after_one, add_symbol(",", listed));
    return add_split(single, add_symbol("(", listed));
  }

  static Terminal option_terminal(Terminal::Type type, const OptionSpec& spec) {
    Terminal terminal{type, std::string(spec.row->name), nullptr, {}, spec.row};
    if (type == Terminal::Type::kOptionValue) {
      terminal.kind = spec.kind;
      terminal.choices = spec.choices;
    }
    return terminal;
  }

  Grammar::Program& program_;
  int info_;
  std::string scope_;
};

}  // namespace

const OptionSpec* RowInfo::find_option(std::string_view name, std::string_view set) const {
  for (const OptionSpec& option : options) {
    if (option.row->name == name && option.row->set == set) return &option;
  }
  return nullptr;
}

Status Grammar::Program::add(int row, std::string_view syntax, std::span<const OptionRow> option_rows) {
  BERTH_ASSIGN(const SyntaxNode tree, parse_syntax(syntax));
  const std::string context = "syntax '" + std::string(syntax) + "'";
  RowInfo info;
  info.row = row;
  info.option_sets[""];
  for (const OptionRow& option : option_rows) {
    Result<OptionSpec> spec = read_option_row(option);
    if (!spec.ok()) return std::move(spec).status().prefixed(context + ", option " + std::string(option.name));
    if (info.find_option(option.name, option.set) != nullptr) {
      return Status(Code::kInternal, context + ": option '" + std::string(option.name) + "' is there twice");
    }
    info.options.push_back(*std::move(spec));
  }
  infos.push_back(std::move(info));
  RowCompiler compiler(*this, static_cast<int>(infos.size()) - 1);
  const int accept = compiler.add_state({State::Type::kAccept, -1, -1, nullptr, -1, {}});
  Result<int> entry = compiler.compile(tree, accept);
  if (!entry.ok()) return std::move(entry).status().prefixed(context);
  entries.push_back(*entry);
  return {};
}

bool is_word_terminal(const Terminal& terminal) {
  return terminal.type == Terminal::Type::kKeyword || terminal.type == Terminal::Type::kOptionName;
}

bool is_rest(const Terminal& terminal) {
  return terminal.kind != nullptr && terminal.kind->tokens == TokenClass::kRest;
}

bool terminal_takes(const Terminal& terminal, const Token& token) {
  if (is_word_terminal(terminal)) return token.is_bare_word() && equals_ignoring_case(token.text, terminal.text);
  if (terminal.type == Terminal::Type::kSymbol) return token.kind == TokenKind::kSymbol && token.text == terminal.text;
  if (terminal.kind != nullptr) return takes_token(terminal.kind->tokens, token);
  return token.kind != TokenKind::kSymbol &&
         std::any_of(terminal.choices.begin(), terminal.choices.end(),
                     [&](const std::string& choice) { return equals_ignoring_case(choice, token.text); });
}

Run::Run(const Grammar::Program& program) : program_(program), seen_(program.states.size(), 0) {
  ++step_;
  for (const int entry : program_.entries) follow(entry, -1, threads_);
}

int Run::record(int previous, int state, int token) {
  events_.push_back({previous, state, token});
  return static_cast<int>(events_.size()) - 1;
}

void Run::follow(int state, int event, std::vector<Thread>& into) {
  if (seen_[static_cast<std::size_t>(state)] == step_) return;
  seen_[static_cast<std::size_t>(state)] = step_;
  const State& at = program_.states[static_cast<std::size_t>(state)];
  switch (at.type) {
    case State::Type::kTerminal:
    case State::Type::kAccept: into.push_back({state, event}); break;
    case State::Type::kSplit:
      follow(at.next, event, into);
      follow(at.other, event, into);
      break;
    case State::Type::kGroupBegin:
    case State::Type::kGroupEnd: follow(at.next, record(event, state, -1), into); break;
  }
}

bool Run::step(const Token& token, int index) {
  const auto takes = [&](const Thread& thread, bool words_only) {
    const Terminal* terminal = program_.states[static_cast<std::size_t>(thread.state)].terminal;
    return terminal != nullptr && (!words_only || is_word_terminal(*terminal)) && terminal_takes(*terminal, token);
  };
  const bool is_word =
      std::any_of(threads_.begin(), threads_.end(), [&](const Thread& thread) { return takes(thread, true); });
  ++step_;
  std::vector<Thread> after;
  for (const Thread& thread : threads_) {
    if (!takes(thread, is_word)) continue;
    const int next = program_.states[static_cast<std::size_t>(thread.state)].next;
    follow(next, record(thread.event, thread.state, index), after);
  }
  if (after.empty()) return false;
  threads_ = std::move(after);
  return true;
}

std::vector<BindEvent> Run::chain(const Thread& thread) const {
  std::vector<BindEvent> events;
  for (int at = thread.event; at >= 0; at = events_[static_cast<std::size_t>(at)].previous) {
    events.push_back(events_[static_cast<std::size_t>(at)]);
  }
  std::reverse(events.begin(), events.end());
  return events;
}

}  // namespace berth
