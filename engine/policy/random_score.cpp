#include "engine/policy/random_score.h"

#include <bit>

#include "engine/model/hash.h"

namespace berth {

int RandomScore::choose_device(const NodeView& node, const TaskShape& shape, DeviceMask feasible) const {
  std::uint64_t draw = seed_;
  hash_add(draw, TaskShapeHash()(shape));
  hash_add(draw, static_cast<std::uint64_t>(node.cpu.value()));
  hash_add(draw, static_cast<std::uint64_t>(node.memory.value()));
  for (const std::int32_t milli : node.milli) hash_add(draw, static_cast<std::uint64_t>(milli));
  for (std::uint64_t skip = draw % static_cast<std::uint64_t>(std::popcount(feasible)); skip > 0; --skip) {
    feasible &= feasible - 1;
  }
  return std::countr_zero(feasible);
}

}  // namespace berth
