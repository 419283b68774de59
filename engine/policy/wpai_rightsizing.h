// wpai: the request follows the last few runs, as 58.com's WPAI platform has it (algorithms.md 2.2).
//
// Two digests of the same article disagree; both are here as variants, every parameter can be set by itself:
//
//              variant A                           variant B
//   GPU        90 % of the mean utilisation        the greater of the mean utilisation and 90 % of the peak device
//              of the last 3 runs                  memory, as a share of the device
//   CPU        50 % of the highest peak            50 % of the mean use
//
// Utilisation is read as a share of a device: 63 % busy asks for 0.63 of one. Host memory is not in the article: the
// request stands. Variant B also has a CPU limit, 50 % of the highest peak: Berth knows requests only, and a limit
// below the peak slows a job down by construction. Device memory of the share is left to the guard rails, which keep it
// above the observed peak.
#pragma once

#include "engine/policy/rightsizing.h"

namespace berth {

class WpaiRightsizing : public RightsizePolicy {
 public:
  explicit WpaiRightsizing(const RightsizeKnobs& knobs);
  RightsizeWish wish(const RightsizeInput& input) const override;

 private:
  std::int64_t window_;
  std::int64_t gpu_util_factor_;  // percent, as all factors
  std::int64_t gpu_mem_factor_;   // 0 = memory does not count
  std::int64_t cpu_req_factor_;
  UsageStatistic cpu_req_stat_;
};

}  // namespace berth
