// Amounts that cannot be mixed up.
//
// Everything the engine counts is an integer with a unit: milli-GPU (1000 = one device), milli-cores, MiB, seconds.
// A Quantity adds to its own kind only; numbers go in through the constructor and out through value(). Reading and
// printing ("0.5", "40GiB", "90m") live in text.h.
#pragma once

#include <compare>
#include <cstdint>

namespace berth {

template <class Tag>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(std::int64_t value) : value_(value) {}

  constexpr std::int64_t value() const { return value_; }
  constexpr auto operator<=>(const Quantity&) const = default;

  constexpr Quantity& operator+=(Quantity other) {
    value_ += other.value_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value_ -= other.value_;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value_ + b.value_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value_ - b.value_); }
  friend constexpr Quantity operator*(Quantity a, std::int64_t n) { return Quantity(a.value_ * n); }
  friend constexpr Quantity operator*(std::int64_t n, Quantity a) { return Quantity(a.value_ * n); }

 private:
  std::int64_t value_ = 0;
};

using MilliGpu = Quantity<struct MilliGpuTag>;
using MilliCpu = Quantity<struct MilliCpuTag>;
using MiB = Quantity<struct MiBTag>;
using Seconds = Quantity<struct SecondsTag>;  // a duration, or a moment in Unix time (UTC)

inline constexpr MilliGpu kWholeDevice{1000};

// a / b rounded towards plus infinity; b > 0, a >= 0.
constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace berth
