#include "engine/sim/replan.h"

#include <algorithm>

#include "engine/policy/las_order.h"

namespace berth {

namespace {

// Of a job that is bound to one pool.
std::size_t pool_slot(const Job& job, std::size_t pools) {
  const std::int32_t pool = job.groups.front().shape.pool;
  return pool >= 0 && static_cast<std::size_t>(pool) < pools ? static_cast<std::size_t>(pool) : pools;
}

bool has_next_level(const LiveJob& live, const OrderInput& input) {
  return static_cast<std::size_t>(live.level) < input.knobs.las_thresholds.size();
}

std::int64_t level_end(const LiveJob& live, const OrderInput& input) {
  return input.knobs.las_thresholds[static_cast<std::size_t>(live.level)];
}

}  // namespace

Replan::Replan(const KeyedOrder& order, const Floor& floor, std::size_t pool_count, ReplanTies ties)
    : order_(order), ties_(ties) {
  for (std::size_t p = 0; p < pool_count; ++p) capacity_.push_back(floor.gpu_capacity_of(static_cast<std::int32_t>(p)));
  capacity_.push_back(floor.gpu_capacity());
}

void Replan::remove(std::int32_t slot) { std::erase(list_, slot); }

void Replan::move_to_end(std::int32_t slot) {
  remove(slot);
  list_.push_back(slot);
}

void Replan::sort_by_key(const LiveJobs& jobs, const OrderInput& input) {
  if (ties_ == ReplanTies::kWaitingFirst) {
    std::ranges::stable_sort(list_, {}, [&](std::int32_t slot) { return jobs[slot].is_running; });
  }
  keyed_.clear();
  for (const std::int32_t slot : list_) keyed_.emplace_back(order_.key(jobs[slot].job, input), slot);
  std::ranges::stable_sort(keyed_, {}, [](const auto& entry) -> const OrderKey& { return entry.first; });
}

void Replan::sort_by_level(LiveJobs& jobs, const OrderInput& input) {
  std::vector<std::int32_t> fallen;
  for (const std::int32_t slot : list_) {
    const LiveJob& live = jobs[slot];
    if (!live.is_running || !has_next_level(live, input)) continue;
    if (las_service(live.job, input.knobs) >= level_end(live, input)) fallen.push_back(slot);
  }
  std::ranges::sort(fallen, {}, [&](std::int32_t slot) { return jobs[slot].job.id; });
  for (const std::int32_t slot : fallen) {
    move_to_end(slot);
    ++jobs[slot].level;
  }
  std::ranges::stable_sort(list_, {}, [&](std::int32_t slot) { return jobs[slot].level; });
  keyed_.clear();
  for (const std::int32_t slot : list_) keyed_.emplace_back(OrderKey{}, slot);
}

Replanned Replan::choose(LiveJobs& jobs, const OrderInput& input) {
  if (order_.has_levels()) {
    sort_by_level(jobs, input);
  } else {
    sort_by_key(jobs, input);
  }
  Replanned plan;
  std::vector<MilliGpu> left = capacity_;
  for (const auto& [key, slot] : keyed_) {
    const LiveJob& live = jobs[slot];
    const MilliGpu need = live.job.gpu_total();
    MilliGpu& pool = left[pool_slot(live.job, capacity_.size() - 1)];
    const bool is_chosen = need <= pool;
    if (is_chosen) pool -= need;
    if (is_chosen && !live.is_running) plan.start.push_back(slot);
    if (!is_chosen && live.is_running) plan.evict.push_back(slot);
  }
  return plan;
}

void Replan::settle(const LiveJobs& jobs, const Replanned& plan) {
  if (!order_.has_levels() && ties_ == ReplanTies::kKeep) {
    for (std::size_t i = 0; i < list_.size(); ++i) list_[i] = keyed_[i].second;
    return;
  }
  if (!order_.has_levels()) {
    for (const std::int32_t slot : plan.evict) move_to_end(slot);
    for (const std::int32_t slot : plan.start) {
      if (jobs[slot].is_running) move_to_end(slot);
    }
    return;
  }
  std::ranges::stable_sort(list_, {},
                           [&](std::int32_t slot) { return std::pair(jobs[slot].level, !jobs[slot].is_running); });
}

Seconds Replan::next_fall(const LiveJobs& jobs, const OrderInput& input) const {
  Seconds first(-1);
  if (!order_.has_levels()) return first;
  for (const std::int32_t slot : list_) {
    const LiveJob& live = jobs[slot];
    if (!live.is_running || !has_next_level(live, input)) continue;
    const std::int64_t gpus = std::max<std::int64_t>(live.job.gpu_total().value(), 1);
    const std::int64_t each_second = input.knobs.las_by_gpu ? gpus : 1000;
    const std::int64_t run_time = live.attained * 1000 / gpus;  // milliseconds
    const std::int64_t lacks = level_end(live, input) - run_time;
    const Seconds fall(std::max<std::int64_t>(1, lacks / each_second));
    if (first < Seconds(0) || fall < first) first = fall;
  }
  return first;
}

}  // namespace berth
