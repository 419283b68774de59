// The nodes of a ledger as rankings see them: in rank order, with class, a glance at what is free, and who changed
// last.
//
// A place is a node's position in rank order. follow() catches up with the ledger's log of changes, each node once and
// without those that are again what they were; all readers share that work. Classes are numbered anew when far more
// have been seen than there are nodes, so memory stays bounded in a long-lived process; memos by class are void then.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/policy/node_classes.h"
#include "engine/policy/recent_nodes.h"
#include "engine/policy/score_tree.h"

namespace berth {

// What tells at a glance that a task cannot fit. Small, for it is read for every shape and every change.
struct PlaceState {
  ClassIndex node_class = -1;
  Score memory = -1;               // free node memory, MiB; -1 = takes no tasks
  std::int32_t cpu = 0;            // free, milli-cores
  std::int16_t most_milli = 0;     // free on one device
  std::int16_t whole_devices = 0;  // wholly free

  bool operator==(const PlaceState&) const = default;
};

// Node memory as a tree entry.
Score memory_entry(MiB memory);

class NodeStates {
 public:
  // rank[node] = place; empty = node order.
  NodeStates(const Ledger& ledger, ScoreSensitivity sensitivity, std::span<const std::int32_t> rank);

  // True when classes have been numbered anew.
  bool follow();
  // Numbers the classes that nodes have now in order of place, so that passes over all places read them in sequence,
  // and forgets the others.
  void renumber_classes();

  std::size_t size() const { return node_at_.size(); }
  NodeIndex node_at(std::size_t place) const { return node_at_[place]; }
  std::size_t place_of(NodeIndex node) const { return place_of_[static_cast<std::size_t>(node)]; }
  const PlaceState& at(std::size_t place) const { return places_[place]; }
  const NodeClasses& classes() const { return classes_; }
  const ScoreTree& memory() const { return memory_; }
  const RecentNodes& recent() const { return recent_; }

 private:
  // True when it is not as it was.
  bool read(std::size_t place);

  const Ledger* ledger_;
  std::size_t ledger_position_;
  std::vector<std::uint64_t> read_at_;  // by place: the last call of follow() that read it
  std::uint64_t follows_ = 0;
  std::vector<NodeIndex> node_at_;
  std::vector<std::size_t> place_of_;
  std::vector<PlaceState> places_;
  NodeClasses classes_;
  ScoreTree memory_;
  RecentNodes recent_;
};

}  // namespace berth
