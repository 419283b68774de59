// Waits and completions of the jobs that started, and their summary.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/sim/simulation.h"

namespace berth {

class JobTimes {
 public:
  void add(Seconds submit, Seconds start, Seconds end);
  // Fills the wait, completion and makespan columns; leaves them empty when nothing started.
  void report(Seconds first_submit, SimulationRow& row);

 private:
  std::vector<std::int64_t> waits_;
  std::int64_t wait_sum_ = 0;
  std::int64_t completion_sum_ = 0;
  Seconds last_end_;
};

}  // namespace berth
