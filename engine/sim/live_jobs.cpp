#include "engine/sim/live_jobs.h"

#include <algorithm>
#include <utility>

namespace berth {

namespace {

// As new, but for the memory that it has.
void renew(LiveJob& used) {
  std::vector<TaskGroup> groups = std::move(used.job.groups);
  std::vector<std::size_t> first_of_group = std::move(used.first_of_group);
  std::vector<Seconds> joined = std::move(used.joined);
  std::string name = std::move(used.name);
  groups.clear();
  first_of_group.clear();
  joined.clear();
  used = LiveJob{};
  used.job.groups = std::move(groups);
  used.first_of_group = std::move(first_of_group);
  used.joined = std::move(joined);
  used.name = std::move(name);
}

}  // namespace

std::int32_t LiveJobs::add(std::int64_t id) {
  std::int32_t slot;
  if (free_.empty()) {
    slot = static_cast<std::int32_t>(slots_.size());
    slots_.push_back(std::make_unique<LiveJob>());
  } else {
    slot = free_.back();
    free_.pop_back();
    renew((*this)[slot]);
  }
  if (finds_ids_) slot_of_.emplace(id, slot);
  return slot;
}

void LiveJobs::remove(std::int32_t slot) {
  LiveJob& gone = (*this)[slot];
  if (finds_ids_) slot_of_.erase(gone.job.id);
  gone.job.id = 0;
  gone.is_running = false;  // what is still scheduled for it is void
  gone.is_waiting = false;
  free_.push_back(slot);
}

std::vector<std::int32_t> LiveJobs::all() const {
  std::vector<std::pair<std::int64_t, std::int32_t>> by_id;
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    if (slots_[slot]->job.id != 0) by_id.emplace_back(slots_[slot]->job.id, static_cast<std::int32_t>(slot));
  }
  std::ranges::sort(by_id);
  std::vector<std::int32_t> slots;
  slots.reserve(by_id.size());
  for (const auto& [id, slot] : by_id) slots.push_back(slot);
  return slots;
}

}  // namespace berth
