// histogram: a percentile of past use, old runs counting less, and a margin (the form of Autopilot, EuroSys'20, and of
// Kubernetes' Vertical Pod Autoscaler; peers.md 4.4, algorithms.md 5.9).
//
//   CPU, GPU                   the 90th percentile of the runs' means (or their mean), plus 10 %
//   memory, device memory      the highest of the runs' peaks (or a percentile), plus 10 %
//
// A run weighs 2^(-age / half-life), longer for memory than for compute. Those systems watch one long-lived service
// and need buckets for its thousands of samples; here a sample is a run, at most a few dozen are kept, and the
// percentile is taken from them as they are. The half-lives are theirs times 14, keeping the ratio of 1 to 4: jobs come
// again after days, not minutes.
#pragma once

#include "engine/policy/rightsizing.h"

namespace berth {

class HistogramRightsizing : public RightsizePolicy {
 public:
  explicit HistogramRightsizing(const RightsizeKnobs& knobs) : knobs_(knobs) {}
  RightsizeWish wish(const RightsizeInput& input) const override;

 private:
  RightsizeKnobs knobs_;
};

}  // namespace berth
