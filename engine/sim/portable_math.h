// The few real functions that generated workloads need, the same to the last bit on every machine and with every
// compiler: only additions, multiplications, divisions and roots of IEEE doubles, none of the C library's functions.
#pragma once

#include <vector>

namespace berth {

// e^x for |x| < 100, relative error below 1e-12.
double portable_exp(double x);
// The natural logarithm of x > 0, absolute error below 1e-12.
double portable_log(double x);

// Quantiles of the standard normal distribution from a table: absolute error below 0.001 within +-3, and no value
// beyond about +-3.9.
class NormalQuantiles {
 public:
  NormalQuantiles();
  // p in [0, 1].
  double operator()(double p) const;

 private:
  std::vector<double> cells_;  // the quantile at the middle of each of equally likely cells
};

}  // namespace berth
