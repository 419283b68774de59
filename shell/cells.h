// Single cells as text, shared by the renderers.
#pragma once

#include <string>

#include "shell/result.h"

namespace berth {

inline bool is_null(const Cell& cell) { return std::holds_alternative<std::monostate>(cell); }
inline bool is_number(const Cell& cell) {
  return std::holds_alternative<std::int64_t>(cell) || std::holds_alternative<double>(cell);
}

// The fewest digits that read back the same, with a point: "0.1", "2.0", "1e+30". Fixed when decimals >= 0.
std::string print_real(double value, int decimals = -1);

// The bare content: text as it is, numbers printed, NULL as `null_text`.
std::string print_cell(const Cell& cell, const std::string& null_text, int decimals = -1);

// In quotes, as JSON writes it; bytes that are not UTF-8 are replaced.
std::string json_text(const std::string& text);

}  // namespace berth
