// SHOW LOANS: which jobs will stop for the return of loans, as things are now.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/runtime/runtime.h"

namespace berth {

struct LoanOutlook {
  struct Stop {
    std::string job;
    std::string queue;
    std::int64_t tasks = 0;  // that it gives up; 0 = it ends
    Seconds stop_at;
    std::int64_t lost = 0;  // milli-GPU-seconds
    bool was_told = false;  // by a round; else one in the grace of the loan will
  };
  std::int64_t loan = 0;
  std::vector<Stop> stops;
  std::string missing;  // "4 A100": what nobody can be stopped for; empty = nothing
};

// Of the loans that hold and have a return grace, in the order in which they end; reads only.
Result<std::vector<LoanOutlook>> loan_outlook(Runtime& runtime);

}  // namespace berth
