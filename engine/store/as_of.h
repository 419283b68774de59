// as_of('jobs', '2026-11-01 09:00') in a SELECT: a table or view as it was.
//
// SQLite cannot make tables whose columns depend on an argument, so the text is rewritten: each as_of(...) becomes the
// table of a database in memory (past_tables.h), attached to the connection under a name of its own. Those of the last
// moments stay attached, so asking again costs nothing. Lengths are kept: places in error messages stay true.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/store/history.h"

namespace berth {

struct AsOfCall {
  Span span;  // of the whole call
  std::string relation;
  Span relation_span;
  std::string moment;
  Span moment_span;
};
// kInvalid for a call that is none: both arguments must be written out.
Result<std::vector<AsOfCall>> find_as_of(std::string_view sql);

class PastQueries {
 public:
  // On a connection that only reads, which must outlive it.
  explicit PastQueries(Database& db) : db_(&db) {}

  // A SELECT that may contain as_of(...).
  Result<Statement> prepare(std::string_view sql, Seconds now);

 private:
  struct Attached {
    std::string schema;
    Moment moment;
    std::vector<std::string> relations;
    std::int64_t last_use = 0;
  };
  Result<std::string> schema_for(const Moment& moment, const std::vector<std::string>& relations, std::int64_t use);
  Result<std::string> rewritten(std::string_view sql, const std::vector<AsOfCall>& calls, Seconds now);
  Status detach(std::size_t index);

  Database* db_;
  std::vector<Attached> attached_;
  std::int64_t uses_ = 0;
  std::int64_t made_ = 0;
};

}  // namespace berth
