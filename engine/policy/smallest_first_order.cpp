#include "engine/policy/smallest_first_order.h"

namespace berth {

OrderKey SmallestFirstOrder::key(const Job& job, const OrderInput&) const {
  MilliCpu cpu;
  for (const TaskGroup& group : job.groups) cpu += group.shape.cpu * group.count;
  return {job.gpu_total().value(), cpu.value()};
}

}  // namespace berth
