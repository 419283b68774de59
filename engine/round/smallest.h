// The smallest part of a change that still does what the whole does.
//
// Whether a change works is asked by planning a round, and is not monotone: others may take what one unit more frees.
// So nothing is concluded from other sizes. What is left works; without any one member, or with an amount one unit
// lower, it does not - both were tried. Questions are dear: a search that runs out of them says so.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/base/status.h"

namespace berth {

enum class Smallest : std::uint8_t { kProved, kNotProved };

// How many questions may still be asked: in all, and of one change.
struct Questions {
  int in_all = 0;
  int of_one = 0;

  void begin(int most) { of_one = std::min(most, in_all); }
  bool take() {
    if (of_one == 0) return false;
    --of_one;
    --in_all;
    return true;
  }
};

// Leaves out members as long as the rest works, the first ones first. `members` work, none of them at all does not.
// Of many it tries to leave out several at once.
template <class Member>
Result<Smallest> leave_out_needless(std::vector<Member>& members, Questions& questions,
                                    const std::function<Result<bool>(const std::vector<Member>&)>& works) {
  constexpr std::size_t kFew = 6;
  std::size_t chunk = members.size() > kFew ? members.size() / 2 : 1;
  std::size_t at = 0;
  std::size_t needed = 0;  // of the last ones tried in a row
  while (members.size() > 1 && needed < members.size()) {
    if (!questions.take()) return Smallest::kNotProved;
    if (at >= members.size()) at = 0;
    std::vector<Member> fewer = members;
    const std::size_t end = std::min(at + chunk, members.size());
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(at), fewer.begin() + static_cast<std::ptrdiff_t>(end));
    BERTH_ASSIGN(const bool enough, works(fewer));
    if (enough) {
      members = std::move(fewer);
      needed = 0;
      chunk = std::max<std::size_t>(std::min(chunk, members.size() / 2), 1);
      continue;
    }
    needed += end - at;
    at = end;
    if (chunk > 1 && needed >= members.size()) {
      chunk = chunk > kFew ? chunk / 2 : 1;
      needed = 0;
    }
  }
  return Smallest::kProved;
}

// Lowers `amount`, which works, to one above `too_little`, which does not, that works while one unit less does not. In
// steps of `step` first: amounts that people give are mostly whole ones.
Result<Smallest> lower_amount(std::int64_t& amount, std::int64_t too_little, std::int64_t step, Questions& questions,
                              const std::function<Result<bool>(std::int64_t)>& works);

}  // namespace berth
