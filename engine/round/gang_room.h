// Could a gang fit, at a glance: counted per node, kept up to date while nodes change one by one.
//
// For each group: how many of its tasks fit on each node, added up over what its required locality allows - the
// cluster, a rack, a node. Exact for one group without link groups; else no less than what fits: "no" is certain, "yes"
// is for the placer to try.
#pragma once

#include <vector>

#include "engine/model/job.h"
#include "engine/model/ledger.h"
#include "engine/policy/policy.h"

namespace berth {

class GangRoom {
 public:
  // Counts every node once. Ledger and policy must outlive it.
  GangRoom(const Ledger& ledger, const Job& job, const NodeScore& policy);

  // The node has changed.
  void recount(NodeIndex node);
  bool may_suffice() const;

 private:
  struct GroupRoom {
    const TaskGroup* group = nullptr;
    std::int32_t needed = 0;
    std::vector<std::int32_t> fits = {};   // by node
    std::vector<std::int64_t> total = {};  // by place: the cluster, racks or nodes
    std::int64_t enough = 0;               // places with room for all
  };
  // Where tasks on that node count; -1 = nowhere.
  std::int32_t place_of(const GroupRoom& room, NodeIndex node) const;
  void recount(GroupRoom& room, NodeIndex node) const;

  const Ledger& ledger_;
  const NodeScore& policy_;
  std::vector<TaskGroup> groups_;
  std::vector<GroupRoom> rooms_;
};

}  // namespace berth
