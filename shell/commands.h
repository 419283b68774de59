// Commands are rows: dispatch, HELP, completion, the uniqueness test and the docs come from the same row.
//
// Each cmd_*.cpp holds the handlers of one family and exports its rows as a span; families.cpp lists the families.
// Adding a statement is a handler, a row and a .test file.
//
//   constexpr OptionRow kNodeTypeOptions[] = {
//       {.name = "cpu", .kind = "cpu", .default_value = "1", .sentence = "CPU cores."}};
//   constexpr CommandRow kClusterRows[] = {
//       {.family = "cluster",
//        .syntax = "CREATE NODE TYPE <name:new_name> [WITH (<options>)]",
//        .effect = Effect::kChanges,
//        .handler = create_node_type,
//        .summary = "Describes a kind of node.",
//        .example = "CREATE NODE TYPE a100x8 WITH (cpu = 96)",
//        .options = kNodeTypeOptions}};
//
// Options that several statements share stand in one table; option_table() of arguments.h puts tables together.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "shell/arguments.h"
#include "shell/grammar.h"
#include "shell/result.h"
#include "shell/session.h"

namespace berth {

enum class Effect : std::uint8_t {
  kReads,     // allowed in a read-only session
  kChanges,   // refused there
  kTerminal,  // concerns this terminal only
};

using Handler = Result<Output> (*)(Session& session, const Arguments& arguments);
// What to ask before a destructive statement on a terminal, e.g. "Cancel 214 jobs?"; empty = go ahead.
using Question = Result<std::string> (*)(Session& session, const Arguments& arguments);

struct CommandRow {
  std::string_view family;  // heading in HELP
  std::string_view syntax;  // notation of grammar.h
  Effect effect = Effect::kReads;
  Handler handler = nullptr;
  std::string_view summary;  // one sentence
  std::string_view example;  // one statement that parses, without `;`
  std::span<const OptionRow> options = {};
  std::string_view details = {};  // further sentences for HELP
  Question ask = nullptr;
  bool plannable = true;              // of those that change: PLAN <statement> looks at it first (families.cpp)
  const CommandRow* plans = nullptr;  // PLAN <statement>: the row of the statement; not listed by HELP
  bool transactional = false;         // may stand in a transaction (as what reads or is plannable may anyhow)
};

// For rows that always ask.
Result<std::string> ask_always(Session& session, const Arguments& arguments);

class CommandTable {
 public:
  // kInternal naming the row when a syntax, option or default is wrong. The rows must outlive the table.
  static Result<CommandTable> build(std::span<const std::span<const CommandRow>> families);

  const std::vector<const CommandRow*>& rows() const { return rows_; }
  // Without the PLAN of each change.
  std::vector<const CommandRow*> listed_rows() const;
  const Grammar& grammar() const { return grammar_; }

  struct Call {
    const CommandRow* row = nullptr;
    Arguments arguments;
  };
  // The row that takes the statement, words bound and options checked.
  Result<Call> parse(std::string_view statement) const;

 private:
  std::vector<const CommandRow*> rows_;
  Grammar grammar_;
};

// What a handler may rely on, where the caller has not set it.
void complete_session(Session& session);

// Parses and runs one statement (without `;`). kInvalid, kConflict for a change in a read-only session, or the
// handler's error.
Result<Output> execute(Session& session, std::string_view statement);
// What becomes of a statement that memory does not suffice for.
Status out_of_memory();

}  // namespace berth
