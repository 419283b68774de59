#include "engine/sim/job_times.h"

#include <algorithm>

namespace berth {

void JobTimes::add(Seconds submit, Seconds start, Seconds end) {
  const std::int64_t wait = (start - submit).value();
  waits_.push_back(wait);
  wait_sum_ += wait;
  completion_sum_ += (end - submit).value();
  last_end_ = std::max(last_end_, end);
}

void JobTimes::report(Seconds first_submit, SimulationRow& row) {
  if (waits_.empty()) return;
  std::ranges::sort(waits_);
  const double jobs = static_cast<double>(waits_.size());
  row.wait_mean = static_cast<double>(wait_sum_) / jobs;
  row.wait_p50 = percentile(waits_, 500);
  row.wait_p90 = percentile(waits_, 900);
  row.wait_p99 = percentile(waits_, 990);
  row.completion_mean = static_cast<double>(completion_sum_) / jobs;
  row.makespan = (last_end_ - first_submit).value();
}

}  // namespace berth
