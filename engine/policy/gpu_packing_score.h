// gpu_packing: first a shared device that has room, then a free device of a node in use, then an empty node.
//
// Bands (fgd.md section 4): 50..100 when only devices in use are taken, the fuller the better; 33..50 when free devices
// of a node in use are taken, the fewer the better; up to 33 on a node without GPU work, the smaller the better. CPU
// tasks score 0 everywhere.
#pragma once

#include "engine/policy/policy.h"

namespace berth {

class GpuPackingScore : public NodeScore {
 public:
  Score score(const NodeView& node, const TaskShape& shape) const override;
};

}  // namespace berth
