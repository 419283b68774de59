// gpu_clustering: tasks of one class of GPU demand go together, fractions with fractions and n-device tasks with their
// like.
//
// b = 25 (8 devices - free GPU) / 8 devices prefers fuller nodes; a node that holds only this class adds 75, one that
// holds this class among others 50, one without GPU tasks 25, one with other classes 0 (fgd.md section 4). CPU tasks
// score 0 everywhere.
#pragma once

#include "engine/policy/policy.h"

namespace berth {

class GpuClusteringScore : public NodeScore {
 public:
  ScoreSensitivity sensitivity() const override { return {.tenants = true}; }
  Score score(const NodeView& node, const TaskShape& shape) const override;
};

}  // namespace berth
