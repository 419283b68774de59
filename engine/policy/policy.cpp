#include "engine/policy/policy.h"

#include <bit>

namespace berth {

int NodeScore::choose_device(const NodeView& node, const TaskShape& shape, DeviceMask feasible) const {
  (void)shape;
  int best = std::countr_zero(feasible);
  for (DeviceMask rest = feasible & (feasible - 1); rest != 0; rest &= rest - 1) {
    const int device = std::countr_zero(rest);
    if (node.milli[static_cast<std::size_t>(device)] < node.milli[static_cast<std::size_t>(best)]) best = device;
  }
  return best;
}

}  // namespace berth
