#include "engine/model/quota_ledger.h"

#include <algorithm>
#include <bit>

namespace berth {

namespace {

constexpr std::int32_t kNobody = -1;

std::int64_t capacity_of(const Cluster& cluster, const QuotaResource& resource) {
  std::int64_t total = 0;
  for (const Node& node : cluster.nodes) {
    if (node.state != NodeState::kUp && node.state != NodeState::kDraining) continue;
    const NodeKind& kind = cluster.kinds[static_cast<std::size_t>(node.kind)];
    switch (resource.kind) {
      case ResourceKind::kCpu: total += kind.cpu.value(); break;
      case ResourceKind::kMemory: total += kind.memory.value(); break;
      case ResourceKind::kGpu:
        if (kind.model >= 0 && (resource.models == 0 || ((resource.models >> kind.model) & 1) != 0)) {
          total += kWholeDevice.value() * (kind.device_count - std::popcount(node.unhealthy));
        }
        break;
    }
  }
  return total;
}

}  // namespace

QuotaLedger::QuotaLedger(const Cluster& cluster, std::span<const Queue> queues, const QuotaTable& table, Seconds)
    : queues_(queues), cluster_(&cluster), table_(&table) {
  const std::size_t resources = resource_count();
  capacity_.resize(resources);
  governed_.assign(resources, 0);
  kept_total_.assign(resources, 0);
  for (std::size_t r = 0; r < resources; ++r) capacity_[r] = capacity_of(cluster, table.resources[r]);
  const std::size_t size = queues.size() * resources;
  quota_.assign(size, 0);
  used_.assign(size, 0);
  marked_.assign(size, 0);
  kept_.assign(size, 0);
  depth_.assign(queues.size(), 0);
  for (std::size_t q = 0; q < queues.size(); ++q) {
    for (std::int32_t up = queues[q].parent; up >= 0; up = queues[static_cast<std::size_t>(up)].parent) ++depth_[q];
  }
  // Children before parents.
  std::vector<std::int32_t> deepest_first(queues.size());
  for (std::size_t q = 0; q < queues.size(); ++q) deepest_first[q] = static_cast<std::int32_t>(q);
  std::ranges::stable_sort(deepest_first, std::greater<>(), [&](std::int32_t q) { return depth(q); });
  for (std::size_t r = 0; r < resources; ++r) {
    for (std::size_t q = 0; q < queues.size(); ++q) {
      const QuotaTerms& terms = table.terms[q][r];
      if (terms.has_quota || terms.limit < kNoLimit) governed_[r] = 1;
    }
    if (governed_[r] != 0) governs_ = true;
    for (const std::int32_t q : deepest_first) {
      const QuotaTerms& terms = table.terms[static_cast<std::size_t>(q)][r];
      if (terms.has_quota) quota_[at(q, r)] = terms.quota;
      const std::int32_t parent = queues[static_cast<std::size_t>(q)].parent;
      if (parent < 0 || table.terms[static_cast<std::size_t>(parent)][r].has_quota) continue;
      quota_[at(parent, r)] += quota_[at(q, r)];
    }
  }
  // A loan moves quota between two branches of the tree: up to, not including, their lowest common ancestor.
  for (const LoanTerms& loan : table.loans) {
    const auto r = static_cast<std::size_t>(loan.resource);
    const auto is_above = [&](std::int32_t above, std::int32_t queue) {
      for (; queue >= 0; queue = queues_[static_cast<std::size_t>(queue)].parent) {
        if (queue == above) return true;
      }
      return false;
    };
    const auto shift = [&](std::int32_t queue, std::int32_t other, std::int64_t amount) {
      for (; queue >= 0 && !is_above(queue, other); queue = queues_[static_cast<std::size_t>(queue)].parent) {
        quota_[at(queue, r)] += amount;
      }
    };
    shift(loan.lender, loan.borrower, -loan.amount);
    shift(loan.borrower, loan.lender, loan.amount);
  }
  for (std::size_t q = 0; q < queues.size(); ++q) {
    for (std::size_t r = 0; r < resources; ++r) {
      const std::int64_t lend = table.terms[q][r].lend_limit;
      if (lend >= kNoLimit) continue;
      kept_[q * resources + r] = std::max<std::int64_t>(0, quota_[q * resources + r] - lend);
      kept_total_[r] += kept_[q * resources + r];
    }
  }
}

void QuotaLedger::add_demand(const TaskShape& shape, std::int64_t tasks, Amounts& demand) const {
  for (std::size_t r = 0; r < resource_count(); ++r) {
    const QuotaResource& resource = table_->resources[r];
    switch (resource.kind) {
      case ResourceKind::kCpu: demand[r] += shape.cpu.value() * tasks; break;
      case ResourceKind::kMemory: demand[r] += shape.memory.value() * tasks; break;
      case ResourceKind::kGpu:
        if (resource.models == 0 || (shape.models != 0 && (shape.models & ~resource.models) == 0)) {
          demand[r] += shape.gpu_total().value() * tasks;
        }
        break;
    }
  }
}

Amounts QuotaLedger::demand_to_start(const Job& job) const {
  Amounts demand = none();
  for (const TaskGroup& group : job.groups) {
    // What already runs counts as used; beyond the gang, one task more is what it needs to go on.
    add_demand(group.shape, std::max(0, group.min_tasks - group.placed), demand);
  }
  return demand;
}

Amounts QuotaLedger::demand_in_full(const Job& job) const {
  Amounts demand = none();
  for (const TaskGroup& group : job.groups) add_demand(group.shape, group.count - group.placed, demand);
  return demand;
}

void QuotaLedger::add_holding(const Holding& holding, Amounts& amounts) const {
  const std::int32_t model = cluster_->kind_of(static_cast<std::size_t>(holding.node)).model;
  for (std::size_t r = 0; r < resource_count(); ++r) {
    const QuotaResource& resource = table_->resources[r];
    switch (resource.kind) {
      case ResourceKind::kCpu: amounts[r] += holding.cpu.value(); break;
      case ResourceKind::kMemory: amounts[r] += holding.memory.value(); break;
      case ResourceKind::kGpu:
        if (holding.devices != 0 && (resource.models == 0 || ((resource.models >> model) & 1) != 0)) {
          amounts[r] += holding.gpu_milli.value() * std::popcount(holding.devices);
        }
        break;
    }
  }
}

QuotaVerdict QuotaLedger::judge(std::int32_t queue, const Amounts& demand, Seconds until) const {
  QuotaVerdict verdict;
  if (!governs_) return verdict;
  for (std::size_t r = 0; r < resource_count(); ++r) {
    if (governed_[r] == 0 || demand[r] == 0) continue;
    bool borrows = false;
    std::int64_t kept_on_path = 0;
    std::int64_t above_quota = 0;
    std::int32_t over = kNobody;  // nearest the root
    for (std::int32_t q = queue; q >= 0; q = queues_[static_cast<std::size_t>(q)].parent) {
      const QuotaTerms& terms = table_->terms[static_cast<std::size_t>(q)][r];
      const std::int64_t after = used_[at(q, r)] + demand[r];
      const auto refuse = [&](Reason reason, std::int64_t short_by) {
        verdict = {.reason = reason, .queue = q, .resource = static_cast<std::int32_t>(r), .short_by = short_by};
        return verdict;
      };
      if (after > terms.limit) return refuse(Reason::kLimit, after - terms.limit);
      std::int64_t own = quota_[at(q, r)];
      for (const LoanTerms& loan : table_->loans) {
        if (loan.borrower == q && static_cast<std::size_t>(loan.resource) == r && loan.until < until)
          own -= loan.amount;
      }
      if (after > own) {
        if (after - own > terms.borrow_limit) return refuse(Reason::kQuota, after - own - terms.borrow_limit);
        borrows = true;
        over = q;
        above_quota = after - own;
      }
      kept_on_path += std::max<std::int64_t>(0, kept_[at(q, r)] - used_[at(q, r)]);
    }
    if (!borrows) continue;
    verdict.borrows = true;
    // kept_total_ counts what is kept and not in use; what the path itself keeps does not stand against it.
    std::int64_t used_by_all = 0;
    for (std::size_t q = 0; q < queues_.size(); ++q) {
      if (queues_[q].parent < 0) used_by_all += used_[q * resource_count() + r];
    }
    const std::int64_t over_capacity = used_by_all + demand[r] + kept_total_[r] - kept_on_path - capacity_[r];
    if (over_capacity > 0 && kept_total_[r] > kept_on_path) {
      return {.reason = Reason::kLenderKeeps,
              .queue = over,
              .resource = static_cast<std::int32_t>(r),
              .short_by = std::min(over_capacity, above_quota)};
    }
  }
  return verdict;
}

void QuotaLedger::take(std::int32_t queue, const Amounts& amounts) {
  for (std::int32_t q = queue; q >= 0; q = queues_[static_cast<std::size_t>(q)].parent) {
    for (std::size_t r = 0; r < resource_count(); ++r) {
      const std::int64_t kept = kept_[at(q, r)];
      kept_total_[r] -= std::max<std::int64_t>(0, kept - used_[at(q, r)]);
      used_[at(q, r)] += amounts[r];
      kept_total_[r] += std::max<std::int64_t>(0, kept - used_[at(q, r)]);
    }
  }
}

void QuotaLedger::give_back(std::int32_t queue, const Amounts& amounts) {
  Amounts negative = amounts;
  for (std::int64_t& amount : negative) amount = -amount;
  take(queue, negative);
}

void QuotaLedger::clear_marks() { std::ranges::fill(marked_, 0); }

std::uint32_t QuotaLedger::mark(std::int32_t queue, const Amounts& amounts, std::uint32_t already,
                                std::uint32_t wanted) {
  if (!governs_) return already;
  std::uint32_t marks = already;
  for (std::int32_t q = queue; q >= 0; q = queues_[static_cast<std::size_t>(q)].parent) {
    const std::uint32_t bit = 1u << depth(q);
    if ((already & bit) != 0 || (wanted & bit) == 0) continue;
    bool fits = true;
    for (std::size_t r = 0; r < resource_count(); ++r) {
      fits = fits && (governed_[r] == 0 || amounts[r] == 0 || marked_[at(q, r)] + amounts[r] <= quota_[at(q, r)]);
    }
    if (!fits) continue;
    for (std::size_t r = 0; r < resource_count(); ++r) marked_[at(q, r)] += amounts[r];
    marks |= bit;
  }
  return marks;
}

void QuotaLedger::unmark(std::int32_t queue, const Amounts& amounts, std::uint32_t marks) {
  for (std::int32_t q = queue; q >= 0; q = queues_[static_cast<std::size_t>(q)].parent) {
    if ((marks & (1u << depth(q))) == 0) continue;
    for (std::size_t r = 0; r < resource_count(); ++r) marked_[at(q, r)] -= amounts[r];
  }
}

bool QuotaLedger::may_reclaim(std::int32_t queue, const Amounts& amounts, std::int32_t victim_queue,
                              std::uint32_t victim_marks) const {
  std::int32_t own = queue;
  std::int32_t other = victim_queue;
  if (own < 0 || other < 0 || own == other) return false;
  const auto parent = [&](std::int32_t q) { return queues_[static_cast<std::size_t>(q)].parent; };
  while (depth(own) > depth(other)) own = parent(own);
  while (depth(other) > depth(own)) other = parent(other);
  if (own == other) return false;  // one lies below the other
  while (parent(own) != parent(other)) {
    own = parent(own);
    other = parent(other);
  }
  if ((victim_marks & (1u << depth(other))) != 0) return false;
  bool reclaims_something = false;
  for (std::size_t r = 0; r < resource_count(); ++r) {
    if (governed_[r] == 0 || amounts[r] == 0) continue;
    if (marked_[at(own, r)] + amounts[r] > quota_[at(own, r)]) return false;
    reclaims_something = true;
  }
  return reclaims_something;
}

std::int64_t QuotaLedger::quota(std::int32_t queue, std::size_t resource) const { return quota_[at(queue, resource)]; }
std::int64_t QuotaLedger::used(std::int32_t queue, std::size_t resource) const { return used_[at(queue, resource)]; }
std::int64_t QuotaLedger::marked(std::int32_t queue, std::size_t resource) const {
  return marked_[at(queue, resource)];
}

}  // namespace berth
