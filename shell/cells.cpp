#include "shell/cells.h"

#include <fmt/format.h>

#include <cmath>

namespace berth {

std::string print_real(double value, int decimals) {
  if (!std::isfinite(value)) return std::isnan(value) ? "NaN" : value < 0 ? "-Inf" : "Inf";
  if (decimals >= 0) return fmt::format("{:.{}f}", value, decimals);
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string print_cell(const Cell& cell, const std::string& null_text, int decimals) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&cell)) return print_real(*real, decimals);
  return null_text;
}

}  // namespace berth
