#include "engine/policy/qssf_order.h"

#include <algorithm>
#include <map>

#include "engine/policy/least_work_order.h"
#include "engine/policy/order_by_key.h"

namespace berth {

std::vector<std::int32_t> QssfOrder::order(const OrderInput& input) const {
  std::map<std::int32_t, bool> holds_older;  // by queue
  for (const Job& job : input.jobs) holds_older[job.queue] |= job.submit < input.now;
  const LeastWorkOrder by_work;
  return order_by_key(input, [&](const Job& job) {
    return holds_older[job.queue] ? by_work.key(job, input) : OrderKey{job.gpu_total().value(), 0};
  });
}

std::optional<Seconds> QssfOrder::changes_at(const OrderInput& input) const {
  const bool is_fresh = std::ranges::any_of(input.jobs, [&](const Job& job) { return job.submit == input.now; });
  return is_fresh ? std::optional(input.now + Seconds(1)) : std::nullopt;
}

}  // namespace berth
