// What a ledger knows before anybody uses anything: who owns how much, and by what each queue is judged.
#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>

#include "engine/model/quota_ledger.h"

namespace berth {

void QuotaLedger::complete_resources() {
  for (const QuotaResource& always :
       {QuotaResource{"cpu", ResourceKind::kCpu, 0}, QuotaResource{"memory", ResourceKind::kMemory, 0},
        QuotaResource{"gpu", ResourceKind::kGpu, 0}}) {
    const bool has_it = std::ranges::any_of(table_.resources, [&](const QuotaResource& resource) {
      return resource.kind == always.kind && resource.models == 0;
    });
    if (!has_it) table_.resources.push_back(always);
  }
  table_.terms.resize(row_count());
  for (std::vector<QuotaTerms>& terms : table_.terms) terms.resize(table_.resources.size());
}

std::vector<std::size_t> QuotaLedger::rows_children_first() const {
  std::vector<std::size_t> rows(row_count());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  std::ranges::stable_sort(rows, std::greater<>(), [&](std::size_t q) { return depth_[q]; });
  return rows;
}

void QuotaLedger::add_up_quotas() {
  const std::vector<std::size_t> rows = rows_children_first();
  for (std::size_t r = 0; r < resource_count(); ++r) {
    for (const std::size_t q : rows) {
      if (table_.terms[q][r].has_quota) quota_[at(q, r)] = table_.terms[q][r].quota;
      const std::size_t parent = above(q);
      if (parent < row_count() && !table_.terms[parent][r].has_quota) quota_[at(parent, r)] += quota_[at(q, r)];
    }
  }
}

void QuotaLedger::count_parts() {
  std::vector<std::size_t> narrow_first;
  for (std::size_t r = 0; r < resource_count(); ++r) {
    if (table_.resources[r].kind == ResourceKind::kGpu) narrow_first.push_back(r);
  }
  std::ranges::stable_sort(narrow_first, {}, [&](std::size_t r) {
    const ModelSet models = table_.resources[r].models;
    return models == 0 ? 65 : std::popcount(models);
  });
  for (const std::size_t r : narrow_first) {
    if (governed_[r] != 0) count_parts_of(r);
  }
}

void QuotaLedger::count_parts_of(std::size_t whole) {
  std::vector<std::int64_t> below(row_count(), -1);  // -1 = it has no children
  for (const std::size_t q : rows_children_first()) {
    const auto is_part = [&](std::size_t r, std::size_t of) {
      return table_.resources[r].lies_within(table_.resources[of]) && quota_[at(q, r)] > 0;
    };
    std::int64_t of_parts = 0;
    Parts parts;
    for (std::size_t r = 0; r < resource_count(); ++r) {
      bool is_counted = !is_part(r, whole);
      for (std::size_t other = 0; other < resource_count(); ++other) {
        is_counted = is_counted || (is_part(other, whole) && is_part(r, other));
      }
      if (is_counted) continue;
      of_parts += quota_[at(q, r)];
      parts.push_back(r);
    }
    std::int64_t& quota = quota_[at(q, whole)];
    if (!table_.terms[q][whole].has_quota) {
      quota = below[q] < 0 ? quota + of_parts : std::max({quota, of_parts, below[q]});
      if (!parts.empty()) {
        parts_.resize(quota_.size());
        parts_[at(q, whole)] = std::move(parts);
      }
    }
    if (above(q) < row_count()) below[above(q)] = std::max<std::int64_t>(0, below[above(q)]) + quota;
  }
}

bool QuotaLedger::sums_models(std::int32_t queue, std::size_t resource) const {
  std::int64_t of_parts = 0;
  for (const std::size_t part : parts_of(row(queue), resource)) of_parts += quota_[at(row(queue), part)];
  return of_parts > 0 && of_parts == quota_[at(row(queue), resource)];
}

void QuotaLedger::cover_models() {
  for (std::size_t r = 0; r < resource_count(); ++r) {
    for (std::size_t q = 0; q < row_count(); ++q) {
      if (quota_[at(q, r)] != 0 || table_.terms[q][r].has_quota || says_nothing_of(q, r)) continue;
      std::int64_t covered = kNoLimit;
      for (std::size_t other = 0; other < resource_count(); ++other) {
        const bool covers =
            table_.terms[q][other].has_quota && table_.resources[r].lies_within(table_.resources[other]);
        if (covers) covered = std::min(covered, quota_[at(q, other)]);
      }
      if (covered < kNoLimit) quota_[at(q, r)] = covered;
    }
  }
}

// A loan moves quota between two branches of the tree: up to, not including, their lowest common ancestor.
void QuotaLedger::count_loans(Seconds now) {
  const auto is_above_or_same = [&](std::size_t upper, std::size_t q) {
    for (; q < row_count(); q = above(q)) {
      if (q == upper) return true;
    }
    return false;
  };
  for (const LoanTerms& loan : table_.loans) {
    if (loan.until <= now) continue;
    const auto r = static_cast<std::size_t>(loan.resource);
    const std::size_t lender = row(loan.lender);
    const std::size_t borrower = row(loan.borrower);
    for (std::size_t q = lender; q < row_count() && !is_above_or_same(q, borrower); q = above(q)) {
      quota_[at(q, r)] -= loan.amount;
    }
    for (std::size_t q = borrower; q < row_count() && !is_above_or_same(q, lender); q = above(q)) {
      quota_[at(q, r)] += loan.amount;
      if (loan.until < Seconds(kNoLimit)) dated_.push_back({at(q, r), loan.until, loan.amount, borrower});
    }
  }
  for (std::int64_t& quota : quota_) quota = std::max<std::int64_t>(0, quota);  // lent more than there is
  std::ranges::sort(dated_, {}, [](const DatedQuota& dated) { return std::pair(dated.at, dated.until); });
}

void QuotaLedger::count_promises() {
  for (std::size_t r = 0; r < resource_count(); ++r) {
    if (owned_[r] == 0) continue;
    for (std::size_t q = 0; q < row_count(); ++q) {
      const std::int64_t lend = table_.terms[q][r].lend_limit;
      if (lend >= kNoLimit) continue;
      kept_[at(q, r)] = std::max<std::int64_t>(0, quota_[at(q, r)] - lend);
      if (kept_[at(q, r)] > 0) has_promises_[r] = 1;
    }
    if (has_promises_[r] == 0) continue;
    for (const std::size_t q : rows_children_first()) {
      promised_[at(q, r)] = std::max(kept_[at(q, r)], promised_below_[at(q, r)]);
      (above(q) < row_count() ? promised_below_[at(above(q), r)] : promised_to_all_[r]) += promised_[at(q, r)];
    }
  }
}

void QuotaLedger::find_owned() {
  for (std::size_t r = 0; r < resource_count(); ++r) {
    const bool is_owned =
        std::ranges::any_of(table_.terms, [&](const std::vector<QuotaTerms>& terms) { return terms[r].has_quota; });
    const bool is_lent = std::ranges::any_of(
        table_.loans, [&](const LoanTerms& loan) { return static_cast<std::size_t>(loan.resource) == r; });
    owned_.push_back(is_owned || is_lent ? 1 : 0);
  }
}

void QuotaLedger::find_unowned() {
  unowned_.assign(row_count() * resource_count(), 0);
  open_.assign(row_count() * resource_count(), 0);
  for (std::size_t r = 0; r < resource_count(); ++r) {
    for (std::size_t q = 0; q < row_count(); ++q) {
      if (!says_nothing_of(q, r)) continue;
      const bool is_covered = leaves_open(q, r);
      unowned_[at(q, r)] = owned_[r] == 0 || is_covered ? 1 : 0;
      bool has_limit = false;
      for (std::size_t up = q; up < row_count(); up = above(up)) {
        has_limit = has_limit || table_.terms[up][r].limit < kNoLimit;
      }
      open_[at(q, r)] = is_covered && !has_limit ? 1 : 0;
    }
  }
}

bool QuotaLedger::says_nothing_of(std::size_t row, std::size_t resource) const {
  if (owned_[resource] != 0 && quota_[at(row, resource)] != 0) return false;
  for (std::size_t q = row; q < row_count(); q = above(q)) {
    const QuotaTerms& said = table_.terms[q][resource];
    if (said.has_quota || said.borrow_limit < kNoLimit) return false;
  }
  return true;
}

bool QuotaLedger::leaves_open(std::size_t row, std::size_t resource) const {
  const QuotaResource& asked = table_.resources[resource];
  for (std::size_t r = 0; r < resource_count(); ++r) {
    const QuotaResource& other = table_.resources[r];
    const bool covers =
        other.kind == ResourceKind::kGpu && (asked.kind != ResourceKind::kGpu || asked.lies_within(other));
    for (std::size_t q = row; covers && q < row_count(); q = above(q)) {
      if (table_.terms[q][r].has_quota) return true;
    }
  }
  return false;
}

std::int64_t QuotaLedger::kept_below(std::size_t row, std::size_t branch, std::size_t resource,
                                     std::int64_t demand) const {
  std::int64_t change = 0;  // of what the queue before on the path is promised
  for (std::size_t q = row; q != branch; q = above(q)) {
    const std::size_t i = at(q, resource);
    change = std::max({std::int64_t{0}, kept_[i] - used_[i] - demand, promised_below_[i] + change}) - promised_[i];
  }
  return promised_below_[at(branch, resource)] + change;
}

std::int64_t QuotaLedger::kept_from_guest(std::int32_t queue, std::int32_t branch, std::size_t resource,
                                          std::int64_t demand) const {
  if (has_promises_[resource] == 0) return 0;
  bool is_guest = unowned_[at(row(queue), resource)] != 0;
  for (std::size_t q = row(queue); q != row(branch); q = above(q)) {
    const std::size_t i = at(q, resource);
    is_guest = is_guest || used_[i] - uncounted_[i] + demand > quota_[i];
  }
  return is_guest ? kept_below(row(queue), row(branch), resource, demand) : 0;
}

}  // namespace berth
