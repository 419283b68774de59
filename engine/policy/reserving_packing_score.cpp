#include "engine/policy/reserving_packing_score.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "engine/policy/allocation_rate.h"

namespace berth {

namespace {

struct ModelSize {
  std::int64_t devices = 0;   // in the cluster
  std::int32_t per_node = 0;  // most on one node
};

std::vector<ModelSize> model_sizes(const Cluster& cluster) {
  std::vector<ModelSize> sizes(cluster.models.size());
  for (std::size_t node = 0; node < cluster.nodes.size(); ++node) {
    const NodeKind& kind = cluster.kind_of(node);
    if (kind.model < 0) continue;
    ModelSize& size = sizes[static_cast<std::size_t>(kind.model)];
    size.devices += kind.device_count;
    size.per_node = std::max(size.per_node, kind.device_count);
  }
  return sizes;
}

bool shares_a_device(const NodeView& node, const TaskShape& shape) {
  return std::ranges::any_of(
      node.milli, [&](std::int32_t milli) { return milli >= shape.gpu_milli.value() && milli < kWholeDevice.value(); });
}

}  // namespace

ReservingPackingScore::ReservingPackingScore(const Cluster& cluster) : rank_(cluster.models.size()) {
  const std::vector<ModelSize> sizes = model_sizes(cluster);
  std::vector<std::size_t> order(cluster.models.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t model) {
    return std::tuple(cluster.models[model].memory, sizes[model].per_node, model);
  });
  std::int64_t total = 0;
  for (const ModelSize& size : sizes) total += size.devices;
  std::int64_t owned = 0;
  for (std::size_t place = order.size(); place-- > 0;) {
    const std::size_t model = order[place];
    rank_[model] = static_cast<int>(place);
    if (owned * 4 >= total || place == 0) continue;
    high_end_ |= ModelSet{1} << model;
    owned += sizes[model].devices;
  }
}

bool ReservingPackingScore::is_high_gpu(const TaskShape& shape) const {
  return shape.gpu_count >= kHighGpuDevices || (shape.models != 0 && (shape.models & ~high_end_) == 0);
}

int ReservingPackingScore::plan_for(const NodeView& node, const TaskShape& shape) const {
  const std::int32_t model = node.kind->model;
  const bool high_end = model >= 0 && ((high_end_ >> model) & 1) != 0;
  if (shape.gpu_count == 0) return model < 0 ? 0 : (high_end ? 2 : 1);
  if (is_high_gpu(shape)) return static_cast<int>(rank_.size()) - 1 - rank_of(model);
  const int opens_device = shape.is_fraction() && !shares_a_device(node, shape) ? 1 : 0;
  return (high_end ? 2 : 0) + opens_device;
}

Score ReservingPackingScore::score(const NodeView& node, const TaskShape& shape) const {
  return (kMaxModels - plan_for(node, shape)) * (kFullRate + 1) + kFullRate - allocation_rate_after(node, shape);
}

}  // namespace berth
