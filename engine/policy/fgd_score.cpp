#include "engine/policy/fgd_score.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "engine/policy/feasibility.h"

namespace berth {

namespace {

Score sigmoid_score(double drop) { return static_cast<Score>(100.0 * (1.0 / (1.0 + std::exp(-drop / 1000.0)))); }

// limits[k] = the smallest drop that scores at least k + 1.
std::array<double, 100> find_score_limits() {
  std::array<double, 100> limits{};
  for (std::size_t k = 0; k < limits.size(); ++k) {
    double below = -1e6;
    double reaches = 1e6;
    for (double middle = 0; (middle = below + (reaches - below) / 2) > below && middle < reaches;) {
      (sigmoid_score(middle) > static_cast<Score>(k) ? reaches : below) = middle;
    }
    limits[k] = reaches;
  }
  return limits;
}

// Free milli per device, to be changed and put back.
class TrialDevices {
 public:
  explicit TrialDevices(std::span<const std::int32_t> milli) : count_(milli.size()) {
    std::ranges::copy(milli, milli_.begin());
  }
  std::int32_t& operator[](int device) { return milli_[static_cast<std::size_t>(device)]; }
  std::span<const std::int32_t> all() const { return {milli_.data(), count_}; }

 private:
  std::array<std::int32_t, kMaxDevices> milli_;
  std::size_t count_;
};

}  // namespace

Score FgdScore::score_of_drop(double drop) {
  static const std::array<double, 100> limits = find_score_limits();
  return static_cast<Score>(std::ranges::upper_bound(limits, drop) - limits.begin());
}

Score FgdScore::score(const NodeView& node, const TaskShape& shape) const {
  const std::int32_t model = node.kind->model;
  const std::int64_t cpu_after = (node.cpu - shape.cpu).value();
  const std::int32_t milli = static_cast<std::int32_t>(shape.gpu_milli.value());
  const double before = fragmentation_.of(model, node.cpu.value(), node.milli);
  const DeviceMask feasible = feasible_devices(node, shape);
  TrialDevices trial(node.milli);
  if (!shape.is_fraction()) {
    DeviceMask rest = feasible;
    for (int taken = 0; taken < shape.gpu_count; ++taken, rest &= rest - 1) trial[std::countr_zero(rest)] -= milli;
    return score_of_drop(before - fragmentation_.of(model, cpu_after, trial.all()));
  }
  // Devices with equally much free score the same; in canonical order they mostly stand side by side.
  double least = 0;
  std::int32_t tried = -1;
  for (DeviceMask rest = feasible; rest != 0; rest &= rest - 1) {
    const int device = std::countr_zero(rest);
    if (trial[device] == tried) continue;
    const bool first = tried < 0;
    tried = trial[device];
    trial[device] = tried - milli;
    const double after = fragmentation_.of(model, cpu_after, trial.all());
    trial[device] = tried;
    least = first ? after : std::min(least, after);
  }
  return score_of_drop(before - least);
}

int FgdScore::choose_device(const NodeView& node, const TaskShape& shape, DeviceMask feasible) const {
  const std::int32_t model = node.kind->model;
  const std::int32_t milli = static_cast<std::int32_t>(shape.gpu_milli.value());
  const double before = fragmentation_.of(model, node.cpu.value(), node.milli);
  TrialDevices trial(node.milli);
  int best = -1;
  Score best_score = kInfeasibleScore;
  for (DeviceMask rest = feasible; rest != 0; rest &= rest - 1) {
    const int device = std::countr_zero(rest);
    trial[device] -= milli;
    const Score score = score_of_drop(before - fragmentation_.of(model, (node.cpu - shape.cpu).value(), trial.all()));
    trial[device] += milli;
    if (score <= best_score) continue;
    best = device;
    best_score = score;
  }
  return best;
}

}  // namespace berth
