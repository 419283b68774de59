// When waiting jobs were expected to start, as rows: told once a wait, never changed. What came of them is the view
// eta. What was told of a job that its user then holds means nothing any more: it is told anew when it is released.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/policy/start_calibration.h"
#include "engine/store/sqlite.h"

namespace berth {

struct ExpectationRow {
  std::int64_t job = 0;
  Seconds made_at;
  Seconds forecast;  // before it was corrected
  ExpectedStart expected;
  std::int64_t known_starts = 0;  // when it was told, see StartCalibration

  bool operator==(const ExpectationRow&) const = default;
};

// Of the newest live jobs, pending ones of whose present wait nothing has been told; in id order.
Result<std::vector<std::int64_t>> jobs_to_tell(Database& db, std::int64_t most);
// In a transaction of its own: an expectation is no part of the cluster's state.
Status save_expectations(Database& db, std::span<const ExpectationRow> rows);
// The last one of a job that still means something; nothing = none was told.
Result<std::optional<ExpectationRow>> last_expectation(Database& db, std::int64_t job);

// What the last expectations and the starts that followed teach.
Result<StartCalibration> read_start_calibration(Database& db);

}  // namespace berth
