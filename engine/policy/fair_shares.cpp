#include "engine/policy/fair_shares.h"

#include <algorithm>
#include <functional>
#include <numbers>
#include <numeric>
#include <set>

namespace berth {

namespace {

std::int64_t wanted_of(const ShareClaim& claim) { return std::min(claim.request, claim.limit); }

// One unit each to those with the largest remainder, until nothing is left.
void hand_out_rest(std::int64_t& rest, std::vector<std::pair<double, std::size_t>> remainders,
                   std::vector<std::int64_t>& shares) {
  std::ranges::stable_sort(remainders, std::greater<>(), [](const auto& entry) { return entry.first; });
  for (const auto& [remainder, claim] : remainders) {
    if (rest <= 0) return;
    ++shares[claim];
    --rest;
  }
}

// Quotas that together exceed what there is.
void cut_in_proportion(std::int64_t total, std::int64_t sum, std::vector<std::int64_t>& shares) {
  std::vector<std::pair<double, std::size_t>> remainders;
  std::int64_t rest = total;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double exact = static_cast<double>(shares[i]) * (static_cast<double>(total) / static_cast<double>(sum));
    shares[i] = static_cast<std::int64_t>(exact);
    rest -= shares[i];
    if (exact > static_cast<double>(shares[i])) remainders.emplace_back(exact - static_cast<double>(shares[i]), i);
  }
  hand_out_rest(rest, std::move(remainders), shares);
}

void divide_in_band(std::int32_t band, std::span<const ShareClaim> claims, double usage_weight, std::int64_t& rest,
                    std::vector<std::int64_t>& shares) {
  std::vector<double> parts(claims.size());
  for (bool again = true; again && rest > 0;) {
    again = false;
    double weights = 0;
    const auto is_unsatisfied = [&](std::size_t i) {
      return claims[i].priority_band == band && shares[i] < wanted_of(claims[i]);
    };
    for (std::size_t i = 0; i < claims.size(); ++i) {
      if (is_unsatisfied(i)) weights += claims[i].weight;
    }
    if (weights <= 0) return;
    double sum = 0;
    for (std::size_t i = 0; i < claims.size(); ++i) {
      const double part = claims[i].weight / weights;
      parts[i] = is_unsatisfied(i) ? std::max(0.0, part + usage_weight * (part - claims[i].usage)) : 0;
      sum += parts[i];
    }
    if (sum <= 0) return;
    const auto to_divide = static_cast<double>(rest);
    std::vector<std::pair<double, std::size_t>> remainders;
    for (std::size_t i = 0; i < claims.size(); ++i) {
      if (parts[i] <= 0) continue;
      const double due = to_divide * (parts[i] / sum);
      const std::int64_t missing = wanted_of(claims[i]) - shares[i];
      const std::int64_t given = std::min({missing, static_cast<std::int64_t>(due), rest});
      again = again || (given == missing && static_cast<double>(missing) < due);
      if (given < missing) remainders.emplace_back(due - static_cast<double>(given), i);
      shares[i] += given;
      rest -= given;
    }
    if (!again) hand_out_rest(rest, std::move(remainders), shares);
  }
}

}  // namespace

std::vector<std::int64_t> divide_fairly(std::int64_t total, std::span<const ShareClaim> claims, double usage_weight) {
  std::vector<std::int64_t> shares(claims.size());
  std::set<std::int32_t, std::greater<>> bands;
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    shares[i] = std::min(claims[i].quota, wanted_of(claims[i]));
    sum += shares[i];
    bands.insert(claims[i].priority_band);
  }
  if (sum > total) {
    cut_in_proportion(total, sum, shares);
    return shares;
  }
  std::int64_t rest = total - sum;
  for (const std::int32_t band : bands) divide_in_band(band, claims, usage_weight, rest, shares);
  return shares;
}

