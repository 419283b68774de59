#include "engine/policy/score_tree.h"

#include <algorithm>

namespace berth {

ScoreTree::ScoreTree(std::size_t places) {
  std::size_t total = 0;
  for (std::size_t count = std::max<std::size_t>(places, 1);; count = (count + kFan - 1) / kFan) {
    level_starts_.push_back(total);
    if (count == 1 && level_starts_.size() > 1) break;
    total += (count + kFan - 1) / kFan * kFan;
  }
  entries_.assign(total + 1, kLowest);
}

Score ScoreTree::highest_of_group(std::size_t level, std::size_t group) const {
  const Score* const members = entries_.data() + level_starts_[level] + group * kFan;
  Score highest = members[0];
  for (std::size_t i = 1; i < kFan; ++i) highest = std::max(highest, members[i]);
  return highest;
}

ScoreTree::ScoreTree(std::span<const Score> leaves) : ScoreTree(leaves.size()) {
  std::ranges::copy(leaves, entries_.begin());
  raise_all();
}

// Every inner entry anew, from the leaves up.
void ScoreTree::raise_all() {
  for (std::size_t level = 1; level < level_starts_.size(); ++level) {
    const std::size_t groups = (level_starts_[level] - level_starts_[level - 1]) / kFan;
    for (std::size_t group = 0; group < groups; ++group) {
      entries_[level_starts_[level] + group] = highest_of_group(level - 1, group);
    }
  }
}

void ScoreTree::set(std::size_t place, Score score) {
  Score before = entries_[place];
  entries_[place] = score;
  for (std::size_t level = 1; before != score && level < level_starts_.size(); ++level) {
    place /= kFan;
    Score& entry = entries_[level_starts_[level] + place];
    const Score entry_before = entry;
    if (score >= entry) {
      entry = score;
    } else if (before == entry) {
      entry = highest_of_group(level - 1, place);
    } else {
      return;
    }
    before = entry_before;
    score = entry;
  }
}

// Nearly always the leftmost of the highest will do.
ScoreTree::Found ScoreTree::leftmost_highest() const {
  const Score highest = entries_.back();
  if (highest == kLowest) return {};
  std::size_t place = 0;
  for (std::size_t level = level_starts_.size() - 1; level-- > 0;) {
    const Score* const members = entries_.data() + level_starts_[level] + place * kFan;
    std::size_t member = 0;
    while (members[member] != highest) ++member;
    place = place * kFan + member;
  }
  return {.score = highest, .place = place};
}

struct ScoreTree::Search {
  const ScoreTree& other;
  Score least;
  Found best;
  std::size_t visits = 0;
};

ScoreTree::Found ScoreTree::best_with(const ScoreTree& other, Score least, std::size_t& visits) const {
  const Found first = leftmost_highest();
  if (first.score == kLowest || other.entries_[first.place] >= least) return first;
  Search search{.other = other, .least = least, .best = {}};
  descend(search, level_starts_.size() - 2, 0);
  visits += search.visits;
  return search.best;
}

void ScoreTree::descend(Search& search, std::size_t level, std::size_t group) const {
  search.visits += kFan;
  const std::size_t start = level_starts_[level] + group * kFan;
  const Score* const scores = entries_.data() + start;
  const Score* const limits = search.other.entries_.data() + start;
  std::size_t width = 1;  // places below one member
  for (std::size_t i = 0; i < level; ++i) width *= kFan;
  std::uint32_t untried = (1U << kFan) - 1;
  while (true) {
    // The best member not tried that may still hold something better than, or as good as but left of, the best found.
    std::size_t next = kFan;
    for (std::size_t i = 0; i < kFan; ++i) {
      if ((untried >> i & 1) == 0 || limits[i] < search.least || scores[i] == kLowest) continue;
      if (next == kFan || scores[i] > scores[next]) next = i;
    }
    if (next == kFan || scores[next] < search.best.score) return;
    untried &= ~(1U << next);
    const std::size_t place = group * kFan + next;
    if (scores[next] == search.best.score && place * width > search.best.place) continue;
    if (level == 0) {
      search.best = {.score = scores[next], .place = place};
    } else {
      descend(search, level - 1, place);
    }
  }
}

}  // namespace berth
