#include "engine/sim/live_jobs.h"

#include <algorithm>
#include <utility>

namespace berth {

std::int32_t LiveJobs::add(std::int64_t id) {
  std::int32_t slot;
  if (free_.empty()) {
    slot = static_cast<std::int32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
    LiveJob& used = slots_[static_cast<std::size_t>(slot)];
    std::vector<std::size_t> groups = std::move(used.first_of_group);
    groups.clear();
    used = LiveJob{};
    used.first_of_group = std::move(groups);
  }
  if (finds_ids_) slot_of_.emplace(id, slot);
  return slot;
}

void LiveJobs::remove(std::int32_t slot) {
  if (finds_ids_) slot_of_.erase((*this)[slot].job.id);
  (*this)[slot].job.id = 0;
  free_.push_back(slot);
}

std::vector<std::int32_t> LiveJobs::all() const {
  std::vector<std::pair<std::int64_t, std::int32_t>> by_id;
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    if (slots_[slot].job.id != 0) by_id.emplace_back(slots_[slot].job.id, static_cast<std::int32_t>(slot));
  }
  std::ranges::sort(by_id);
  std::vector<std::int32_t> slots;
  slots.reserve(by_id.size());
  for (const auto& [id, slot] : by_id) slots.push_back(slot);
  return slots;
}

}  // namespace berth
