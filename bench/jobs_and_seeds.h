// Arguments of the benches on the PAI-like workload: PROGRAM [JOBS [SEED...]], 100,000 jobs of the seeds 7 and 8 unless
// said.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/base/text.h"
#include "engine/sim/pai_like.h"

namespace berth {

// One for each seed. Nothing when an argument is wrong: said on the standard error then.
inline std::optional<std::vector<PaiLikeOptions>> jobs_and_seeds(std::string_view program, int argc, char** argv) {
  std::vector<std::int64_t> numbers;
  for (int i = 1; i < argc; ++i) {
    const Result<std::int64_t> number = read_integer(argv[i]);
    if (!number.ok() || *number < 0) {
      fmt::print(stderr, "'{}': expected a number; usage: {} [JOBS [SEED...]]\n", argv[i], program);
      return std::nullopt;
    }
    numbers.push_back(*number);
  }
  if (numbers.empty()) numbers = {100000};
  if (numbers.size() == 1) numbers.insert(numbers.end(), {7, 8});
  std::vector<PaiLikeOptions> workloads;
  for (std::size_t i = 1; i < numbers.size(); ++i) {
    workloads.push_back({.seed = static_cast<std::uint64_t>(numbers[i]), .jobs = numbers[0]});
  }
  if (const Status fits = check_pai_like(workloads.front()); !fits.ok()) {
    fmt::print(stderr, "{}\n", fits.message());
    return std::nullopt;
  }
  return workloads;
}

}  // namespace berth
