// Finds the victims that make room for a gang at least cost: node by node, or rack by rack.
//
// What must lie together is looked for together: a required node or link group asks one node for all tasks of the group
// at once, a required rack one rack; else node after node gives room for one task more, the cheapest first. On a node
// victims are taken in the order of VictimIndex, surplus of elastic jobs before whole jobs, until it has room; then,
// last taken first, each without which it still has room is spared. So one node is cleared, not half the cluster.
//
// Of two nodes the one goes first whose victims are all beyond their quota, then have the lower class, then lose less
// for each task that it gains, then are fewer, then have run for less time, then the lower index.
//
// Counts; it neither changes the ledger nor knows of quotas, link groups across tasks or competing groups: the caller
// tries the placement, and asks for more room if it does not hold.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "engine/round/victims.h"

namespace berth {

class RoomSearch {
 public:
  RoomSearch(const RoundState& state, const VictimIndex& index, std::span<const VictimReach> reach,
             VictimChoice& choice, Seconds now)
      : state_(state), index_(index), reach_(reach), choice_(choice), now_(now) {}

  // Chooses victims until the needed tasks of the group fit by count. False: not even with all of them.
  bool make_room(const TaskGroup& group);
  // Chooses victims for one place more than there are. False: there is none.
  bool make_one_more(const TaskGroup& group);

 private:
  // What must fit on one node: so many tasks of the group at once.
  struct Unit {
    const TaskGroup* group = nullptr;
    std::int32_t tasks = 1;
  };
  struct Step {
    std::size_t victim = 0;
    std::size_t from = 0;
    std::size_t to = 0;
  };
  struct Offer {
    bool is_possible = false;
    std::int64_t highest_class = 0;
    bool loses_quota = false;  // some victim does
    double lost_per_gain = 0;
    std::size_t victims = 0;
    std::int64_t runtime = 0;
    std::vector<Step> steps;

    bool is_better_than(const Offer& other) const;
  };

  bool make_room_in_rack(const TaskGroup& group);
  bool make_room_on(const Unit& unit, std::span<const NodeIndex> nodes, std::int64_t missing);
  std::vector<NodeIndex> nodes_for(const TaskGroup& group) const;
  // Units that fit on the node with what is chosen, at most `most`.
  std::int32_t count(NodeIndex node, const Unit& unit, std::int32_t most) const;
  Offer offer(NodeIndex node, const Unit& unit);
  std::size_t next_level(std::size_t victim, NodeIndex node, bool whole) const;
  bool take(const Offer& offer);

  const RoundState& state_;
  const VictimIndex& index_;
  std::span<const VictimReach> reach_;
  VictimChoice& choice_;
  Seconds now_;
};

}  // namespace berth
