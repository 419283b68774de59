// Numbers for node states: nodes in which every task finds the same are of one class.
//
// The class of a node is its kind, free CPU, what is free on each device (milli, and memory where the model's memory is
// tracked) and, if the policy is sensitive to them, free node memory and tenants. Devices stand in canonical order:
// sorted inside each set of devices that lie in the same link groups, so a class answers every question of feasibility
// but node memory exactly. Classes are found by hashing the state; they live until keep() drops them.
#pragma once

#include <array>
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
  // The state, valid until the next intern() or keep(). Memory that is not part of the class is without bound.
  NodeView view(ClassIndex index) const;
  std::size_t count() const { return hashes_.size(); }
  // Forgets all classes but these, which are numbered in this order from now on.
  void keep(std::span<const ClassIndex> kept);

 private:
  // A cache line. States are whole lines, all of the same number.
  static constexpr std::size_t kLineWords = 16;
  struct alignas(kLineWords * sizeof(std::int32_t)) Line {
    std::array<std::int32_t, kLineWords> words{};
  };
  // Sets of devices that may change places, as runs in device_order_.
  struct Layout {
    std::uint32_t first = 0;
    std::vector<std::uint32_t> set_ends;
  };

  Layout lay_out(const NodeKind& kind);
  void write_state(const NodeView& node);
  void write_devices(const NodeView& node, const Layout& layout);
  void rebuild_table(std::size_t slots);

  const std::int32_t* state(ClassIndex index) const {
    return lines_[static_cast<std::size_t>(index) * lines_per_state_].words.data();
  }
  std::int32_t* pending_words() { return pending_.front().words.data(); }

  const Cluster* cluster_;
  ScoreSensitivity sensitivity_;
  bool tracks_device_memory_ = false;  // on some kind
  std::size_t lines_per_state_ = 1;
  std::vector<Layout> layouts_;             // by kind
  std::vector<std::uint8_t> device_order_;  // per kind: devices, sets one after the other
  std::vector<Line> lines_;                 // states one after the other
  std::vector<std::uint64_t> hashes_;       // by class
  std::vector<ClassIndex> table_;           // open addressing; -1 = empty; a power of two long
  std::vector<Line> pending_;               // the state being looked up
};

}  // namespace berth
