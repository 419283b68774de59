#include "engine/round/owners_waiting.h"

#include <algorithm>
#include <limits>
#include <map>

#include "engine/round/own_models.h"
#include "engine/round/reclaim.h"

namespace berth {

namespace {

constexpr std::size_t kNobody = std::numeric_limits<std::size_t>::max();

}  // namespace

std::vector<OwnersWaiting::Kind>& OwnersWaiting::kinds() {
  if (is_known_ || input_ == nullptr) return kinds_;
  is_known_ = true;
  const QuotaLedger& quotas = state_.quotas();
  std::map<DemandKey, std::size_t> known;
  const auto add = [&](const Job& job, Seconds end) {
    Amounts demand = quotas.demand_to_start(job);
    DemandKey key = {job.queue, quotas.looks_at_end() ? end.value() : 0};
    key.insert(key.end(), demand.begin(), demand.end());
    const auto [kind, is_new] = known.try_emplace(std::move(key), kinds_.size());
    if (is_new && quotas.has_quota_for(job.queue, demand, end)) {
      kinds_.push_back({job.queue, std::move(demand), end, {}});
    } else if (is_new) {
      kind->second = kNobody;
    }
    if (kind->second != kNobody) kinds_[kind->second].jobs.push_back(job.id);
  };
  for (std::size_t i = input_->jobs.size(); i-- > 0;) {
    const Job& job = input_->jobs[i];
    if (among_ != nullptr && !among_->contains(job.id)) continue;
    if (job.queue < 0 || job.state == JobState::kRunning || !job.after.empty()) continue;
    if (find_hold(state_.setup().holds, job.id) != nullptr || state_.is_refused(job.id, now_)) continue;
    if (find_kept_off(state_.setup().kept_off, job.id) != nullptr) continue;
    const Seconds end = last_end_of(job, now_);
    add(job, end);
    if (quotas.choices_of(job) == 0) continue;
    for (const Job& narrowed : on_each_own_model(quotas, job, end)) add(narrowed, end);
  }
  return kinds_;
}

bool OwnersWaiting::has_been(std::int64_t job) const {
  return tried_.contains(job) || state_.running().find(job) != nullptr;
}

bool OwnersWaiting::somebody_waits(Kind& kind) const {
  while (!kind.jobs.empty() && has_been(kind.jobs.back())) kind.jobs.pop_back();
  return !kind.jobs.empty();
}

std::uint32_t OwnersWaiting::marks_of(std::int32_t queue, const Amounts& amounts) {
  QuotaLedger& quotas = state_.quotas();
  const std::uint32_t marks = quotas.mark(queue, amounts);
  quotas.unmark(queue, amounts, marks);
  return marks & ~quotas.marks_on_promises(queue, amounts);
}

bool OwnersWaiting::come_before(const Job& job, const Amounts& amounts) {
  if (kinds().empty()) return false;
  const QuotaLedger& quotas = state_.quotas();
  const std::uint32_t marks = marks_of(job.queue, amounts);
  if (marks == quotas.all_marks(job.queue)) return false;
  const auto is_before = [&](const Borrower& other) {
    return quotas.may_reclaim(job.queue, amounts, other.queue, other.marks, last_end_of(job, now_));
  };
  return borrows_from_one_who_waits({job.queue, marks}) || !std::ranges::all_of(later_, is_before);
}

bool OwnersWaiting::borrows_from_one_who_waits(const Borrower& borrower) {
  const QuotaLedger& quotas = state_.quotas();
  const auto [known, is_new] = answers_.try_emplace(borrower);
  Answer& answer = known->second;
  if (is_new || answer.print != quotas.usage_print()) {
    const auto takes_back = [&](Kind& kind) {
      return quotas.may_reclaim(kind.queue, kind.demand, borrower.queue, borrower.marks, kind.end) &&
             somebody_waits(kind);
    };
    answer = {quotas.usage_print(), std::ranges::any_of(kinds_, takes_back)};
  }
  return answer.is_owned;
}

void OwnersWaiting::note_later(const Job& job, const Amounts& amounts) {
  const Borrower as_borrower{job.queue, marks_of(job.queue, amounts)};
  if (std::ranges::find(later_, as_borrower) == later_.end()) later_.push_back(as_borrower);
}

void OwnersWaiting::note_tried(std::int64_t job) {
  if (among_ == nullptr || !among_->contains(job) || !tried_.insert(job).second) return;
  answers_.clear();  // one may have been about it
}

}  // namespace berth
