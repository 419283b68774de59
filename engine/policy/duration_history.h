// How long the last runs under one key took: a few exact durations, each weighing less as it grows old.
//
// The last kCapacity durations with the moments they ended at, instead of a histogram: exact where it matters (a tag
// that takes 1,790 s says so, no bucket rounds it), bounded memory, and old behaviour leaves by itself when a script
// changes. A run weighs 2^(-age / half-life), worked out in integers so that every machine agrees. A key under which
// thousands of jobs end keeps the last 32 of them: a sample that is rough for its tails, and the reason why wider keys
// are only asked when narrower ones know nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/model/job.h"

namespace berth {

struct DurationSample {
  Seconds duration;  // 1 or more
  Seconds end;

  bool operator==(const DurationSample&) const = default;
};

class DurationHistory {
 public:
  static constexpr std::size_t kCapacity = 32;
  static constexpr std::int64_t kFullWeight = 1 << 20;  // of a run that has just ended

  DurationHistory() = default;
  explicit DurationHistory(std::span<const DurationSample> samples);

  // In any order of `end`: of more than kCapacity runs those that ended last are kept. Below 1 s counts as 1 s.
  void observe(Seconds duration, Seconds end);
  std::span<const DurationSample> samples() const { return samples_; }

  // Runs known, old ones counting less, to the nearest whole run.
  std::int64_t count(Seconds now, Seconds half_life) const;
  // The 50th, 80th and 90th percentile by weight: the least duration that so much of the weight does not exceed.
  // All 0 when nothing weighs anything.
  DurationEstimate estimate(Seconds now, Seconds half_life) const;
  // What bounds the next run in nine of ten cases, as far as runs can show; nothing = they do not. Of n runs that come
  // in any order, the next is as likely to be the shortest as any other, so that it takes no longer than the k-th
  // shortest with probability k / (n + 1) (Vovk, Gammerman and Shafer, Algorithmic Learning in a Random World, 2005;
  // Lei et al., JASA 2018). Hence
  //   1. n >= 9, counted by weight: of fewer not even the longest bounds the next in nine of ten cases;
  //   2. the order is not any order when a program changes, so the bound is tried on the runs that are known: each from
  //      the tenth on against the ceil(0.9 (n + 1))-th shortest of the n before it; at most one in ten, rounded up, may
  //      have taken longer.
  static constexpr std::int64_t kFewestForBound = 9;
  std::optional<Seconds> bound(Seconds now, Seconds half_life) const;

 private:
  std::vector<DurationSample> samples_;  // oldest first
};

// kFullWeight * 2^(-age / half_life), linear between halvings; an age below 0 weighs like 0. half_life > 0.
std::int64_t decayed_weight(Seconds age, Seconds half_life);

}  // namespace berth
