#include "engine/policy/berth_score.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "engine/policy/feasibility.h"

namespace berth {

namespace {

// A score is the change of value, in 1/64 milli-GPU, and below it how little GPU is left, in steps of 32 milli-GPU.
constexpr std::int32_t kLeftSteps = 256;
constexpr std::int32_t kMostChange = 4'000'000;

void add_row(ShadowPrices::Row& sum, const ShadowPrices::Row& row) {
  for (std::size_t q = 0; q < sum.size(); ++q) sum[q] += row[q];
}

// sum - before + after
ShadowPrices::Row exchanged(const ShadowPrices::Row& sum, const ShadowPrices::Row& before,
                            const ShadowPrices::Row& after) {
  ShadowPrices::Row row;
  for (std::size_t q = 0; q < row.size(); ++q) row[q] = sum[q] - before[q] + after[q];
  return row;
}

int idle_devices(const NodeView& node) {
  return static_cast<int>(std::ranges::count(node.milli, static_cast<std::int32_t>(kWholeDevice.value())));
}

}  // namespace

BerthScore::Row BerthScore::devices_value(const NodeView& node) const {
  const std::int32_t model = node.kind->model;
  Row sum = prices_.idle_value(model, idle_devices(node));
  for (const std::int32_t milli : node.milli) {
    if (milli > 0 && milli < kWholeDevice.value()) add_row(sum, prices_.started_value(model, milli));
  }
  return sum;
}

std::int32_t BerthScore::value_with_fraction(const NodeView& node, const TaskShape& shape, const Row& devices,
                                             std::int32_t free) const {
  const std::int32_t model = node.kind->model;
  const Row& started = prices_.started_value(model, free - static_cast<std::int32_t>(shape.gpu_milli.value()));
  Row after;
  if (free == kWholeDevice.value()) {
    const int idle = idle_devices(node);
    after = exchanged(devices, prices_.idle_value(model, idle), prices_.idle_value(model, idle - 1));
    add_row(after, started);
  } else {
    after = exchanged(devices, prices_.started_value(model, free), started);
  }
  return prices_.value(after, node.cpu - shape.cpu, node.memory - shape.memory);
}

Score BerthScore::score(const NodeView& node, const TaskShape& shape) const {
  const Row devices = devices_value(node);
  const std::int32_t before = prices_.value(devices, node.cpu, node.memory);
  std::int32_t after = 0;
  if (shape.is_fraction()) {
    // Devices with equally much free stand side by side and are worth the same.
    std::int32_t tried = -1;
    for (DeviceMask rest = feasible_devices(node, shape); rest != 0; rest &= rest - 1) {
      const std::int32_t free = node.milli[static_cast<std::size_t>(std::countr_zero(rest))];
      if (free == tried) continue;
      const std::int32_t value = value_with_fraction(node, shape, devices, free);
      after = tried < 0 ? value : std::max(after, value);
      tried = free;
    }
  } else {
    const std::int32_t model = node.kind->model;
    const int idle = idle_devices(node);
    const Row left =
        exchanged(devices, prices_.idle_value(model, idle), prices_.idle_value(model, idle - shape.gpu_count));
    after = prices_.value(left, node.cpu - shape.cpu, node.memory - shape.memory);
  }
  const std::int64_t left = node.free_milli() - shape.gpu_total().value();
  const std::int32_t emptiness = static_cast<std::int32_t>(std::min<std::int64_t>(left / 32, kLeftSteps - 1));
  return std::clamp(after - before, -kMostChange, kMostChange) * kLeftSteps - emptiness;
}

int BerthScore::choose_device(const NodeView& node, const TaskShape& shape, DeviceMask feasible) const {
  const Row devices = devices_value(node);
  int best = -1;
  std::int32_t best_value = 0;
  std::int32_t best_free = 0;
  for (DeviceMask rest = feasible; rest != 0; rest &= rest - 1) {
    const int device = std::countr_zero(rest);
    const std::int32_t free = node.milli[static_cast<std::size_t>(device)];
    const std::int32_t value = value_with_fraction(node, shape, devices, free);
    if (best >= 0 && (value < best_value || (value == best_value && free >= best_free))) continue;
    best = device;
    best_value = value;
    best_free = free;
  }
  return best;
}

bool BerthScore::refresh(const Ledger& ledger, const TaskShape& asked) {
  const std::int64_t now = every_task_is_new_ ? asked_ : ledger.gpu_used().value();
  const std::int64_t step = std::max<std::int64_t>(1, ledger.gpu_capacity().value() / kRefreshes);
  bool moved = false;
  if (!priced_ || std::abs(now - *priced_) >= step) {
    moved = prices_.refresh(ledger);
    priced_ = now;
  }
  if (every_task_is_new_) {
    prices_.count_task(asked);
    asked_ += asked.gpu_total().value();
  }
  return moved;
}

}  // namespace berth
