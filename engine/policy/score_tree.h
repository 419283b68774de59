// The best of many changing scores, leftmost on ties, under a second condition.
//
// A tournament: leaves are places (nodes in rank order), every inner entry is the highest of its kFan children. set()
// climbs only while entries change; a search descends from the top. A second tree of the same places (the free memory
// of the nodes) restricts the search: best_with() finds the best leaf whose entry there is at least `least`, skipping
// subtrees that cannot hold it or cannot beat what is found.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/policy/policy.h"

namespace berth {

class ScoreTree {
 public:
  static constexpr std::size_t kFan = 16;
  static constexpr Score kLowest = kInfeasibleScore;

  struct Found {
    Score score = kLowest;  // kLowest = nothing
    std::size_t place = 0;
  };

  explicit ScoreTree(std::size_t places);  // all kLowest
  explicit ScoreTree(std::span<const Score> leaves);
  void set(std::size_t place, Score score);
  // New scores for all leaves that are not kLowest.
  template <class ScoreOf>
  void transform(ScoreOf score_of) {
    for (std::size_t group = 0; group < level_starts_[1] / kFan; ++group) {
      if (entries_[level_starts_[1] + group] == kLowest) continue;
      for (std::size_t place = group * kFan; place < (group + 1) * kFan; ++place) {
        if (entries_[place] != kLowest) entries_[place] = score_of(place);
      }
    }
    raise_all();
  }
  void prefetch(std::size_t place) const { __builtin_prefetch(&entries_[place], 1); }
  Score get(std::size_t place) const { return entries_[place]; }

  // `other` has as many places; leaves scored kLowest are never found. Adds to `visits` the entries that had to be
  // looked at because the first choice failed the condition.
  Found best_with(const ScoreTree& other, Score least, std::size_t& visits) const;

  std::size_t bytes() const { return entries_.size() * sizeof(Score); }

 private:
  struct Search;
  Found leftmost_highest() const;
  void raise_all();
  Score highest_of_group(std::size_t level, std::size_t group) const;
  void descend(Search& search, std::size_t level, std::size_t group) const;

  std::vector<std::size_t> level_starts_;  // leaves first; the last level is the one top entry
  std::vector<Score> entries_;             // each level padded with kLowest to whole groups
};

}  // namespace berth
