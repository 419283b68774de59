#include "engine/model/quota_ledger.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

namespace berth {

namespace {

std::int64_t capacity_of(const Cluster& cluster, const QuotaResource& resource) {
  std::int64_t total = 0;
  for (const Node& node : cluster.nodes) {
    if (node.state != NodeState::kUp) continue;
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

QuotaLedger::QuotaLedger(const Cluster& cluster, std::span<const Queue> queues, const QuotaTable& table, Seconds now)
    : queues_(queues), cluster_(&cluster), table_(table) {
  complete_resources();
  for (const Node& node : cluster.nodes) {
    const std::int32_t model = cluster.kinds[static_cast<std::size_t>(node.kind)].model;
    if (model >= 0) models_here_ |= ModelSet{1} << model;
  }
  const std::size_t resources = resource_count();
  const std::size_t size = row_count() * resources;
  for (const QuotaResource& resource : table_.resources) capacity_.push_back(capacity_of(cluster, resource));
  governed_.assign(resources, 0);
  has_promises_.assign(resources, 0);
  promised_to_all_.assign(resources, 0);
  used_by_all_.assign(resources, 0);
  for (std::vector<std::int64_t>* amounts :
       {&quota_, &used_, &uncounted_, &marked_, &pledged_, &pledged_marks_, &kept_, &promised_, &promised_below_}) {
    amounts->assign(size, 0);
  }
  prints_.assign(row_count(), 0);
  depth_.assign(row_count(), 0);
  above_.assign(row_count(), row_count());
  for (std::size_t q = 0; q < queues.size(); ++q) {
    if (queues[q].parent >= 0) above_[q] = static_cast<std::size_t>(queues[q].parent);
    for (std::int32_t up = queues[q].parent; up >= 0; up = queues[static_cast<std::size_t>(up)].parent) ++depth_[q];
  }
  for (std::size_t r = 0; r < resources; ++r) {
    for (const std::vector<QuotaTerms>& terms : table_.terms) {
      if (terms[r].has_quota || terms[r].limit < kNoLimit || terms[r].borrow_limit < kNoLimit) governed_[r] = 1;
    }
    governs_ = governs_ || governed_[r] != 0;
    const QuotaResource& resource = table_.resources[r];
    divides_models_ = divides_models_ || (governed_[r] != 0 && resource.kind == ResourceKind::kGpu &&
                                          resource.models != 0 && (models_here_ & ~resource.models) != 0);
  }
  find_owned();
  add_up_quotas();
  count_loans(now);
  count_parts();
  cover_models();
  count_promises();
  find_unowned();
}

Amounts QuotaLedger::counting(std::int32_t queue, const Amounts& amounts) const {
  Amounts counting = amounts;
  for (std::size_t r = 0; r < resource_count(); ++r) {
    if (unowned_[at(row(queue), r)] != 0) counting[r] = 0;
  }
  return counting;
}

std::int64_t QuotaLedger::promised_after(std::size_t row, std::size_t resource, std::int64_t demand) const {
  std::int64_t change = 0;  // of what the queue before on the path is promised
  for (std::size_t q = row; q < row_count(); q = above(q)) {
    const std::size_t i = at(q, resource);
    const std::int64_t after = std::max({std::int64_t{0}, kept_[i] - used_[i] - demand, promised_below_[i] + change});
    change = after - promised_[i];
  }
  return promised_to_all_[resource] + change;
}

void QuotaLedger::add_demand(const TaskShape& shape, std::int64_t tasks, Amounts& demand) const {
  const ModelSet models = shape.models == 0 ? models_here_ : shape.models;
  for (std::size_t r = 0; r < resource_count(); ++r) {
    const QuotaResource& resource = table_.resources[r];
    switch (resource.kind) {
      case ResourceKind::kCpu: demand[r] += shape.cpu.value() * tasks; break;
      case ResourceKind::kMemory: demand[r] += shape.memory.value() * tasks; break;
      case ResourceKind::kGpu:
        if (resource.models == 0 || (models != 0 && (models & ~resource.models) == 0)) {
          demand[r] += shape.gpu_total().value() * tasks;
        }
        break;
    }
  }
}

void QuotaLedger::add_wish(const TaskShape& shape, std::int64_t tasks, Amounts& wish) const {
  add_demand(shape, tasks, wish);
  if (!divides_models_ || shape.gpu_count == 0) return;
  const ModelSet allowed = allowed_here(shape);
  for (std::size_t r = 0; r < resource_count(); ++r) {
    const ModelSet models = table_.resources[r].models;
    const bool is_in_doubt = (allowed & models) != 0 && (allowed & ~models) != 0;
    if (table_.resources[r].kind == ResourceKind::kGpu && is_in_doubt) wish[r] += shape.gpu_total().value() * tasks;
  }
}

ModelSet QuotaLedger::choices_of(const Job& job) const {
  ModelSet choices = 0;
  if (!divides_models_) return choices;
  for (const TaskGroup& group : job.groups) {
    if (group.shape.gpu_count == 0) continue;
    const ModelSet allowed = allowed_here(group.shape);
    if (std::popcount(allowed) > 1) choices |= allowed;
  }
  return choices;
}

Amounts QuotaLedger::demand_to_start_on(const Job& job, ModelSet model) const {
  Amounts demand = none();
  for (const TaskGroup& group : job.groups) {
    TaskShape shape = group.shape;
    if (shape.gpu_count > 0 && (allowed_here(shape) & model) != 0) shape.models = model;
    add_demand(shape, std::max(0, group.min_tasks - group.placed), demand);
  }
  return demand;
}

ModelSet QuotaLedger::models_within(std::int32_t queue, int levels) const {
  ModelSet models = models_here_;
  for (std::size_t r = 0; r < resource_count(); ++r) {
    const QuotaResource& resource = table_.resources[r];
    if (!has_quota_of(queue, r) || resource.kind != ResourceKind::kGpu) continue;
    for (std::size_t q = row(queue); q < row_count(); q = above(q)) {
      if (depth_[q] >= levels || used_[at(q, r)] < quota_[at(q, r)]) continue;
      ModelSet of_parts = 0;
      for (const std::size_t part : parts_of(q, r)) {
        if (has_quota_of(queue, part)) of_parts |= table_.resources[part].models;
      }
      models &= of_parts | (resource.models == 0 ? ModelSet{0} : ~resource.models);
    }
  }
  return models;
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
    const QuotaResource& resource = table_.resources[r];
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

std::int64_t QuotaLedger::quota_lasting(std::size_t at, Seconds until) const {
  std::int64_t quota = quota_[at];
  if (dated_.empty()) return quota;
  auto dated = std::ranges::lower_bound(dated_, at, {}, &DatedQuota::at);
  for (; dated != dated_.end() && dated->at == at && dated->until < until; ++dated) quota -= dated->amount;
  return quota;
}

std::int64_t QuotaLedger::quota_lasting_for(std::int32_t asking, std::size_t row, std::size_t resource, Seconds until,
                                            Beside beside) const {
  const std::size_t here = at(row, resource);
  const std::int64_t lasting = quota_lasting(here, until);
  if (dated_.empty()) return lasting;
  std::map<std::size_t, std::int64_t> lent;  // by borrower
  auto dated = std::ranges::lower_bound(dated_, here, {}, &DatedQuota::at);
  for (; dated != dated_.end() && dated->at == here && dated->until < until; ++dated) {
    if (dated->borrower != row && !lies_in(asking, index_of(dated->borrower))) lent[dated->borrower] += dated->amount;
  }
  std::int64_t on_loans = 0;
  for (const auto& [borrower, amount] : lent) {
    const std::size_t i = at(borrower, resource);
    const std::int64_t taken = beside == Beside::kMarked ? marked_[i] : used_[i] - uncounted_[i];
    on_loans += std::clamp<std::int64_t>(taken - quota_lasting(i, until), 0, amount);
  }
  return lasting + on_loans;
}

QuotaVerdict QuotaLedger::judge(std::int32_t queue, const Amounts& demand, Seconds until) const {
  QuotaVerdict verdict;
  if (!governs_) return verdict;
  for (std::size_t r = 0; r < resource_count(); ++r) {
    if (governed_[r] == 0 || demand[r] == 0) continue;
    bool borrows = false;
    bool borrows_other_models = false;  // not for this job
    std::int64_t above_quota = 0;
    std::size_t over = row_count();  // nearest the root
    const bool is_unowned = unowned_[at(row(queue), r)] != 0;
    if (is_unowned) {
      over = row(queue);
      above_quota = demand[r];
    }
    const auto lender_keeps = [&](std::int64_t short_by) {
      return QuotaVerdict{.reason = Reason::kLenderKeeps,
                          .queue = over < queues_.size() ? static_cast<std::int32_t>(over) : -1,
                          .resource = static_cast<std::int32_t>(r),
                          .short_by = std::min(short_by, above_quota)};
    };
    for (std::size_t q = row(queue); q < row_count(); q = above(q)) {
      const QuotaTerms& terms = table_.terms[q][r];
      const std::int64_t use_after = used_[at(q, r)] + demand[r];
      const std::int64_t after = use_after - uncounted_[at(q, r)];
      const auto refuse = [&](Reason reason, std::int64_t short_by) {
        return QuotaVerdict{.reason = reason,
                            .queue = q < queues_.size() ? static_cast<std::int32_t>(q) : -1,
                            .resource = static_cast<std::int32_t>(r),
                            .short_by = short_by};
      };
      if (use_after > terms.limit) return refuse(Reason::kLimit, use_after - terms.limit);
      const bool is_bounded = terms.limit < kNoLimit || terms.borrow_limit < kNoLimit;
      const bool is_guest = is_bounded && over < row_count() && has_promises_[r] != 0;
      const std::int64_t kept = is_guest ? kept_below(row(queue), q, r, demand[r]) : 0;
      if (use_after + kept > terms.limit) return lender_keeps(use_after + kept - terms.limit);
      if (is_unowned) continue;
      const std::int64_t own = quota_lasting_for(queue, q, r, until);
      // What is kept is kept of the quota with its loans.
      if (const std::int64_t beyond = after - quota_[at(q, r)] + kept; kept > 0 && beyond > terms.borrow_limit)
        return lender_keeps(beyond - terms.borrow_limit);
      if (after <= own) continue;
      if (after - own > terms.borrow_limit) return refuse(Reason::kQuota, after - own - terms.borrow_limit);
      if (is_left_to_parts(q, r, demand, queue)) {
        borrows_other_models = true;
        continue;
      }
      borrows = true;
      verdict.over |= depth_bit(depth_[q]);
      over = q;
      above_quota = after - own;
    }
    if (!borrows && !is_unowned) {
      if (has_promises_[r] == 0) continue;
      const std::int64_t short_by = borrows_other_models
                                        ? short_for_others(row(queue), r, demand[r])
                                        : short_for_others_as_owner(row(queue), row(queue), r, demand[r]);
      if (short_by <= 0) continue;
      return {.reason = Reason::kLenderKeeps,
              .is_owner = true,
              .queue = queue,
              .resource = static_cast<std::int32_t>(r),
              .short_by = std::min(short_by, demand[r])};
    }
    verdict.borrows = verdict.borrows || borrows;
    for (const KeptRoom& kept : kept_rooms_) {
      if (kept.resource != r || until <= kept.from || kept.from > kept_by_) continue;
      if (const std::int64_t left = left_of(kept, queue); demand[r] > left) return lender_keeps(demand[r] - left);
    }
    if (has_promises_[r] == 0) continue;
    const std::size_t owner = is_unowned ? row_count() : above(over);
    if (const std::int64_t short_by = short_for_lenders(queue, owner, r, demand[r], until); short_by > 0)
      return lender_keeps(short_by);
  }
  if (!holds_.empty()) look_at_holds(queue, demand, until, verdict);
  return verdict;
}

// 0 where the cluster has no room for the demand itself: then it is not others who keep that.
std::int64_t QuotaLedger::short_for_others(std::size_t row, std::size_t resource, std::int64_t demand) const {
  const std::int64_t left = free_after(resource, demand);
  return left < 0 ? 0 : promised_after(row, resource, demand) - left;
}

// Where capacity was lost or promised anew, too little may be left for all: that is not this job's doing.
std::int64_t QuotaLedger::short_for_others_as_owner(std::size_t row, std::size_t owner, std::size_t resource,
                                                    std::int64_t demand) const {
  const std::int64_t before = std::max<std::int64_t>(0, short_for_others(row, resource, 0));
  const std::int64_t short_by = short_for_others(row, resource, demand) - before;
  return short_by > 0 && somebody_borrows_beside(owner, resource) ? short_by : 0;
}

std::int64_t QuotaLedger::short_for_lenders(std::int32_t queue, std::size_t owner, std::size_t resource,
                                            std::int64_t demand, Seconds until) const {
  const std::int64_t short_by = short_for_others(row(queue), resource, demand);
  if (short_by <= 0 || owner >= row_count()) return short_by;
  const std::int64_t left = std::min(left_after(owner, resource, demand, until, queue), free_after(resource, demand));
  if (const std::int64_t kept = kept_below(row(queue), owner, resource, demand); kept > left) return kept - left;
  return short_for_others_as_owner(row(queue), owner, resource, demand);
}

bool QuotaLedger::somebody_borrows_beside(std::size_t owner, std::size_t resource) const {
  const auto is_on_path = [&](std::size_t q) { return lies_in(index_of(owner), index_of(q)); };
  for (std::size_t q = 0; q < row_count(); ++q) {
    const std::size_t i = at(q, resource);
    if (used_[i] - uncounted_[i] <= quota_[i] || is_on_path(q)) continue;
    if (above(q) >= row_count() || (above(q) != owner && is_on_path(above(q)))) return true;
  }
  return false;
}

bool QuotaLedger::lies_in(std::int32_t queue, std::int32_t branch) const {
  for (std::size_t q = row(queue); q < row_count(); q = above(q)) {
    if (q == row(branch)) return true;
  }
  return false;
}

void QuotaLedger::look_at_holds(std::int32_t queue, const Amounts& demand, Seconds until, QuotaVerdict& verdict) const {
  for (const QuotaHold& hold : holds_) {
    const std::int64_t wanted = demand[hold.resource];
    if (wanted == 0 || wanted <= hold.spare || hold.is_passed_by(until, certain_end_) ||
        !counts_for(queue, hold.resource))
      continue;
    if (hold.job == asking_.second || hold.age() > asking_) continue;
    const bool is_owner = !verdict.borrows || may_reclaim(queue, demand, hold.home, 0, until);
    if (hold.is_lent() ? is_owner || queue == hold.home : !lies_in(queue, hold.queue)) continue;
    if (hold.yields && is_owner && queue != hold.home) continue;
    verdict = {.reason = Reason::kReserved,
               .queue = hold.queue,
               .resource = static_cast<std::int32_t>(hold.resource),
               .short_by = wanted - hold.spare,
               .held_for = hold.job};
    return;
  }
}

std::int64_t QuotaLedger::most(std::int32_t queue, std::size_t resource, Seconds until) const {
  const QuotaTerms& terms = table_.terms[row(queue)][resource];
  if (terms.borrow_limit >= kNoLimit) return terms.limit;
  return std::min(terms.limit, quota_lasting(at(row(queue), resource), until) + terms.borrow_limit);
}

std::int64_t QuotaLedger::left_of_most(std::int32_t queue, std::size_t resource, Seconds until) const {
  const QuotaTerms& terms = table_.terms[row(queue)][resource];
  std::int64_t left = kNoLimit;
  if (terms.limit < kNoLimit) left = terms.limit - used(queue, resource);
  if (terms.borrow_limit < kNoLimit) {
    const std::int64_t may_hold = quota_lasting(at(row(queue), resource), until) + terms.borrow_limit;
    left = std::min(left, may_hold - counted(queue, resource));
  }
  return left;
}

std::int64_t QuotaLedger::left_to_borrow(std::int32_t queue, std::size_t resource, std::int64_t demand) const {
  return free_after(resource, demand) - promised_after(row(queue), resource, demand);
}

void QuotaLedger::drop_holds_of(std::int64_t job) {
  std::erase_if(holds_, [&](const QuotaHold& hold) { return hold.job == job; });
}

void QuotaLedger::take_beside_holds(std::int32_t queue, const Amounts& amounts, Seconds until, Seconds certain_end) {
  for (QuotaHold& hold : holds_) {
    const std::size_t r = hold.resource;
    if (hold.is_passed_by(until, certain_end) || !counts_for(queue, r)) continue;
    if (hold.is_lent() && queue != hold.home) {
      hold.spare -= std::clamp<std::int64_t>(counted(queue, r) - quota(queue, r), 0, amounts[r]);
    } else if (hold.is_lent() || lies_in(queue, hold.queue)) {
      hold.spare -= amounts[r];
    }
  }
}

std::int64_t QuotaLedger::kept_idle(std::int32_t queue, std::size_t resource) const {
  const std::size_t i = at(row(queue), resource);
  return std::max<std::int64_t>(0, kept_[i] - used_[i]);
}

std::int32_t QuotaLedger::in_the_way(const QuotaVerdict& refusal) const {
  const auto resource = static_cast<std::size_t>(refusal.resource);
  const bool is_kept = refusal.reason == Reason::kLenderKeeps;
  std::vector<char> counts(row_count(), is_kept ? 1 : 0);
  if (!is_kept) {
    for (std::size_t q = 0; q < queues_.size(); ++q) {
      if (lies_in(static_cast<std::int32_t>(q), refusal.queue)) counts[q] = 1;
    }
    for (std::size_t q = 0; q < queues_.size(); ++q) {
      if (above(q) < row_count()) counts[above(q)] = 0;
    }
  }
  std::int32_t found = -1;
  std::int64_t most = 0;
  for (std::size_t q = 0; q < queues_.size(); ++q) {
    const auto queue = static_cast<std::int32_t>(q);
    const std::int64_t amount = is_kept ? kept_idle(queue, resource) : used(queue, resource);
    if (counts[q] == 0 || amount <= most) continue;
    found = queue;
    most = amount;
  }
  return found;
}

void QuotaLedger::keep_from(std::size_t resource, Seconds from, std::int64_t spare, std::vector<DueRoom> due) {
  kept_rooms_.push_back({resource, from, spare, std::move(due)});
}

QuotaLedger::DueRoom* QuotaLedger::due_to(std::int32_t queue, KeptRoom& kept) const {
  const auto found = std::ranges::find_if(kept.due, [&](const DueRoom& due) { return lies_in(queue, due.queue); });
  return found == kept.due.end() ? nullptr : &*found;
}

std::int64_t QuotaLedger::left_of(const KeptRoom& kept, std::int32_t queue) const {
  std::int64_t left = kept.spare;
  for (const DueRoom& due : kept.due)
    left += lies_in(queue, due.queue) ? due.amount : std::min<std::int64_t>(0, due.amount);
  return left;
}

void QuotaLedger::add_capacity(const Amounts& amounts, std::int64_t sign, Seconds until) {
  for (std::size_t r = 0; r < resource_count(); ++r) capacity_[r] += sign * amounts[r];
  for (KeptRoom& kept : kept_rooms_) {
    if (until > kept.from) kept.spare += sign * amounts[kept.resource];
  }
}

std::int64_t QuotaLedger::quota(std::int32_t queue, std::size_t resource) const {
  return quota_[at(row(queue), resource)];
}
std::int64_t QuotaLedger::used(std::int32_t queue, std::size_t resource) const {
  return used_[at(row(queue), resource)];
}
std::int64_t QuotaLedger::marked(std::int32_t queue, std::size_t resource) const {
  return marked_[at(row(queue), resource)];
}

}  // namespace berth
