// One point per percent of arrived demand: how much is allocated and fragmented then.
//
// The "discrete" curve of fgd.md section 6. After each event with A asked for and U used so far (failed tasks count in
// A): a = A in whole percent of the capacity, half to even; u = U in percent, rounded to 2 digits. Point k is the mean
// of u over the events with a = k, rounded to 2 digits; where there is none, over those with a in k-1 .. k+1; where
// there is none either, there is no point.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/base/units.h"
#include "engine/sim/simulation.h"

namespace berth {

class ArrivalCurve {
 public:
  explicit ArrivalCurve(MilliGpu capacity) : capacity_(static_cast<double>(capacity.value())) {}

  // After one arrival. `fragmented_milli`: sum of F over nodes, or nothing when it is not measured.
  void record(MilliGpu arrived, MilliGpu used, std::optional<double> fragmented_milli);
  std::vector<CurvePoint> points() const;

 private:
  struct Sum {
    double allocated = 0;
    double fragmented = 0;
    std::int64_t events = 0;
    std::int64_t measured = 0;
  };
  double capacity_;
  std::vector<Sum> sums_;  // by whole percent arrived
};

// The point at that percentage, if the curve has it.
std::optional<double> allocated_at(const std::vector<CurvePoint>& curve, std::int32_t arrived_pct);

}  // namespace berth
