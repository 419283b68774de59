#include "shell/grammar.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "engine/base/text.h"
#include "shell/program.h"

namespace berth {

namespace {

std::string quoted_word(std::string_view word) { return "'" + std::string(word) + "'"; }

std::string list_words(const std::vector<std::string>& words) {
  if (words.empty()) return {};
  if (words.size() == 1) return words.front();
  return join({words.begin(), words.end() - 1}, ", ") + " or " + words.back();
}

bool same_terminal(const Terminal& a, const Terminal& b) {
  return a.type == b.type && a.text == b.text && a.kind == b.kind && a.choices == b.choices && a.option == b.option;
}

Continuation make_continuation(const Grammar::Program& program, const Run& run, std::size_t taken) {
  Continuation continuation;
  continuation.taken = taken;
  for (const Thread& thread : run.threads()) {
    const State& state = program.states[static_cast<std::size_t>(thread.state)];
    const int row = program.infos[static_cast<std::size_t>(state.info)].row;
    if (std::find(continuation.rows.begin(), continuation.rows.end(), row) == continuation.rows.end()) {
      continuation.rows.push_back(row);
    }
    if (state.type == State::Type::kAccept) {
      continuation.may_end = true;
      continue;
    }
    const std::vector<const Terminal*>& known = continuation.terminals;
    if (std::none_of(known.begin(), known.end(),
                     [&](const Terminal* other) { return same_terminal(*other, *state.terminal); })) {
      continuation.terminals.push_back(state.terminal);
    }
  }
  continuation.rest = taken > 0 &&
                      std::any_of(continuation.terminals.begin(), continuation.terminals.end(),
                                  [](const Terminal* terminal) { return is_rest(*terminal); }) &&
                      continuation.may_end;
  return continuation;
}

// Everything that might have been meant by a misspelt word.
std::vector<std::string> spellings(const Continuation& continuation) {
  std::vector<std::string> words;
  for (const Terminal* terminal : continuation.terminals) {
    if (is_word_terminal(*terminal)) words.push_back(terminal->text);
    words.insert(words.end(), terminal->choices.begin(), terminal->choices.end());
  }
  return words;
}

Status unexpected_end(const Continuation& continuation, std::string_view statement, const Token& last) {
  const std::size_t end = last.span.offset + last.span.length;
  return Status(Code::kInvalid, "the statement ends too early: expected " + expected_words(continuation))
      .at({std::min(end, statement.size()), 1});
}

bool changes_in_sql(const Token& token) {
  constexpr std::array<std::string_view, 6> kWords = {"INSERT", "UPDATE", "DELETE", "REPLACE", "BEGIN", "COMMIT"};
  return token.is_bare_word() && std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) {
           return equals_ignoring_case(word, token.text);
         });
}

// "IN POOL p stands before RACK": what was typed too late, where it is taken.
std::string right_place(const Grammar::Program& program, const std::vector<Token>& tokens, std::size_t taken,
                        std::string_view statement) {
  constexpr std::size_t kLongest = 3;
  constexpr std::size_t kMostTaken = 64;
  if (taken > kMostTaken || !tokens[taken].is_bare_word()) return {};
  for (std::size_t at = taken; at-- > 1;) {
    if (!tokens[at].is_bare_word()) continue;
    for (std::size_t end = taken + 1; end <= std::min(tokens.size(), taken + kLongest); ++end) {
      Run run(program);
      const auto takes = [&](std::size_t from, std::size_t to) {
        while (from < to && run.step(tokens[from], static_cast<int>(from))) ++from;
        return from == to;
      };
      if (!takes(0, at) || !takes(taken, end) || !takes(at, taken)) continue;
      const std::size_t begin = tokens[taken].span.offset;
      const Span last = tokens[end - 1].span;
      return std::string(statement.substr(begin, last.offset + last.length - begin)) + " stands before " +
             tokens[at].text;
    }
  }
  return {};
}

Status unexpected_word(const Continuation& continuation, std::string_view statement, const Token& token) {
  const std::string word = quoted_word(statement.substr(token.span.offset, token.span.length));
  const std::vector<std::string> known = spellings(continuation);
  std::string hint = token.kind == TokenKind::kSymbol ? std::string() : suggest(token.text, known);
  const bool names_only =
      !continuation.terminals.empty() &&
      std::all_of(continuation.terminals.begin(), continuation.terminals.end(),
                  [](const Terminal* terminal) { return terminal->type == Terminal::Type::kOptionName; });
  std::string message;
  if (continuation.taken == 0) {
    message = "unknown statement " + word;
    if (changes_in_sql(token)) hint = "SQL only reads here; HELP lists the statements that change things";
    if (hint.empty()) hint = "HELP lists the statements";
  } else if (names_only && token.kind != TokenKind::kSymbol) {
    message = "unknown option " + word;
    if (hint.empty()) hint = "options: " + join(known, ", ");
  } else if (continuation.terminals.size() == 1 &&
             continuation.terminals.front()->type == Terminal::Type::kOptionValue) {
    message = "option " + quoted_word(continuation.terminals.front()->text) + " takes " + expected_words(continuation) +
              ", found " + word;
  } else {
    message = "unexpected " + word + ": expected " + expected_words(continuation);
  }
  return Status(Code::kInvalid, std::move(message), std::move(hint)).at(token.span);
}

}  // namespace

Grammar::Grammar() : program_(std::make_unique<Program>()) {}
Grammar::~Grammar() = default;
Grammar::Grammar(Grammar&&) noexcept = default;
Grammar& Grammar::operator=(Grammar&&) noexcept = default;

