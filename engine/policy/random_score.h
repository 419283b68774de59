// random: any feasible node with equal chance, any feasible device with equal chance.
//
// The node is drawn by Candidates from its seeded stream. The device is drawn by hashing the seed, the task and the
// state of the node, so that the policy stays a pure function.
#pragma once

#include "engine/policy/policy.h"

namespace berth {

class RandomScore : public NodeScore {
 public:
  explicit RandomScore(std::uint64_t seed) : seed_(seed) {}

  Score score(const NodeView&, const TaskShape&) const override { return 0; }
  int choose_device(const NodeView& node, const TaskShape& shape, DeviceMask feasible) const override;
  bool picks_at_random() const override { return true; }

 private:
  std::uint64_t seed_;
};

}  // namespace berth
