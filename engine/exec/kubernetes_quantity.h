// Amounts as Kubernetes writes them: "3900m", "16Gi", "1e3", "12345Ki", "1.5", "2E".
//
// Decimal numbers with a power of ten, a decimal suffix (n u m k M G T P E) or a binary one (Ki Mi Gi Ti Pi Ei); "1E"
// is exa, "1E3" an exponent. The arithmetic is exact; what is no whole number of our unit is rounded as the caller
// says: what a node has, down; what a pod holds, up.
#pragma once

#include <string_view>

#include "engine/base/status.h"
#include "engine/base/units.h"

namespace berth {

enum class QuantityRounding : std::uint8_t { kDown, kUp };

Result<MilliCpu> read_quantity_cpu(std::string_view text, QuantityRounding rounding);  // of cores
Result<MiB> read_quantity_memory(std::string_view text, QuantityRounding rounding);    // of bytes
Result<std::int64_t> read_quantity_count(std::string_view text);                       // rounded down

}  // namespace berth
