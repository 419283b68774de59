// What a handler receives: the words of a statement by the names its syntax gives them.
//
//   syntax  CREATE NODES <names:node_range>, ... TYPE <type:node_type> [IN POOL <pool:pool>] [WITH (<options>)]
//   handler for (const Value& name : arguments.list("names")) ...   arguments.text("type")   arguments.has("pool")
//           arguments.options().duration("boot_time")
//
// Asking for a name the syntax does not have, or for the text of an absent optional argument, is our bug and asserts.
// Every value knows its place in the statement, so a handler can point at it: arguments.fail("type", Code::kNotFound,
// "unknown node type 'a100x9'", suggest(...)).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/base/units.h"
#include "shell/kinds.h"

namespace berth {

// One `key = value` of WITH (...). Rows are the options' documentation, completion and check.
struct OptionRow {
  std::string_view name;
  std::string_view kind;           // a kind name, or choices: "csv|json"
  std::string_view default_value;  // as typed; empty = no default
  std::string_view minimum = {};   // as typed, inclusive; empty = none
  std::string_view maximum = {};
  std::string_view sentence;
  std::string_view set = {};  // which <options:set> of the syntax takes it
  bool many = false;          // also takes a list: key = (a, b)
  bool secret = false;        // what stands behind the '=' of a value 'name=...' is kept out of events
  bool required = false;
};

// Tables of options one after the other, for statements that share some of them.
template <std::size_t... kSizes>
constexpr std::array<OptionRow, (kSizes + ...)> option_table(const OptionRow (&... tables)[kSizes]) {
  std::array<OptionRow, (kSizes + ...)> all{};
  auto next = all.begin();
  ((next = std::copy(std::begin(tables), std::end(tables), next)), ...);
  return all;
}

// The options of one WITH (...), with defaults filled in.
class Options {
 public:
  // Given by the user, not defaulted.
  bool given(std::string_view name) const;
  // Given, or has a default.
  bool has(std::string_view name) const;

  const Value& value(std::string_view name) const;
  const std::vector<Value>& list(std::string_view name) const;  // empty when absent
  const std::string& text(std::string_view name) const { return value(name).text; }
  std::string text_or(std::string_view name, std::string_view other) const;
  std::int64_t integer(std::string_view name) const { return value(name).integer; }
  double real(std::string_view name) const { return value(name).real; }
  bool boolean(std::string_view name) const { return value(name).integer != 0; }
  MilliGpu gpu(std::string_view name) const { return MilliGpu(integer(name)); }
  MilliCpu cpu(std::string_view name) const { return MilliCpu(integer(name)); }
  MiB memory(std::string_view name) const { return MiB(integer(name)); }
  Seconds duration(std::string_view name) const { return Seconds(integer(name)); }
  Seconds time(std::string_view name) const { return Seconds(integer(name)); }

  // An error that points at the option's value (at nothing when it was not given).
  Status fail(std::string_view name, Code code, std::string message, std::string hint = {}) const;

 private:
  friend class ArgumentBuilder;
  friend class Arguments;
  struct Entry {
    std::vector<Value> values;
    Span key;
    bool given = false;
  };
  const Value* find(const Subject& subject, bool by_field) const;

  std::map<std::string, Entry, std::less<>> entries_;
};

using NameSet = std::set<std::string, std::less<>>;

class Arguments {
 public:
  // Whether the optional argument, or group label, was given.
  bool has(std::string_view name) const;
  // Whether the keyword was typed (upper case): for optional words and alternatives.
  bool has_word(std::string_view keyword) const { return words_.contains(keyword); }

  const Value& value(std::string_view name) const;
  const std::vector<Value>& list(std::string_view name) const;  // empty when absent
  const std::string& text(std::string_view name) const { return value(name).text; }
  std::string text_or(std::string_view name, std::string_view other) const;
  std::int64_t integer(std::string_view name) const { return value(name).integer; }
  double real(std::string_view name) const { return value(name).real; }
  MilliGpu gpu(std::string_view name) const { return MilliGpu(integer(name)); }
  MilliCpu cpu(std::string_view name) const { return MilliCpu(integer(name)); }
  MiB memory(std::string_view name) const { return MiB(integer(name)); }
  Seconds duration(std::string_view name) const { return Seconds(integer(name)); }
  Seconds time(std::string_view name) const { return Seconds(integer(name)); }
  Span span(std::string_view name) const { return value(name).span; }

  // Of <options>, or of <options:set> with that set's defaults. Defaults alone when the user gave none.
  const Options& options(std::string_view set = {}) const;
  // Each repetition of a labelled group `label:{...}, ...` in order.
  const std::vector<Arguments>& groups(std::string_view label) const;

  // The statement as typed, without `;`.
  const std::string& statement() const { return *statement_; }
  // The same for those who may not see what is secret: 'TOKEN=***'.
  std::string spoken() const;

  // An error that points at the argument.
  Status fail(std::string_view name, Code code, std::string message, std::string hint = {}) const;
  // The error points at what it is about, unless it points somewhere already: at the argument or option of the
  // subject's field - at its value, where the subject has one -, else at whatever has the subject's value.
  // Where neither was given, at the argument `otherwise`.
  Status point(Status status, std::string_view otherwise = {}) const;

 private:
  friend class ArgumentBuilder;
  const Value* find(const Subject& subject, bool by_field) const;

  std::shared_ptr<const std::string> statement_ = std::make_shared<const std::string>();  // shared with its groups
  std::vector<Span> secrets_;  // in the order of the statement
  std::map<std::string, std::vector<Value>, std::less<>> values_;
  NameSet words_;
  std::map<std::string, Options, std::less<>> options_;
  std::map<std::string, std::vector<Arguments>, std::less<>> groups_;
  std::shared_ptr<const NameSet> declared_;  // what the syntax names, to catch misspelt questions
};

}  // namespace berth
