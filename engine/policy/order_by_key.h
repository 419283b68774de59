// Sorts the jobs of an order policy by a key of its own, smallest first, ties by (Job::in_line_since, id).
#pragma once

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/policy/policy.h"

namespace berth {

// key_of(job) is called once a job.
template <class KeyOf>
std::vector<std::int32_t> order_by_key(const OrderInput& input, KeyOf key_of) {
  using Key = decltype(std::tuple(key_of(input.jobs[0]), Seconds(), std::int64_t{0}));
  std::vector<Key> keys;
  keys.reserve(input.jobs.size());
  for (const Job& job : input.jobs) keys.emplace_back(key_of(job), job.in_line_since(), job.id);
  std::vector<std::int32_t> order(input.jobs.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](std::int32_t job) -> const Key& { return keys[static_cast<std::size_t>(job)]; });
  return order;
}

}  // namespace berth
