// The clock and the seeded random source handed to every round.
//
// Decisions are pure: planning code owns neither a clock nor randomness. Whoever calls it passes an Env (the system's,
// the simulator's, a test's). Random is our own generator (SplitMix64 of Steele, Lea and Flood, OOPSLA 2014), so a seed
// gives the same stream with every compiler and library.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/base/units.h"

namespace berth {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }

  // Uniform in [0, bound), without modulo bias; bound > 0.
  std::uint64_t below(std::uint64_t bound) {
    const std::uint64_t limit = bound * (UINT64_MAX / bound);
    std::uint64_t draw = next();
    while (draw >= limit) draw = next();
    return draw % bound;
  }

  // Uniform in [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  std::uint64_t state_;
};

class Env {
 public:
  virtual ~Env() = default;
  virtual Seconds now() const = 0;
};

// The wall clock.
class SystemEnv : public Env {
 public:
  Seconds now() const override;
};

// A clock that moves only when told to: tests and the simulator.
class ManualEnv : public Env {
 public:
  explicit ManualEnv(Seconds start) : now_(start) {}
  Seconds now() const override { return now_; }
  void set(Seconds moment) { now_ = moment; }
  void advance(Seconds by) { now_ += by; }

 private:
  Seconds now_;
};

}  // namespace berth