Status Grammar::add(int row, std::string_view syntax, std::span<const OptionRow> options) {
  return program_->add(row, syntax, options);
}

Continuation Grammar::after(std::span<const Token> tokens) const {
  Run run(*program_);
  std::size_t taken = 0;
  while (taken < tokens.size() && run.step(tokens[taken], static_cast<int>(taken))) ++taken;
  return make_continuation(*program_, run, taken);
}

Result<Match> Grammar::match(std::string_view statement) const {
  const Lexed lexed = lex(statement);
  BERTH_TRY(lexed.status());
  const std::vector<Token>& tokens = lexed.tokens;
  if (tokens.empty()) return Status(Code::kInvalid, "there is no statement");
  Run run(*program_);
  std::size_t taken = 0;
  while (taken < tokens.size() && run.step(tokens[taken], static_cast<int>(taken))) ++taken;
  if (taken < tokens.size()) {
    Status unexpected = unexpected_word(make_continuation(*program_, run, taken), statement, tokens[taken]);
    return unexpected.hint().empty() ? std::move(unexpected).with_hint(right_place(*program_, tokens, taken, statement))
                                     : unexpected;
  }
  for (const Thread& thread : run.threads()) {
    const State& state = program_->states[static_cast<std::size_t>(thread.state)];
    if (state.type != State::Type::kAccept) continue;
    const RowInfo& info = program_->infos[static_cast<std::size_t>(state.info)];
    BERTH_ASSIGN(Arguments arguments, bind_arguments(*program_, info, run.chain(thread), tokens, statement));
    return Match{info.row, std::move(arguments)};
  }
  return unexpected_end(make_continuation(*program_, run, taken), statement, tokens.back());
}

std::string expected_words(const Continuation& continuation) {
  constexpr std::size_t kMostOptions = 8;
  std::vector<std::string> words;
  const auto add = [&words](std::string word) {
    if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(std::move(word));
  };
  const auto options =
      std::count_if(continuation.terminals.begin(), continuation.terminals.end(),
                    [](const Terminal* terminal) { return terminal->type == Terminal::Type::kOptionName; });
  for (const Terminal* terminal : continuation.terminals) {
    if (terminal->type == Terminal::Type::kOptionName && static_cast<std::size_t>(options) > kMostOptions) {
      add("an option");
    } else if (terminal->type == Terminal::Type::kSymbol) {
      add(quoted_word(terminal->text));
    } else if (is_word_terminal(*terminal)) {
      add(terminal->text);
    } else if (terminal->kind != nullptr) {
      add(std::string(terminal->kind->expected));
    } else {
      for (const std::string& choice : terminal->choices) add(choice);
    }
  }
  if (continuation.may_end) words.push_back("the end of the statement");
  return list_words(words);
}

namespace {

// States behind `state` that take a token or accept.
std::vector<int> reachable_terminals(const std::vector<State>& states, int state) {
  std::vector<int> found;
  std::vector<int> open{state};
  std::set<int> seen;
  while (!open.empty()) {
    const int at = open.back();
    open.pop_back();
    if (!seen.insert(at).second) continue;
    const State& now = states[static_cast<std::size_t>(at)];
    if (now.type == State::Type::kTerminal || now.type == State::Type::kAccept) {
      found.push_back(at);
      continue;
    }
    open.push_back(now.next);
    if (now.type == State::Type::kSplit) open.push_back(now.other);
  }
  return found;
}

// Whether one token may be taken by both. A bare keyword is never an argument, so words meet words only.
bool terminals_meet(const Terminal& a, const Terminal& b) {
  if (is_word_terminal(a) || is_word_terminal(b)) {
    return is_word_terminal(a) && is_word_terminal(b) && equals_ignoring_case(a.text, b.text);
  }
  const bool a_is_symbol = a.type == Terminal::Type::kSymbol;
  const bool b_is_symbol = b.type == Terminal::Type::kSymbol;
  if (a_is_symbol && b_is_symbol) return a.text == b.text;
  if (a_is_symbol || b_is_symbol) return is_rest(a) || is_rest(b);
  if (a.choices.empty() || b.choices.empty()) return true;
  return std::any_of(a.choices.begin(), a.choices.end(), [&](const std::string& choice) {
    return std::find(b.choices.begin(), b.choices.end(), choice) != b.choices.end();
  });
}

}  // namespace

bool Grammar::rows_overlap(int a, int b) const {
  const std::vector<State>& states = program_->states;
  const auto entry_of = [&](int row) {
    for (std::size_t i = 0; i < program_->infos.size(); ++i) {
      if (program_->infos[i].row == row) return program_->entries[i];
    }
    return -1;
  };
  std::vector<std::pair<int, int>> open{{entry_of(a), entry_of(b)}};
  std::set<std::pair<int, int>> seen;
  while (!open.empty()) {
    const auto [left, right] = open.back();
    open.pop_back();
    if (!seen.insert({left, right}).second) continue;
    for (const int i : reachable_terminals(states, left)) {
      for (const int j : reachable_terminals(states, right)) {
        const State& p = states[static_cast<std::size_t>(i)];
        const State& q = states[static_cast<std::size_t>(j)];
        if (p.type == State::Type::kAccept && q.type == State::Type::kAccept) return true;
        if (p.terminal == nullptr || q.terminal == nullptr) continue;
        if (terminals_meet(*p.terminal, *q.terminal)) open.push_back({p.next, q.next});
      }
    }
  }
  return false;
}

}  // namespace berth
