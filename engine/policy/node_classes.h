// Numbers for node states: nodes in which every task finds the same are of one class.
//
// The class of a node is its kind, free CPU, what is free on each device (milli, and memory where the model's memory is
// tracked) and, if the policy is sensitive to them, free node memory and tenants. Devices stand in canonical order:
// sorted inside each set of devices that lie in the same link groups, so a class answers every question of feasibility
// but node memory exactly. Classes are found by hashing the state; they live until clear().
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/policy/policy.h"

namespace berth {

using ClassIndex = std::int32_t;

class NodeClasses {
 public:
  NodeClasses(const Cluster& cluster, ScoreSensitivity sensitivity);

  // The class of a node in this state; a new one if it has not been seen.
  ClassIndex intern(const NodeView& node);
  // The state, valid until the next intern() or clear(). Memory that is not part of the class is without bound.
  NodeView view(ClassIndex index) const;
  void prefetch(ClassIndex index) const {
    const std::int32_t* const words = words_.data() + states_[static_cast<std::size_t>(index)].words;
    __builtin_prefetch(words);
    __builtin_prefetch(words + 16);
  }
  std::size_t count() const { return states_.size(); }
  void clear();

 private:
  struct State {
    std::uint64_t hash = 0;
    std::size_t words = 0;  // offset into words_
  };
  // Sets of devices that may change places, as runs in device_order_.
  struct Layout {
    std::uint32_t first = 0;
    std::vector<std::uint32_t> set_ends;
  };

  Layout lay_out(const NodeKind& kind);
  void write_state(const NodeView& node);
  void write_devices(const NodeView& node, const Layout& layout);
  void grow_table();

  const Cluster* cluster_;
  ScoreSensitivity sensitivity_;
  std::vector<Layout> layouts_;             // by kind
  std::vector<std::uint8_t> device_order_;  // per kind: devices, sets one after the other
  std::vector<std::int32_t> words_;         // states one after the other
  std::vector<State> states_;               // by class
  std::vector<ClassIndex> table_;           // open addressing; -1 = empty; a power of two long
  std::vector<std::int32_t> pending_;       // the state being looked up
};

}  // namespace berth
