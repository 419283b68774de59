// The automaton behind the grammar: how rows are compiled, run over tokens, and what a run has bound.
//
// Used by grammar.cpp and binding.cpp only. States are compiled backwards (each piece is given the state that follows
// it), so every entry is known when it is needed. A thread is a state and the end of a chain of events; chains share
// their beginnings.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shell/grammar.h"
#include "shell/syntax.h"

namespace berth {

struct OptionSpec {
  const OptionRow* row = nullptr;
  const KindRow* kind = nullptr;  // null = choices
  std::vector<std::string> choices;
  std::optional<Value> default_value;
  std::optional<Value> minimum;
  std::optional<Value> maximum;
};

// What one row's syntax names; by scope: "" is the statement, others are group labels.
struct RowInfo {
  int row = -1;
  std::vector<OptionSpec> options;
  std::map<std::string, std::vector<std::string>, std::less<>> option_sets;  // scope -> sets
  std::shared_ptr<NameSet> declared = std::make_shared<NameSet>();

  const OptionSpec* find_option(std::string_view name, std::string_view set) const;
};

struct State {
  enum class Type : std::uint8_t { kTerminal, kSplit, kGroupBegin, kGroupEnd, kAccept };
  Type type = Type::kSplit;
  int next = -1;
  int other = -1;                      // of kSplit, tried second
  const Terminal* terminal = nullptr;  // of kTerminal
  int info = -1;                       // index of the row's RowInfo
  std::string label;                   // of groups
};

struct BindEvent {
  int previous = -1;
  int state = -1;
  int token = -1;  // of kTerminal
};

struct Thread {
  int state = -1;
  int event = -1;  // last of its chain
};

struct Grammar::Program {
  std::vector<State> states;
  std::deque<Terminal> terminals;
  std::vector<RowInfo> infos;
  std::vector<int> entries;  // first state of each row, in order

  Status add(int row, std::string_view syntax, std::span<const OptionRow> options);
};

// One pass over tokens.
class Run {
 public:
  explicit Run(const Grammar::Program& program);

  // False when no thread can take the token; the threads then stay as they were.
  bool step(const Token& token, int index);

  const std::vector<Thread>& threads() const { return threads_; }  // at terminals and accepts only, first choice first
  std::vector<BindEvent> chain(const Thread& thread) const;        // first event first

 private:
  void follow(int state, int event, std::vector<Thread>& into);
  int record(int previous, int state, int token);

  const Grammar::Program& program_;
  std::vector<BindEvent> events_;
  std::vector<Thread> threads_;
  std::vector<std::uint32_t> seen_;  // step in which a state was last entered
  std::uint32_t step_ = 0;
};

bool terminal_takes(const Terminal& terminal, const Token& token);
bool is_word_terminal(const Terminal& terminal);  // a keyword or option name
bool is_rest(const Terminal& terminal);

// Events and tokens of an accepted statement to arguments: values read, options checked and defaulted.
Result<Arguments> bind_arguments(const Grammar::Program& program, const RowInfo& info,
                                 const std::vector<BindEvent>& events, const std::vector<Token>& tokens,
                                 std::string_view statement);

}  // namespace berth
