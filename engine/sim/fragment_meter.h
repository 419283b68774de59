// How fragmented the whole cluster is, kept up to date one changed node at a time.
//
// Sum over nodes of FGD's F (policy/fragmentation.h). A decision changes one node, so following it costs one evaluation
// of F.
#pragma once

#include <vector>

#include "engine/model/ledger.h"
#include "engine/policy/fragmentation.h"

namespace berth {

class FragmentMeter {
 public:
  // `ledger` must outlive this.
  FragmentMeter(const Ledger& ledger, std::span<const WorkloadShape> workload);

  // To be called after `node` changed.
  void follow(NodeIndex node);
  // Milli-GPU that the typical task cannot use.
  double total() const { return total_; }

 private:
  double measure(NodeIndex node) const;

  const Ledger& ledger_;
  Fragmentation fragmentation_;
  std::vector<double> by_node_;
  double total_ = 0;
};

}  // namespace berth
