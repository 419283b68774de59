// las: the job that has had least service first, in levels (discretised two-dimensional least attained service).
//
// Service = run time x GPUs (OrderKnobs::las_by_gpu; else run time alone). A job is on the level of the number of
// thresholds (OrderKnobs::las_thresholds, ascending) that its service has reached: lower levels first, (submit, id)
// inside one. A new job is on level 0; short jobs end before they leave it, so no prediction is needed.
//
// Job::attained says what ended attempts got, in milli-GPU-seconds; for a job that runs, who compares it with waiting
// ones (preemption = replan) adds what this attempt got so far. While a job waits its service does not change.
// Source: Gu et al., Tiresias, NSDI'19.
#pragma once

#include "engine/policy/policy.h"

namespace berth {

// Service in the thresholds' unit: milli-GPU-seconds, or milliseconds of run time. A job without GPUs counts as one
// with a whole GPU.
std::int64_t las_service(const Job& job, const OrderKnobs& knobs);
std::size_t las_level(std::int64_t service, const OrderKnobs& knobs);

class LasOrder : public KeyedOrder {
 public:
  OrderKey key(const Job& job, const OrderInput& input) const override;
  bool is_fixed() const override { return true; }
  bool has_levels() const override { return true; }
};

}  // namespace berth
