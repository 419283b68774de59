// A chargeback report as one HTML page that needs nothing beside it: a table, and a bar for each line.
//
// Everything that comes from the database is escaped. No scripts, no links; it prints well.
#pragma once

#include <string>
#include <vector>

#include "engine/store/account_report.h"
#include "shell/result.h"

namespace berth {

struct ChargebackPage {
  std::string title;               // "Chargeback 2026-11-01 to 2026-11-30"
  ResultTable table;               // as people see it
  std::vector<AccountLine> lines;  // the same, for the bars
  ResultTable losses;              // may be empty
  std::vector<std::string> notes;
};

std::string chargeback_page(const ChargebackPage& page);

}  // namespace berth
