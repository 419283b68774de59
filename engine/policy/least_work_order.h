// least_work: the job with the least GPU time left first - what it is expected to run, times its GPUs.
//
// As sjf, by expected run time x GPUs; jobs about which nothing is known come last. Equals by GPUs, then (submit, id).
// Between time alone and size alone: it serves the most jobs per GPU-hour. Source: "shortest-gpu" of Tiresias (NSDI'19)
// and QSSF of Helios (SC'21).
#pragma once

#include "engine/policy/policy.h"

namespace berth {

class LeastWorkOrder : public KeyedOrder {
 public:
  OrderKey key(const Job& job, const OrderInput& input) const override;
  bool is_fixed() const override { return true; }
};

}  // namespace berth
