#include "engine/sim/portable_math.h"

#include <algorithm>
#include <cmath>

namespace berth {

namespace {

constexpr std::size_t kQuantileCells = 16384;

// Mass of the standard normal distribution up to z: 1/2 + density(z) * (z + z^3/3 + z^5/(3*5) + ...).
double normal_mass(double z) {
  double term = z;
  double sum = z;
  for (int odd = 3; odd < 400 && std::abs(term) > 1e-17; odd += 2) {
    term *= z * z / odd;
    sum += term;
  }
  constexpr double kDensityAtZero = 0.3989422804014327;  // 1 / sqrt(2 pi)
  return 0.5 + kDensityAtZero * portable_exp(-z * z / 2) * sum;
}

}  // namespace

// The Taylor series of e^(x / 2^10), squared ten times.
double portable_exp(double x) {
  const double small = x / 1024;
  double term = 1;
  double sum = 1;
  for (int n = 1; n <= 8; ++n) {
    term *= small / n;
    sum += term;
  }
  for (int doubling = 0; doubling < 10; ++doubling) sum *= sum;
  return sum;
}

// x = m * 2^k with m near 1; ln m = 2 * (t + t^3/3 + t^5/5 + ...) with t = (m - 1) / (m + 1).
double portable_log(double x) {
  constexpr double kLog2 = 0.6931471805599453;
  int exponent = 0;
  for (; x > 1.5; x /= 2) ++exponent;
  for (; x < 0.75; x *= 2) --exponent;
  const double t = (x - 1) / (x + 1);
  double power = t;
  double sum = 0;
  for (int odd = 1; odd < 40; odd += 2) {
    sum += power / odd;
    power *= t * t;
  }
  return 2 * sum + exponent * kLog2;
}

// Each cell's middle by bisection, starting where the cell before ended: the upper half only, the lower mirrors it.
NormalQuantiles::NormalQuantiles() : cells_(kQuantileCells) {
  double from = 0;
  for (std::size_t cell = kQuantileCells / 2; cell < kQuantileCells; ++cell) {
    const double wanted = (static_cast<double>(cell) + 0.5) / kQuantileCells;
    double low = from;
    double high = 5;
    for (int step = 0; step < 40; ++step) {
      const double middle = (low + high) / 2;
      (normal_mass(middle) < wanted ? low : high) = middle;
    }
    cells_[cell] = from = low;
    cells_[kQuantileCells - 1 - cell] = -low;
  }
}

double NormalQuantiles::operator()(double p) const {
  const double at = std::clamp(p * kQuantileCells - 0.5, 0.0, static_cast<double>(kQuantileCells - 1));
  const auto cell = std::min(static_cast<std::size_t>(at), kQuantileCells - 2);
  const double part = at - static_cast<double>(cell);
  return cells_[cell] * (1 - part) + cells_[cell + 1] * part;
}

}  // namespace berth
