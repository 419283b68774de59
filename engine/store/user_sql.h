// What SQL that users wrote may take: no call of one function is to be long, for SQLite cannot be interrupted within.
//
// instr(), replace() and trim() of two arguments are ours: SQLite's own take the product of both lengths. json_patch(),
// which does so too, is refused, and printf() where it repeats a character for long. What is linear, and LIKE with its
// short patterns, is bounded by the length of texts.
#pragma once

#include "engine/base/status.h"
#include "engine/store/sqlite.h"

namespace berth {

// On a connection without statements.
Status add_linear_functions(sqlite3* connection);

// While it lives no text, blob or row on the connection is longer than kMostBytes, no pattern of LIKE or GLOB than
// kMostPattern. What is stored and longer cannot be read meanwhile.
class UserSqlLimits {
 public:
  static constexpr int kMostBytes = 8 << 20;
  static constexpr int kMostPattern = 100;

  explicit UserSqlLimits(Database& db);
  ~UserSqlLimits();
  UserSqlLimits(const UserSqlLimits&) = delete;
  UserSqlLimits& operator=(const UserSqlLimits&) = delete;

 private:
  Database& db_;
  int bytes_before_;
  int pattern_before_;
};

}  // namespace berth
