// Whether a job could ever start: would it, if nothing else ran?
//
// Each task group is placed alone on the empty cluster; equal groups are asked about once. Exact for jobs of one group.
// Several groups may each fit alone and not together: that is for the caller to find out when nothing else runs any
// more.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "engine/model/demand_key.h"
#include "engine/round/placer.h"

namespace berth {

class EmptyCluster {
 public:
  // `cluster` must outlive this.
  explicit EmptyCluster(const Cluster& cluster) : ledger_(cluster), placer_(ledger_, any_node_) {}
  EmptyCluster(const EmptyCluster&) = delete;
  EmptyCluster& operator=(const EmptyCluster&) = delete;

  // Nothing when it fits; else the reason in a sentence's half: "8 tasks must start together, 3 fit".
  std::optional<std::string> why_never(const Job& job);

 private:
  class AnyNode : public NodeScore {
   public:
    Score score(const NodeView&, const TaskShape&) const override { return 0; }
  };
  std::optional<std::string> why_never(const TaskGroup& group);

  AnyNode any_node_;
  Ledger ledger_;
  Placer placer_;
  std::map<DemandKey, std::optional<std::string>> known_;
  DemandKey key_;  // asked for last
};

}  // namespace berth
