#include "engine/sim/waiting_line.h"

#include <algorithm>
#include <utility>

namespace berth {

// As DemandClasses has it, but for what changes while a job waits.
std::int32_t WaitingLine::kind_of(const Job& job) {
  if (jobs_.empty()) {  // kinds of long ago are forgotten
    kind_by_key_.clear();
    failures_.clear();
  }
  DemandKey key = {job.queue, job.priority_class, !job.after.empty()};
  for (const TaskGroup& group : job.groups) append_demand(group, key);
  const auto [kind, is_new] = kind_by_key_.try_emplace(std::move(key), static_cast<std::int32_t>(failures_.size()));
  if (is_new) failures_.emplace_back();
  return kind->second;
}

WaitingLine::Failure WaitingLine::failure_now(const Job& job) const {
  const QuotaLedger* const quotas = floor_->quotas();
  Failure failure{.evictions = floor_->evictions().size(), .levels = levels_within_quota()};
  if (failure.levels == 0) failure.may_evict = floor_->may_evict_for(job);
  if (quotas != nullptr && quotas->looks_at_end()) failure.end = job.expected_end(input_.now);
  return failure;
}

bool WaitingLine::is_worth_trying(std::size_t place) {
  if (slots_[place] < 0) return false;
  const Job& job = jobs_[place];
  if (job.state == JobState::kRunning && floor_->is_stopping(job.id)) return false;
  current_failure_ = failure_now(job);
  const Failures& failed = failures_[static_cast<std::size_t>(kinds_[place])];
  return failed.pass != pass_ || has_a_past(job) || std::ranges::find(failed.of, current_failure_) == failed.of.end();
}

std::size_t WaitingLine::place_of(std::int64_t id) const {
  return static_cast<std::size_t>(std::ranges::lower_bound(jobs_, id, {}, &Job::id) - jobs_.begin());
}

void WaitingLine::add(const Job& job, std::int32_t slot) {
  drop_gone();
  const std::int32_t kind = kind_of(job);
  const auto place = static_cast<std::ptrdiff_t>(place_of(job.id));
  jobs_.insert(jobs_.begin() + place, job);
  slots_.insert(slots_.begin() + place, slot);
  kinds_.insert(kinds_.begin() + place, kind);
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
  // In its second pass a live round asks the order about jobs that have started, too.
  if (!floor.is_second_pass()) drop_gone();
  ++pass_;
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
  while (!floor_->is_second_pass() && next_promised_ < promised_->size()) {
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
  if (outcome == Tried::kFailed && !has_a_past(jobs_[current_])) {
    Failures& failed = failures_[static_cast<std::size_t>(kinds_[current_])];
    if (failed.pass != pass_) failed = {.pass = pass_, .of = {}};
    current_failure_.evictions = floor_->evictions().size();
    failed.of.push_back(current_failure_);
  }
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