std::vector<std::int64_t> fair_shares(std::span<const Queue> queues, std::int64_t total, std::vector<ShareClaim> claims,
                                      double usage_weight) {
  std::vector<std::vector<std::size_t>> children(queues.size());
  std::vector<std::size_t> roots;
  for (std::size_t q = 0; q < claims.size(); ++q) {
    const std::int32_t parent = q < queues.size() ? queues[q].parent : -1;
    (parent < 0 ? roots : children[static_cast<std::size_t>(parent)]).push_back(q);
  }
  // Parents before children.
  std::vector<std::size_t> order = roots;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] < queues.size()) order.insert(order.end(), children[order[i]].begin(), children[order[i]].end());
  }
  for (auto q = order.rbegin(); q != order.rend(); ++q) {
    if (*q >= queues.size() || queues[*q].parent < 0) continue;
    claims[static_cast<std::size_t>(queues[*q].parent)].request += wanted_of(claims[*q]);
  }
  std::vector<std::int64_t> shares(claims.size());
  // `whole`: of the cluster, what the family could have used.
  const auto divide = [&](std::int64_t what, double whole, const std::vector<std::size_t>& family) {
    std::vector<ShareClaim> of_family;
    for (const std::size_t q : family) {
      of_family.push_back(claims[q]);
      if (whole > 0) of_family.back().usage /= whole;
    }
    const std::vector<std::int64_t> divided = divide_fairly(what, of_family, usage_weight);
    for (std::size_t i = 0; i < family.size(); ++i) shares[family[i]] = divided[i];
  };
  divide(total, 1, roots);
  for (const std::size_t q : order) {
    if (q >= queues.size() || children[q].empty()) continue;
    const double due = total > 0 ? static_cast<double>(shares[q]) / static_cast<double>(total) : 0;
    divide(shares[q], std::max(due, claims[q].usage), children[q]);
  }
  return shares;
}

std::vector<ShareClaim> claims_of(const QuotaLedger& ledger, std::size_t resource, std::span<const Amounts> waiting,
                                  Seconds half_life) {
  const std::span<const Queue> queues = ledger.queues();
  std::vector<ShareClaim> claims(queues.size() + 1);
  std::int64_t gpus = 0;
  for (std::size_t r = 0; r < ledger.resource_count(); ++r) {
    const QuotaResource& one = ledger.resource(r);
    if (one.kind == ResourceKind::kGpu && one.models == 0) gpus = ledger.capacity(r);
  }
  // What use of all GPUs for ever has decayed to.
  const double whole = static_cast<double>(gpus) * static_cast<double>(half_life.value()) / std::numbers::ln2;
  std::vector<double> usage_below(queues.size(), 0);
  std::vector<std::size_t> deepest_first(queues.size());
  std::iota(deepest_first.begin(), deepest_first.end(), std::size_t{0});
  std::ranges::stable_sort(deepest_first, std::greater<>(),
                           [&](std::size_t q) { return ledger.depth(static_cast<std::int32_t>(q)); });
  claims.back().request = ledger.used(-1, resource) + waiting.back()[resource];
  for (const std::size_t q : deepest_first) {
    const auto queue = static_cast<std::int32_t>(q);
    const QuotaTerms& terms = ledger.terms(queue, resource);
    ShareClaim& claim = claims[q];
    claim.quota = ledger.quota(queue, resource);
    claim.request += ledger.used(queue, resource) + waiting[q][resource];
    claim.limit = terms.limit;
    claim.weight = terms.weight >= 0 ? terms.weight : queues[q].weight;
    claim.priority_band = queues[q].priority_band;
    const double usage = std::max(queues[q].decayed_usage, usage_below[q]);
    if (whole > 0) claim.usage = usage / whole;
    if (queues[q].parent < 0) continue;
    // What runs below is in the parent's usage already; only its own jobs' is to be said.
    const auto parent = static_cast<std::size_t>(queues[q].parent);
    claims[parent].request -= ledger.used(queue, resource);
    usage_below[parent] += usage;
  }
  return claims;
}

}  // namespace berth
