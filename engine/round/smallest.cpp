#include "engine/round/smallest.h"

namespace berth {

Result<Smallest> lower_amount(std::int64_t& amount, std::int64_t too_little, std::int64_t step, Questions& questions,
                              const std::function<Result<bool>(std::int64_t)>& works) {
  bool one_less_works = true;  // not asked yet
  while (one_less_works && amount - too_little > 1) {
    if (!questions.take()) return Smallest::kNotProved;
    BERTH_ASSIGN(one_less_works, works(amount - 1));
    if (!one_less_works) break;
    --amount;
    // By halves, in whole steps as long as there are some between.
    while (amount - too_little > 1) {
      std::int64_t next = too_little + (amount - too_little) / 2;
      if (next - next % step > too_little) next -= next % step;
      if (!questions.take()) return Smallest::kNotProved;
      BERTH_ASSIGN(const bool enough, works(next));
      (enough ? amount : too_little) = next;
      if (amount - too_little <= step) break;
    }
    step = 1;
  }
  return Smallest::kProved;
}

}  // namespace berth
