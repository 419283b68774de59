#include "engine/sim/arrival_curve.h"

#include <algorithm>
#include <cmath>

namespace berth {

namespace {

// Half to even, which is the rounding mode C++ programs start in.
double round_to_hundredths(double value) { return std::nearbyint(value * 100.0) / 100.0; }

}  // namespace

void ArrivalCurve::record(MilliGpu arrived, MilliGpu used, std::optional<double> fragmented_milli) {
  if (capacity_ <= 0) return;
  const double percent = capacity_ / 100.0;
  const auto at = static_cast<std::size_t>(std::nearbyint(static_cast<double>(arrived.value()) / percent));
  if (at >= sums_.size()) sums_.resize(at + 1);
  Sum& sum = sums_[at];
  ++sum.events;
  sum.allocated += round_to_hundredths(static_cast<double>(used.value()) / percent);
  if (!fragmented_milli) return;
  ++sum.measured;
  sum.fragmented += round_to_hundredths(*fragmented_milli / percent);
}

std::vector<CurvePoint> ArrivalCurve::points() const {
  std::vector<CurvePoint> points;
  for (std::size_t k = 0; k < sums_.size(); ++k) {
    Sum sum = sums_[k];
    if (sum.events == 0) {
      for (std::size_t near = k == 0 ? 0 : k - 1; near <= std::min(k + 1, sums_.size() - 1); ++near) {
        sum.allocated += sums_[near].allocated;
        sum.fragmented += sums_[near].fragmented;
        sum.events += sums_[near].events;
        sum.measured += sums_[near].measured;
      }
    }
    if (sum.events == 0) continue;
    CurvePoint point{
        static_cast<std::int32_t>(k), round_to_hundredths(sum.allocated / static_cast<double>(sum.events)), {}};
    if (sum.measured > 0)
      point.fragmented_pct = round_to_hundredths(sum.fragmented / static_cast<double>(sum.measured));
    points.push_back(point);
  }
  return points;
}

std::optional<double> allocated_at(const std::vector<CurvePoint>& curve, std::int32_t arrived_pct) {
  for (const CurvePoint& point : curve) {
    if (point.arrived_pct == arrived_pct) return point.allocated_pct;
  }
  return std::nullopt;
}

}  // namespace berth
