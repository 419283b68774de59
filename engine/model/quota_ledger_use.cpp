// Who uses how much, what that leaves promised, and what is pledged - and the print of it.
#include <algorithm>

#include "engine/model/quota_ledger.h"

namespace berth {

namespace {

// What so much more of a counter adds to a print. The weight is one of splitmix64, made odd.
template <class Counter>
std::uint64_t print_of(Counter counter, std::size_t at, std::int64_t more) {
  std::uint64_t weight = (at * 4 + static_cast<std::uint64_t>(counter) + 1) * 0x9e3779b97f4a7c15;
  weight = (weight ^ (weight >> 30)) * 0xbf58476d1ce4e5b9;
  weight = (weight ^ (weight >> 27)) * 0x94d049bb133111eb;
  return ((weight ^ (weight >> 31)) | 1) * static_cast<std::uint64_t>(more);
}

}  // namespace

template <class More>
void QuotaLedger::count_on_path(Counter counter, std::int32_t queue, std::size_t resource, const More& more) {
  std::vector<std::int64_t>& amounts = counter == Counter::kUsed ? used_ : uncounted_;
  std::uint64_t print = 0;
  for (std::size_t q = row(queue); q < row_count(); q = above(q)) {
    const std::int64_t amount = more(q);
    amounts[at(q, resource)] += amount;
    print += print_of(counter, at(q, resource), amount);
    prints_[q] += print;
  }
  print_ += print;
}

template <class More>
void QuotaLedger::change_use_of(std::int32_t queue, std::size_t resource, const More& more) {
  count_on_path(Counter::kUsed, queue, resource, more);
  if (has_promises_[resource] == 0) return;
  std::int64_t change = 0;
  for (std::size_t q = row(queue); q < row_count(); q = above(q)) {
    const std::size_t i = at(q, resource);
    promised_below_[i] += change;
    const std::int64_t after = std::max({std::int64_t{0}, kept_[i] - used_[i], promised_below_[i]});
    change = after - promised_[i];
    promised_[i] = after;
  }
  promised_to_all_[resource] += change;
}

template <class Counts>
std::int64_t QuotaLedger::beyond(std::size_t resource, const Amounts& amounts, const Leaving& leaving,
                                 const Counts& counts) {
  std::int64_t more = amounts[resource];
  for (const auto& [queue, held] : leaving) more -= counts(queue) ? held[resource] : 0;
  return std::max<std::int64_t>(0, more);
}

void QuotaLedger::count_promise(std::int32_t queue, const Amounts& amounts, const Leaving& leaving, std::int64_t sign,
                                Seconds gone_by) {
  counted_promises_ += sign;
  print_ += print_of(Counter::kPromises, 0, sign);
  const Leaving nobody;
  for (KeptRoom& kept : kept_rooms_) {
    DueRoom* const due = due_to(queue, kept);
    const auto is_of_the_same = [&](std::int32_t other) { return due_to(other, kept) == due; };
    const Leaving& still = kept.from >= gone_by ? nobody : leaving;
    (due != nullptr ? due->amount : kept.spare) -= sign * beyond(kept.resource, amounts, still, is_of_the_same);
  }
  Leaving counted;
  for (const auto& [other, held] : leaving) counted.emplace_back(other, counting(other, held));
  const Amounts own = counting(queue, amounts);
  for (std::size_t r = 0; r < resource_count(); ++r) {
    const auto lies_below = [&](std::size_t q) {
      return [this, branch = index_of(q)](std::int32_t other) { return lies_in(other, branch); };
    };
    const auto more = [&](std::size_t q) { return sign * beyond(r, amounts, leaving, lies_below(q)); };
    change_use_of(queue, r, more);
    count_on_path(Counter::kUncounted, queue, r,
                  [&](std::size_t q) { return more(q) - sign * beyond(r, own, counted, lies_below(q)); });
    used_by_all_[r] += sign * beyond(r, amounts, leaving, [](std::int32_t) { return true; });
  }
}

void QuotaLedger::change_usage(std::int32_t queue, const Amounts& amounts, std::int64_t sign, Seconds until) {
  for (KeptRoom& kept : kept_rooms_) {
    if (until <= kept.from) continue;
    DueRoom* const due = due_to(queue, kept);
    (due != nullptr ? due->amount : kept.spare) -= sign * amounts[kept.resource];
  }
  for (std::size_t r = 0; r < resource_count(); ++r) {
    const std::int64_t more = sign * amounts[r];
    if (more == 0) continue;
    const auto everywhere = [&](std::size_t) { return more; };
    change_use_of(queue, r, everywhere);
    if (unowned_[at(row(queue), r)] != 0) count_on_path(Counter::kUncounted, queue, r, everywhere);
    used_by_all_[r] += more;
  }
}

void QuotaLedger::take(std::int32_t queue, const Amounts& amounts, Seconds until) {
  change_usage(queue, amounts, 1, until);
}

void QuotaLedger::give_back(std::int32_t queue, const Amounts& amounts, Seconds until) {
  change_usage(queue, amounts, -1, until);
}

void QuotaLedger::pledge(const Pledge& pledge, std::int64_t sign) {
  const Amounts own = counting(pledge.queue, pledge.amounts);
  Leaving counted;
  for (const auto& [other, held] : pledge.leaving) counted.emplace_back(other, counting(other, held));
  for (std::size_t q = row(pledge.queue); q < row_count(); q = above(q)) {
    const std::uint32_t bit = mark_bit(depth_[q]);
    if ((pledge.levels & bit) == 0) continue;
    const auto lies_below = [this, branch = index_of(q)](std::int32_t other) { return lies_in(other, branch); };
    Leaving marked;
    for (const Pledge::Marked& part : pledge.marked) {
      if ((part.marks & bit) != 0) marked.emplace_back(part.queue, counting(part.queue, part.amounts));
    }
    for (std::size_t r = 0; r < resource_count(); ++r) {
      const std::int64_t more = sign * beyond(r, own, counted, lies_below);
      pledged_[at(q, r)] += more;
      pledged_marks_[at(q, r)] += sign * beyond(r, own, marked, lies_below);
      print_ += print_of(Counter::kPledged, at(q, r), more);
    }
  }
}

}  // namespace berth
