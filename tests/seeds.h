// Which random cases a test tries: BERTH_SEEDS says how many, BERTH_SEED the first (1; new = drawn).
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string_view>

namespace berth::test {

struct Seeds {
  std::uint64_t first = 1;
  std::uint64_t end = 2;  // the one after the last
};

// `usual`: how many where nobody says so. Of what takes long only one of `one_of` cases is tried.
inline Seeds wanted_seeds(std::uint64_t usual, std::uint64_t one_of = 1) {
  Seeds seeds;
  if (const char* const text = std::getenv("BERTH_SEED")) {
    seeds.first = std::string_view(text) == "new" ? std::random_device()() : std::strtoull(text, nullptr, 10);
  }
  const char* const count = std::getenv("BERTH_SEEDS");
  seeds.end = seeds.first + (count == nullptr ? usual : (std::strtoull(count, nullptr, 10) + one_of - 1) / one_of);
  return seeds;
}

}  // namespace berth::test
