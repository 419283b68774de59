// Who is within quota, for good: marks, and what may be taken back by them.
#include "engine/model/quota_ledger.h"

namespace berth {

void QuotaLedger::clear_marks() { std::ranges::fill(marked_, 0); }

bool QuotaLedger::asks_for_governed(const Amounts& amounts) const {
  for (std::size_t r = 0; r < resource_count(); ++r) {
    if (governed_[r] != 0 && amounts[r] > 0) return true;
  }
  return false;
}

bool QuotaLedger::is_left_to_parts(std::size_t row, std::size_t resource, const Amounts& amounts,
                                   std::int32_t asking) const {
  const std::span<const std::size_t> parts = parts_of(row, resource);
  if (parts.empty()) return false;
  std::int64_t on_parts = 0;
  for (const std::size_t part : parts) {
    if (has_quota_of(asking, part)) on_parts += amounts[part];
  }
  return on_parts >= amounts[resource];
}

std::int64_t QuotaLedger::left_beside(std::size_t row, std::size_t resource, Seconds until, Beside beside,
                                      std::int32_t asking) const {
  const std::size_t i = at(row, resource);
  const bool by_marks = beside == Beside::kMarked;
  const std::int64_t taken = by_marks ? marked_[i] : used_[i] - uncounted_[i];
  // What promises will use may be counted as used already.
  const std::int64_t pledged = by_marks ? pledged_marks_[i] : counted_promises_ == 0 ? pledged_[i] : 0;
  return quota_lasting_for(asking, row, resource, until, beside) - taken - pledged;
}

std::int64_t QuotaLedger::left_after(std::size_t row, std::size_t resource, std::int64_t demand, Seconds until,
                                     std::int32_t asking) const {
  const std::size_t i = at(row, resource);
  return quota_lasting_for(asking, row, resource, until) - (used_[i] - uncounted_[i]) - demand;
}

bool QuotaLedger::fits_quota(std::size_t row, const Amounts& amounts, Seconds until, Beside beside,
                             std::int32_t asking) const {
  for (std::size_t r = 0; r < resource_count(); ++r) {
    if (governed_[r] == 0 || amounts[r] == 0 || is_left_to_parts(row, r, amounts, asking)) continue;
    if (amounts[r] > left_beside(row, r, until, beside, asking)) return false;
  }
  return true;
}

bool QuotaLedger::fits_marks(std::size_t row, const Amounts& amounts, std::int32_t asking) const {
  for (std::size_t r = 0; r < resource_count(); ++r) {
    if (governed_[r] == 0 || amounts[r] == 0) continue;
    if (amounts[r] > left_beside(row, r, {}, Beside::kMarked, asking)) return false;
  }
  return true;
}

std::uint32_t QuotaLedger::mark(std::int32_t queue, const Amounts& amounts, std::uint32_t already,
                                std::uint32_t wanted) {
  if (!governs_) return already;
  const Amounts counted = counting(queue, amounts);
  std::uint32_t marks = already;
  for (std::size_t q = row(queue); q < row_count(); q = above(q)) {
    const std::uint32_t bit = mark_bit(depth_[q]);
    if ((already & bit) != 0 || (wanted & bit) == 0 || !fits_marks(q, counted, queue)) continue;
    for (std::size_t r = 0; r < resource_count(); ++r) marked_[at(q, r)] += counted[r];
    marks |= bit;
  }
  return marks;
}

void QuotaLedger::count_marks(std::int32_t queue, const Amounts& amounts, std::uint32_t marks, std::int64_t sign) {
  const Amounts counted = counting(queue, amounts);
  for (std::size_t q = row(queue); q < row_count(); q = above(q)) {
    if ((marks & mark_bit(depth_[q])) == 0) continue;
    for (std::size_t r = 0; r < resource_count(); ++r) marked_[at(q, r)] += sign * counted[r];
  }
}

bool QuotaLedger::is_owed_a_mark(std::int32_t queue, const Amounts& amounts, std::uint32_t marks) const {
  if (parts_.empty()) return false;
  const Amounts counted = counting(queue, amounts);
  for (std::size_t q = row(queue); q < row_count(); q = above(q)) {
    const std::uint32_t bit = mark_bit(depth_[q]);
    if (bit != 0 && (marks & bit) == 0 && fits_quota(q, counted, {}, Beside::kMarked, queue)) return true;
  }
  return false;
}

bool QuotaLedger::is_beside_models(std::int32_t queue, int depth, const Amounts& amounts) const {
  if (parts_.empty()) return false;
  std::size_t q = row(queue);
  while (q < row_count() && depth_[q] > depth) q = above(q);
  if (q >= row_count() || depth_[q] != depth) return false;
  for (std::size_t r = 0; r < resource_count(); ++r) {
    if (!parts_of(q, r).empty() && amounts[r] > 0 && !is_left_to_parts(q, r, amounts, queue)) return true;
  }
  return false;
}

std::uint32_t QuotaLedger::all_marks(std::int32_t queue) const {
  return (1u << std::min(depth(queue) + 1, kMarkedDepths)) - 1;
}

int QuotaLedger::fork_depth(std::int32_t queue, std::int32_t other) const {
  std::size_t a = row(queue);
  std::size_t b = row(other);
  while (depth_[a] > depth_[b]) a = above(a);
  while (depth_[b] > depth_[a]) b = above(b);
  if (a == b) return -1;
  for (; above(a) != above(b); b = above(b)) a = above(a);
  return depth_[a];
}

bool QuotaLedger::may_reclaim(std::int32_t queue, const Amounts& amounts, std::int32_t victim_queue,
                              std::uint32_t victim_marks, Seconds until, Beside beside) const {
  const int fork = fork_depth(queue, victim_queue);
  if (fork < 0 || fork >= kMarkedDepths || (victim_marks & mark_bit(fork)) != 0) return false;
  std::size_t own = row(queue);
  while (depth_[own] > fork) own = above(own);
  const Amounts counted = counting(queue, amounts);
  if (!asks_for_governed(counted) || !fits_quota(own, counted, until, beside, queue)) return false;
  return (marks_on_promises(queue, amounts, until) & mark_bit(fork)) == 0;
}

std::uint32_t QuotaLedger::marks_on_promises(std::int32_t queue, const Amounts& amounts, Seconds until) const {
  std::uint32_t marks = 0;
  for (std::size_t r = 0; r < resource_count(); ++r) {
    if (has_promises_[r] == 0 || amounts[r] == 0 || !counts_for(queue, r)) continue;
    bool borrows_below = false;
    for (std::size_t q = row(queue); q < row_count(); q = above(q)) {
      if (is_left_to_parts(q, r, amounts, queue)) continue;
      const std::int64_t left = left_after(q, r, amounts[r], until, queue);
      if (borrows_below && left >= 0 && kept_below(row(queue), q, r, amounts[r]) > left) marks |= mark_bit(depth_[q]);
      borrows_below = borrows_below || left < 0;
    }
  }
  return marks;
}

bool QuotaLedger::has_quota_for(std::int32_t queue, const Amounts& amounts, Seconds until) const {
  const Amounts counted = counting(queue, amounts);
  if (!asks_for_governed(counted)) return false;
  for (std::size_t q = row(queue); q < row_count(); q = above(q)) {
    if (fits_quota(q, counted, until, Beside::kMarked, queue)) return true;
  }
  return false;
}

bool QuotaLedger::fits_above_both(std::int32_t queue, std::int32_t other, const Amounts& amounts, Seconds until) const {
  const Amounts counted = counting(queue, amounts);
  for (std::size_t q = row(queue); q < queues_.size(); q = above(q)) {
    if (lies_in(other, index_of(q)) && !fits_quota(q, counted, until, Beside::kUsed, queue)) return false;
  }
  return true;
}

}  // namespace berth
