// A checksum a row of what matters and nothing else knows: texts of events, plans, task groups, commands of jobs and
// policies; counts of rounds; loans.
//
// A flipped bit in them breaks no constraint and no index. The connections on which Berth writes keep the column
// `checksum` of those rows, by temporary triggers: whatever statement writes a row, its checksum is written with it.
// Rows of other programs, and those of older ones, have none.
#pragma once

#include <string>
#include <vector>

#include "engine/store/sqlite.h"

namespace berth {

// From now on this connection writes checksums.
Status keep_row_sums(Database& db);

// Rows whose checksum is not that of their columns.
struct ChangedRow {
  std::string table;
  std::string key;
};
Result<std::vector<ChangedRow>> find_changed_rows(Database& db);

// For who rewrites rows on a connection that keeps no checksums.
Status forget_row_sums(Database& db);

}  // namespace berth
