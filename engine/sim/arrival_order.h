// In which order tasks arrive, and in which order nodes win ties.
//
// Either given - a file of row numbers and a file of ranks, one number a line - or made: our own seeded inflation in
// the spirit of fgd.md section 2. The trace is shuffled; if its demand is below `inflate` times the capacity, copies of
// rows drawn with equal chance are appended until the next would exceed it; if above, rows drawn with equal chance are
// removed until it is not.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/base/units.h"
#include "engine/model/shape.h"

namespace berth {

// Row numbers below `rows`, which may repeat.
Result<std::vector<std::int32_t>> read_order_file(const std::string& path, std::size_t rows);
// One rank for each of `nodes` nodes: a permutation of 0 .. nodes-1.
Result<std::vector<std::int32_t>> read_rank_file(const std::string& path, std::size_t nodes);

// `inflate_milli`: 1300 = demand of 1.3 times `capacity`. kInvalid when no task asks for a device, as the demand can
// then never be reached.
Result<std::vector<std::int32_t>> inflated_order(std::span<const TaskShape> tasks, MilliGpu capacity,
                                                 std::int64_t inflate_milli, std::uint64_t seed);
// A seeded permutation.
std::vector<std::int32_t> shuffled_rank(std::size_t nodes, std::uint64_t seed);

}  // namespace berth
