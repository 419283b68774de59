// Runs a Lua script of an administrator: RUN SCRIPT and berth --script.
//
// The fence of engine/lua without a budget of instructions: it ends when it is interrupted, after time_limit, or when
// its memory is used up. It has the table `berth` (script_api.h) beside the library of policies.
#pragma once

#include <string>
#include <vector>

#include "engine/base/units.h"
#include "shell/session.h"

namespace berth {

struct AdminScript {
  std::string file;
  std::vector<std::string> arguments;  // berth.args
  Seconds time_limit{0};               // 0 = none
  MiB memory{256};
  bool one_transaction = false;  // all of it, or nothing
};

// Prints while it runs. Errors are the script's, "nightly.lua:12: ...", with the code of the statement that failed;
// kUnavailable when the file cannot be read.
Result<Output> run_admin_script(Session& session, const AdminScript& script);

}  // namespace berth
