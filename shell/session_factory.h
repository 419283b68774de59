// Opens a session on a database: the one place where the shell meets the engine.
//
// main, the statement tests and the crash tests all come through here. The session's functions (run_sql, names) and its
// runtime are set; the facts of the terminal are left to the caller.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "engine/base/env.h"
#include "engine/base/status.h"
#include "shell/session.h"

namespace berth {

struct SessionOptions {
  std::string database;  // created when missing, unless read_only
  bool read_only = false;
  const Env* env = nullptr;           // null = the system's clock
  std::optional<std::uint64_t> seed;  // of every random choice in this session
  std::string actor = {};             // who changes things; empty = the user's login name
};

Result<std::unique_ptr<Session>> open_session(const SessionOptions& options);

}  // namespace berth
