#include "engine/exec/kubernetes_quantity.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string>

#include "engine/base/text.h"

namespace berth {

namespace {

__extension__ typedef __int128 WideInteger;

// digits * 10^tens * 2^twos
struct QuantityParts {
  std::int64_t digits = 0;
  int tens = 0;
  int twos = 0;
};

struct QuantitySuffix {
  std::string_view text;
  int tens;
  int twos;
};
constexpr std::array<QuantitySuffix, 16> kQuantitySuffixes = {{{"n", -9, 0},
                                                               {"u", -6, 0},
                                                               {"m", -3, 0},
                                                               {"", 0, 0},
                                                               {"k", 3, 0},
                                                               {"M", 6, 0},
                                                               {"G", 9, 0},
                                                               {"T", 12, 0},
                                                               {"P", 15, 0},
                                                               {"E", 18, 0},
                                                               {"Ki", 0, 10},
                                                               {"Mi", 0, 20},
                                                               {"Gi", 0, 30},
                                                               {"Ti", 0, 40},
                                                               {"Pi", 0, 50},
                                                               {"Ei", 0, 60}}};

bool is_exponent(std::string_view text) {
  return text.size() > 1 && (text[0] == 'e' || text[0] == 'E') &&
         read_integer(text.substr(text[1] == '+' ? 2 : 1)).ok();
}

// Nothing when it is no quantity.
std::optional<QuantityParts> read_parts(std::string_view text) {
  QuantityParts parts;
  std::size_t i = !text.empty() && text[0] == '+' ? 1 : 0;
  std::size_t count = 0;
  bool is_after_point = false;
  for (; i < text.size(); ++i) {
    if (text[i] == '.' && !is_after_point) {
      is_after_point = true;
      continue;
    }
    if (text[i] < '0' || text[i] > '9') break;
    ++count;
    if (parts.digits > (INT64_MAX - 9) / 10) return std::nullopt;
    parts.digits = parts.digits * 10 + (text[i] - '0');
    if (is_after_point) --parts.tens;
  }
  if (count == 0) return std::nullopt;
  const std::string_view rest = text.substr(i);
  if (is_exponent(rest)) {
    const std::int64_t exponent = *read_integer(rest.substr(rest[1] == '+' ? 2 : 1));
    if (exponent < -30 || exponent > 30) return std::nullopt;
    parts.tens += static_cast<int>(exponent);
    return parts;
  }
  for (const QuantitySuffix& suffix : kQuantitySuffixes) {
    if (suffix.text != rest) continue;
    parts.tens += suffix.tens;
    parts.twos += suffix.twos;
    return parts;
  }
  return std::nullopt;
}

// False when it leaves the range.
bool raise(WideInteger& value, int base, int times) {
  constexpr WideInteger kMost = WideInteger{1} << 120;
  for (; times > 0; --times) {
    if (value > kMost / base) return false;
    value *= base;
  }
  return true;
}

// The amount times 10^tens times 2^twos.
Result<std::int64_t> read_quantity(std::string_view text, int tens, int twos, QuantityRounding rounding) {
  const Status no_quantity(Code::kInvalid,
                           fmt::format("'{}' is no Kubernetes quantity such as 3900m, 16Gi or 1.5", text));
  const std::optional<QuantityParts> parts = read_parts(text);
  if (!parts) return no_quantity;
  tens += parts->tens;
  twos += parts->twos;
  WideInteger above = parts->digits;
  WideInteger below = 1;
  if (!raise(tens > 0 ? above : below, 10, std::abs(tens)) || !raise(twos > 0 ? above : below, 2, std::abs(twos)))
    return no_quantity;
  const WideInteger amount = above / below + (rounding == QuantityRounding::kUp && above % below != 0 ? 1 : 0);
  if (amount > INT64_MAX) return no_quantity;
  return static_cast<std::int64_t>(amount);
}

}  // namespace

Result<MilliCpu> read_quantity_cpu(std::string_view text, QuantityRounding rounding) {
  BERTH_ASSIGN(const std::int64_t amount, read_quantity(text, 3, 0, rounding));
  return MilliCpu(amount);
}

Result<MiB> read_quantity_memory(std::string_view text, QuantityRounding rounding) {
  BERTH_ASSIGN(const std::int64_t amount, read_quantity(text, 0, -20, rounding));
  return MiB(amount);
}

Result<std::int64_t> read_quantity_count(std::string_view text) {
  return read_quantity(text, 0, 0, QuantityRounding::kDown);
}

}  // namespace berth
