#include "engine/store/quota_use.h"

#include "engine/store/id_index.h"

namespace berth {

Result<QuotaUse> QuotaUse::make(Database& db, Seconds now, const QueueUseRows& rows) {
  QuotaUse use;
  BERTH_ASSIGN(use.state_, load_quotas(db, now));
  const Amounts none(use.resources().size(), 0);
  for (std::vector<Amounts>* amounts : {&use.quota_, &use.owned_, &use.used_}) {
    amounts->assign(use.queue_count(), none);
  }
  if (use.resources().empty()) return use;
  use.work_out_quotas(now);
  BERTH_TRY(use.add_up_used(db, rows));
  return use;
}

void QuotaUse::work_out_quotas(Seconds now) {
  counts_.resize(queue_count());
  const Cluster no_cluster;  // quotas alone: no capacity is asked for
  const QuotaLedger ledger(no_cluster, state_.queues, state_.quotas, now);
  for (std::size_t r = 0; r < resources().size(); ++r) {
    governed_.push_back(ledger.is_governed(r));
    for (std::size_t q = 0; q < queue_count(); ++q) {
      counts_[q].push_back(ledger.counts_for(static_cast<std::int32_t>(q), r));
      quota_[q][r] = ledger.quota(static_cast<std::int32_t>(q), r);
      owned_[q][r] += quota_[q][r];
      if (parent(q) >= 0) owned_[static_cast<std::size_t>(parent(q))][r] -= quota_[q][r];
    }
    for (Amounts& owned : owned_) owned[r] = std::max<std::int64_t>(0, owned[r]);
  }
}

Status QuotaUse::add_up_used(Database& db, const QueueUseRows& use) {
  BERTH_ASSIGN(Statement ids, db.prepare("SELECT id FROM device_models ORDER BY id"));
  IdIndex models;
  while (ids.next()) models.add(ids.integer(0));
  BERTH_TRY(ids.status());
  for (const auto& [key, row] : use) {
    const std::int32_t queue = queue_index(state_.queues, key.first);
    if (queue < 0) continue;
    Amounts& used = used_[static_cast<std::size_t>(queue)];
    const std::int32_t model = models.find(key.second);
    for (std::size_t r = 0; r < resources().size(); ++r) {
      const QuotaResource& resource = resources()[r];
      switch (resource.kind) {
        case ResourceKind::kCpu: used[r] += row.cpu; break;
        case ResourceKind::kMemory: used[r] += row.memory; break;
        case ResourceKind::kGpu:
          if (resource.models == 0 || (model >= 0 && ((resource.models >> model) & 1) != 0)) used[r] += row.gpu;
          break;
      }
    }
  }
  return {};
}

std::int64_t QuotaUse::owned_by_all(std::size_t resource) const {
  std::int64_t total = 0;
  for (const Amounts& owned : owned_) total += owned[resource];
  return total;
}

}  // namespace berth
