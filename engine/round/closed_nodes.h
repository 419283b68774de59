// Nodes that accept no tasks for a while, as where a search for room keeps off them.
#pragma once

#include <vector>

#include "engine/model/ledger.h"

namespace berth {

class ClosedNodes {
 public:
  explicit ClosedNodes(Ledger& ledger) : ledger_(ledger) {}
  ClosedNodes(const ClosedNodes&) = delete;
  ClosedNodes& operator=(const ClosedNodes&) = delete;
  ~ClosedNodes() {
    for (const NodeIndex node : closed_) ledger_.set_accepts(node, true);
  }

  // Until the end of this object; nothing where the node is closed already.
  void close(NodeIndex node) {
    if (!ledger_.accepts_tasks(node)) return;
    ledger_.set_accepts(node, false);
    closed_.push_back(node);
  }

 private:
  Ledger& ledger_;
  std::vector<NodeIndex> closed_;
};

}  // namespace berth
