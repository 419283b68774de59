#include "engine/sim/arrival_order.h"

#include <fmt/format.h>

#include "engine/base/env.h"
#include "engine/base/text.h"
#include "engine/sim/text_file.h"

namespace berth {

namespace {

// One integer in [0, limit) a line; `what` names it in errors.
Result<std::vector<std::int32_t>> read_number_lines(const std::string& path, std::size_t limit, std::string_view what) {
  BERTH_ASSIGN(TextFile file, TextFile::open(path));
  std::vector<std::int32_t> numbers;
  std::string_view line;
  for (;;) {
    BERTH_ASSIGN(const bool found, file.next(line));
    if (!found) return numbers;
    if (trim(line).empty()) continue;
    const Result<std::int64_t> number = read_integer(trim(line));
    if (!number.ok() || *number < 0 || static_cast<std::size_t>(*number) >= limit) {
      return Status(Code::kInvalid, fmt::format("{}: '{}' is not {} (0 to {})", file.place(file.line(), 1), trim(line),
                                                what, limit == 0 ? 0 : limit - 1))
          .about("file", path);
    }
    numbers.push_back(static_cast<std::int32_t>(*number));
  }
}

std::int64_t demand_of(const TaskShape& task) { return task.gpu_total().value(); }

}  // namespace

Result<std::vector<std::int32_t>> read_order_file(const std::string& path, std::size_t rows) {
  return read_number_lines(path, rows, "a row number of the trace");
}

Result<std::vector<std::int32_t>> read_rank_file(const std::string& path, std::size_t nodes) {
  BERTH_ASSIGN(std::vector<std::int32_t> rank, read_number_lines(path, nodes, "the rank of a node"));
  if (rank.size() != nodes) {
    return Status(Code::kInvalid, fmt::format("{}: {} ranks for {} nodes", path, rank.size(), nodes))
        .about("rank", path);
  }
  std::vector<std::size_t> line_of(nodes, 0);
  for (std::size_t i = 0; i < nodes; ++i) {
    std::size_t& first = line_of[static_cast<std::size_t>(rank[i])];
    if (first != 0) {
      return Status(Code::kInvalid,
                    fmt::format("{}: rank {} is given twice, as number {} and {}", path, rank[i], first, i + 1))
          .about("rank", path);
    }
    first = i + 1;
  }
  return rank;
}

Result<std::vector<std::int32_t>> inflated_order(std::span<const TaskShape> tasks, MilliGpu capacity,
                                                 std::int64_t inflate_milli, std::uint64_t seed) {
  std::int64_t demand = 0;
  std::vector<std::int32_t> order(tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    order[i] = static_cast<std::int32_t>(i);
    demand += demand_of(tasks[i]);
  }
  if (demand == 0) return Status(Code::kInvalid, "no task asks for a device, so demand cannot be inflated");
  Random random(seed);
  random.shuffle(order);
  const std::int64_t target = capacity.value() / 1000 * inflate_milli + capacity.value() % 1000 * inflate_milli / 1000;
  // Dropping from the end of a shuffled list is dropping at random.
  while (demand > target) {
    demand -= demand_of(tasks[static_cast<std::size_t>(order.back())]);
    order.pop_back();
  }
  while (demand < target) {
    const std::size_t row = random.below(tasks.size());
    if (demand + demand_of(tasks[row]) > target) break;
    demand += demand_of(tasks[row]);
    order.push_back(static_cast<std::int32_t>(row));
  }
  return order;
}

std::vector<std::int32_t> shuffled_rank(std::size_t nodes, std::uint64_t seed) {
  std::vector<std::int32_t> rank(nodes);
  for (std::size_t i = 0; i < nodes; ++i) rank[i] = static_cast<std::int32_t>(i);
  Random random(seed);
  random.shuffle(rank);
  return rank;
}

}  // namespace berth
