#include "engine/policy/policy.h"

#include <bit>
#include <tuple>

#include "engine/policy/order_by_key.h"

namespace berth {

namespace {

class FixedSequence : public JobSequence {
 public:
  explicit FixedSequence(std::vector<std::int32_t> order) : order_(std::move(order)) {}
  std::optional<std::int32_t> next() override {
    return at_ < order_.size() ? std::optional(order_[at_++]) : std::nullopt;
  }

 private:
  std::vector<std::int32_t> order_;
  std::size_t at_ = 0;
};

}  // namespace

std::unique_ptr<JobSequence> QueueOrder::begin(const OrderInput& input) const {
  return std::make_unique<FixedSequence>(order(input));
}

bool QueueOrder::goes_first(const Job& one, const Job& other, const OrderInput& input) const {
  (void)input;
  return std::pair(one.in_line_since(), one.id) < std::pair(other.in_line_since(), other.id);
}

bool KeyedOrder::goes_first(const Job& one, const Job& other, const OrderInput& input) const {
  const auto place = [&](const Job& job) { return std::tuple(key(job, input), job.in_line_since(), job.id); };
  return place(one) < place(other);
}

std::vector<std::int32_t> KeyedOrder::order(const OrderInput& input) const {
  return order_by_key(input, [&](const Job& job) { return key(job, input); });
}

int NodeScore::choose_device(const NodeView& node, const TaskShape& shape, DeviceMask feasible) const {
  (void)shape;
  int best = std::countr_zero(feasible);
  for (DeviceMask rest = feasible & (feasible - 1); rest != 0; rest &= rest - 1) {
    const int device = std::countr_zero(rest);
    if (node.milli[static_cast<std::size_t>(device)] < node.milli[static_cast<std::size_t>(best)]) best = device;
  }
  return best;
}

}  // namespace berth
