// qssf: least_work as Helios' simulator runs it: a queue that holds only jobs of this very second is by GPUs alone.
//
// Where an older job waits in the same queue, or a second later: expected run time x GPUs (least_work_order.h), equals
// by GPUs, then (submit, id). Exists to reproduce published results; least_work is the same without the exception.
// Source: Hu et al., Helios, SC'21, artifact.
#pragma once

#include "engine/policy/policy.h"

namespace berth {

class QssfOrder : public QueueOrder {
 public:
  std::vector<std::int32_t> order(const OrderInput& input) const override;
  // A second after the last arrival.
  std::optional<Seconds> changes_at(const OrderInput& input) const override;
};

}  // namespace berth
