// The arguments of the program, as data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/base/units.h"
#include "shell/session.h"

namespace berth {

struct CommandLine {
  enum class InputKind : std::uint8_t { kStatements, kFile, kStandardInput, kScript };
  struct Input {
    InputKind kind;
    std::string text;                         // statements or file name
    std::vector<std::string> arguments = {};  // of a Lua script
  };

  std::string database;  // empty = $BERTH_DB, else ./berth.db
  OutputMode mode = OutputMode::kTable;
  Seconds timeout{0};  // 0 = none
  bool read_only = false;
  bool keep_going = false;
  bool help = false;
  bool version = false;
  std::vector<Input> inputs;  // in order; none = the terminal, or standard input when it is no terminal
};

// Without the program's name. kInvalid with the nearest option.
Result<CommandLine> read_command_line(const std::vector<std::string>& arguments);

std::string_view usage_text();

}  // namespace berth
