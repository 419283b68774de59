// sjf: the job that is expected to run shortest first.
//
// Expected is the median of the prediction, or its 80th or 90th percentile (OrderKnobs::sjf_percentile), which puts
// jobs about which little is known behind those known to be short; of a job that nothing is predicted for, its own time
// limit; jobs with neither come last. An estimate of no time is one, where it was given as such
// (DurationEstimate::is_given). Ties by (submit, id). With predictions this is the order of "MLaaS in the Wild"
// (NSDI'22), with durations that are known (a simulation's oracle) the classical one. Long jobs may wait without bound
// behind a stream of short ones.
#pragma once

#include "engine/policy/policy.h"

namespace berth {

class SjfOrder : public KeyedOrder {
 public:
  OrderKey key(const Job& job, const OrderInput& input) const override;
  bool is_fixed() const override { return true; }
};

}  // namespace berth
