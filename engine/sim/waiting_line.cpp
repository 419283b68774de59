#include "engine/sim/waiting_line.h"

#include <algorithm>
#include <utility>

namespace berth {

bool WaitingLine::is_worth_trying(std::size_t place) {
  if (slots_[place] < 0) return false;
  const Job& job = jobs_[place];
  if (job.state == JobState::kRunning && floor_->is_stopping(job.id)) return false;
  const QuotaLedger* const quotas = floor_->quotas();
  const Seconds end = quotas != nullptr && quotas->looks_at_end() ? job.expected_end(input_.now) : Seconds(0);
  const MayEvict may_evict = levels_ > 0 ? MayEvict::kNobody : floor_->may_evict_for(job);
  current_class_ = classes_.of(kinds_[place], job, may_evict, end, levels_);
  return !failed_.find(current_class_, floor_->evictions().size());
}

std::size_t WaitingLine::place_of(std::int64_t id) const {
  return static_cast<std::size_t>(std::ranges::lower_bound(jobs_, id, {}, &Job::id) - jobs_.begin());
}

void WaitingLine::add(const Job& job, std::int32_t slot) {
  drop_gone();
  if (jobs_.empty()) classes_ = {};  // kinds of long ago are forgotten
  const auto place = static_cast<std::ptrdiff_t>(place_of(job.id));
  jobs_.insert(jobs_.begin() + place, job);
  slots_.insert(slots_.begin() + place, slot);
  kinds_.insert(kinds_.begin() + place, classes_.kind_of(job));
}

void WaitingLine::remove(const Job& job, std::int32_t) {
  slots_[place_of(job.id)] = -1;
  ++gone_;
}

void WaitingLine::drop_gone() {
  if (gone_ == 0) return;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    if (slots_[i] < 0) continue;
    if (kept != i) {
      jobs_[kept] = std::move(jobs_[i]);
      slots_[kept] = slots_[i];
      kinds_[kept] = kinds_[i];
    }
    ++kept;
  }
  jobs_.resize(kept);
  slots_.resize(kept);
  kinds_.resize(kept);
  gone_ = 0;
}

void WaitingLine::begin_pass(const OrderInput& input, const Floor& floor) {
  // In a later pass a live round asks the order about jobs that have started, too.
  if (!floor.is_later_pass()) drop_gone();
  classes_.forget_classes();
  failed_ = {};
  floor_ = &floor;
  input_ = input;
  input_.jobs = jobs_;
  sequence_ = order_.begin(input_);
  promised_.reset();
  next_promised_ = 0;
  levels_ = 0;
}

std::int32_t WaitingLine::next() {
  if (!promised_) promised_ = floor_->promised();
  while (!floor_->is_later_pass() && next_promised_ < promised_->size()) {
    current_ = place_of((*promised_)[next_promised_++]);
    if (is_worth_trying(current_)) return slots_[current_];
  }
  while (const std::optional<std::int32_t> place = sequence_->next()) {
    current_ = static_cast<std::size_t>(*place);
    levels_ = sequence_->levels_within_quota();
    if (std::ranges::binary_search(*promised_, jobs_[current_].id)) continue;
    if (is_worth_trying(current_)) return slots_[current_];
  }
  return -1;
}

void WaitingLine::tried(Tried outcome) {
  if (outcome == Tried::kFailed) failed_.note(current_class_, floor_->evictions().size());
  if (outcome != Tried::kStarted) return;
  slots_[current_] = -1;
  ++gone_;
}

std::optional<Seconds> WaitingLine::order_changes_at() {
  drop_gone();
  input_.jobs = jobs_;
  return jobs_.empty() ? std::nullopt : order_.changes_at(input_);
}

}  // namespace berth
