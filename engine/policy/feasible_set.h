// A set of places with counts, so that its k-th member is found fast: what a uniform draw needs.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace berth {

class FeasibleSet {
 public:
  explicit FeasibleSet(std::size_t places) : words_((places + 63) / 64), block_counts_(words_.size() / kBlock + 1) {}

  std::size_t count() const { return count_; }
  std::size_t bytes() const { return words_.size() * sizeof(std::uint64_t); }

  void set(std::size_t place, bool member) {
    std::uint64_t& word = words_[place / 64];
    const std::uint64_t bit = std::uint64_t{1} << (place % 64);
    if (((word & bit) != 0) == member) return;
    word ^= bit;
    const std::size_t step = member ? 1 : std::size_t(-1);
    block_counts_[place / 64 / kBlock] += step;
    count_ += step;
  }

  // The member with `skip` members before it; skip < count().
  std::size_t member(std::size_t skip) const {
    std::size_t block = 0;
    while (skip >= block_counts_[block]) skip -= block_counts_[block++];
    std::size_t word = block * kBlock;
    while (skip >= static_cast<std::size_t>(std::popcount(words_[word]))) {
      skip -= static_cast<std::size_t>(std::popcount(words_[word++]));
    }
    std::uint64_t rest = words_[word];
    for (; skip > 0; --skip) rest &= rest - 1;
    return word * 64 + static_cast<std::size_t>(std::countr_zero(rest));
  }

 private:
  static constexpr std::size_t kBlock = 64;  // words

  std::vector<std::uint64_t> words_;
  std::vector<std::size_t> block_counts_;
  std::size_t count_ = 0;
};

}  // namespace berth
