#include "engine/policy/own_quota_first.h"

#include <algorithm>
#include <utility>

namespace berth {

OwnQuotaFirst::OwnQuotaFirst(const OrderInput& input, std::unique_ptr<RewindableSequence> sequence)
    : jobs_(input.jobs), usage_(input.quotas), sequence_(std::move(sequence)), known_(input.queues.size()) {
  if (usage_ == nullptr || !usage_->divides_models()) return;
  for (const Job& job : jobs_) {
    if (job.queue >= 0) levels_ = std::max(levels_, usage_->depth(job.queue) + 1);
  }
}

bool OwnQuotaFirst::may_be_own(const Job& job) {
  if (job.queue < 0 || usage_->depth(job.queue) + 1 < levels_) return false;
  Known& known = known_[static_cast<std::size_t>(job.queue)];
  if (known.levels != levels_ || known.print != usage_->usage_print()) {
    known = {usage_->usage_print(), levels_, usage_->models_within(job.queue, levels_)};
  }
  return std::ranges::all_of(job.groups, [&](const TaskGroup& group) {
    const TaskShape& shape = group.shape;
    return shape.gpu_count == 0 || (shape.models == 0 ? known.models : shape.models & known.models) != 0;
  });
}

std::optional<std::int32_t> OwnQuotaFirst::next() {
  for (;;) {
    const std::optional<std::int32_t> index = sequence_->next();
    if (!index) {
      if (levels_ == 0) return std::nullopt;
      --levels_;
      sequence_->rewind();
    } else if (levels_ == 0 || may_be_own(jobs_[static_cast<std::size_t>(*index)])) {
      return index;
    }
  }
}

}  // namespace berth
