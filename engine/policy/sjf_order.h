// sjf: the job that is expected to run shortest first.
//
// Expected is the median of the prediction; of a job that nothing is predicted for, its own time limit; jobs with
// neither come last. Ties by (submit, id). With predictions this is the order of "MLaaS in the Wild" (NSDI'22), with
// durations that are known (a simulation's oracle) the classical one. Long jobs may wait without bound behind a stream
// of short ones.
#pragma once

#include "engine/policy/policy.h"

namespace berth {

class SjfOrder : public QueueOrder {
 public:
  std::vector<std::int32_t> order(const OrderInput& input) const override;
  bool is_fixed() const override { return true; }
};

}  // namespace berth
