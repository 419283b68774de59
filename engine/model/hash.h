// Mixing integers into a 64-bit hash that is the same on every machine (SplitMix64's finaliser after each word).
#pragma once

#include <cstdint>

namespace berth {

inline std::uint64_t hash_mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

inline void hash_add(std::uint64_t& seed, std::uint64_t word) { seed = hash_mix(seed + 0x9E3779B97F4A7C15ULL + word); }

}  // namespace berth
