#include "engine/sim/fragment_meter.h"

namespace berth {

FragmentMeter::FragmentMeter(const Ledger& ledger, std::span<const WorkloadShape> workload)
    : ledger_(ledger), fragmentation_(workload, ledger.cluster().models.size()), by_node_(ledger.node_count()) {
  for (std::size_t node = 0; node < by_node_.size(); ++node) {
    by_node_[node] = measure(static_cast<NodeIndex>(node));
    total_ += by_node_[node];
  }
}

void FragmentMeter::follow(NodeIndex node) {
  double& fragmented = by_node_[static_cast<std::size_t>(node)];
  const double now = measure(node);
  total_ += now - fragmented;
  fragmented = now;
}

double FragmentMeter::measure(NodeIndex node) const {
  const NodeView view = ledger_.view(node);
  return fragmentation_.of(view.kind->model, view.cpu.value(), view.milli);
}

}  // namespace berth
