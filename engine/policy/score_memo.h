// Scores that have been computed, by (serial of a ranking, node class): a table of fixed size in which a new entry
// replaces the old one of its slot. Forgetting is harmless, since scores are pure.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "engine/policy/node_classes.h"

namespace berth {

class ScoreMemo {
 public:
  // Room for about `entries` scores, 16 bytes each.
  explicit ScoreMemo(std::size_t entries) : slots_(std::bit_ceil(entries)) {}

  struct Slot {
    std::uint64_t key = ~std::uint64_t{0};
    Score score = 0;
  };

  // The slot of this pair; its score holds if slot.key == key_of(...).
  static std::uint64_t key_of(std::uint32_t serial, ClassIndex node_class) {
    return (std::uint64_t{serial} << 32) | static_cast<std::uint32_t>(node_class);
  }
  Slot& slot_of(std::uint64_t key) {
    const std::uint64_t mixed = key * 0x9E3779B97F4A7C15ULL;
    return slots_[(mixed ^ (mixed >> 32)) & (slots_.size() - 1)];
  }

 private:
  std::vector<Slot> slots_;
};

}  // namespace berth
