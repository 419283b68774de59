// Opens a session on a database: the one place where the shell meets the engine.
//
// main, the statement tests and the crash tests all come through here. The session's functions (run_sql, names) and its
// runtime are set; the facts of the terminal are left to the caller.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

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

// What a query may ask for and how much it may answer: beyond that it is kInvalid.
struct QueryLimits {
  std::int64_t rows = INT64_MAX;
  std::int64_t cells = 20'000'000;
  std::int64_t bytes = std::int64_t{1} << 30;  // of texts
};
// A SELECT of a user with the values of its parameters; within a transaction it sees what has been changed.
Result<ResultTable> run_user_query(Session& session, std::string_view sql, std::span<const Cell> parameters = {},
                                   const QueryLimits& limits = {});
// SQLite names the table or column it does not know; the nearest one there is helps more.
Status with_nearest_name(Status status, const Session& session);

}  // namespace berth
