#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <random>

#include "engine/store/assertion_records.h"

namespace berth::test {
namespace {

ViolationRow row_of(std::string what, std::optional<int> number) {
  ViolationRow row{.what = what, .has_number = number.has_value(), .number = 0, .text = {}};
  if (number) row.number = *number;
  row.text = number ? what + ", n = " + std::to_string(*number) : what;
  return row;
}

bool excuses(const ViolationRow& old, const ViolationRow& row) {
  if (old.what != row.what || old.has_number != row.has_number) return false;
  return !row.has_number || old.number >= row.number;
}

// As many of `now` from the one at `at` on as different ones of `before` excuse: every choice is tried.
std::size_t most_excused(const ViolationRows& now, std::size_t at, ViolationRows before) {
  if (at == now.size()) return 0;
  std::size_t most = most_excused(now, at + 1, before);
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (!excuses(before[i], now[at])) continue;
    ViolationRows rest = before;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    most = std::max(most, 1 + most_excused(now, at + 1, rest));
  }
  return most;
}

TEST(AssertionRows, EachOldRowExcusesOneThatIsNoWorse) {
  std::mt19937 random(7);
  const auto below = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most)); };
  const auto some_rows = [&] {
    ViolationRows rows;
    for (int i = below(5); i > 0; --i) {
      const std::string what(1, static_cast<char>('a' + below(2)));
      rows.push_back(row_of(what, below(4) == 0 ? std::nullopt : std::optional(below(4) - 1)));
    }
    std::ranges::sort(rows, std::less<>());
    return rows;
  };
  for (int i = 0; i < 5000; ++i) {
    const ViolationRows before = some_rows();
    const ViolationRows now = some_rows();
    const ViolationRows added = new_violations(before, now);
    EXPECT_EQ(added.size(), now.size() - most_excused(now, 0, before));
    EXPECT_TRUE(std::ranges::includes(now, added, std::less<>()));
  }
}

TEST(AssertionRows, TheRowThatGrewIsTheNewOne) {
  const ViolationRows before = {row_of("q", 3), row_of("q", 5)};
  const ViolationRows now = {row_of("q", 4), row_of("q", 5)};
  const ViolationRows added = new_violations(before, now);
  ASSERT_EQ(added.size(), 1U);
  EXPECT_EQ(added[0].text, "q, n = 4");
}

}  // namespace
}  // namespace berth::test
