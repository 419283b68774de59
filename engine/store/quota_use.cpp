#include "engine/store/quota_use.h"

namespace berth {

Result<QuotaUse> QuotaUse::read(Database& db, Seconds now) {
  QuotaUse use;
  BERTH_ASSIGN(use.state_, load_quotas(db, now));
  const Amounts none(use.resources().size(), 0);
  for (std::vector<Amounts>* amounts : {&use.quota_, &use.owned_, &use.used_}) {
    amounts->assign(use.queue_count(), none);
  }
  if (use.resources().empty()) return use;
  use.work_out_quotas(now);
  BERTH_TRY(use.read_used(db));
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

Status QuotaUse::read_used(Database& db) {
  BERTH_ASSIGN(Statement rows,
               db.prepare("SELECT u.queue_id, (SELECT count(*) FROM device_models m WHERE m.id < u.model_id), u.cpu, "
                          "u.memory, u.gpu FROM (SELECT j.queue_id, t.device_model_id AS model_id, sum(s.cpu_milli) AS "
                          "cpu, sum(s.memory_mib) AS memory, sum(s.gpu_total_milli) AS gpu FROM allocation_sizes s "
                          "JOIN jobs j ON j.id = s.job_id JOIN nodes n ON n.id = s.node_id "
                          "JOIN node_types t ON t.id = n.type_id GROUP BY j.queue_id, t.device_model_id) u"));
  while (rows.next()) {
    const std::int32_t queue = queue_index(state_.queues, rows.integer(0));
    if (queue < 0) continue;
    Amounts& used = used_[static_cast<std::size_t>(queue)];
    const ModelSet model = ModelSet{1} << rows.integer(1);
    for (std::size_t r = 0; r < resources().size(); ++r) {
      const QuotaResource& resource = resources()[r];
      switch (resource.kind) {
        case ResourceKind::kCpu: used[r] += rows.integer(2); break;
        case ResourceKind::kMemory: used[r] += rows.integer(3); break;
        case ResourceKind::kGpu:
          if (resource.models == 0 || (resource.models & model) != 0) used[r] += rows.integer(4);
          break;
      }
    }
  }
  return rows.status();
}

std::int64_t QuotaUse::owned_by_all(std::size_t resource) const {
  std::int64_t total = 0;
  for (const Amounts& owned : owned_) total += owned[resource];
  return total;
}

}  // namespace berth
