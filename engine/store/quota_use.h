// What queues own and use themselves, at one moment, from the tables.
//
// A queue's own quota is what the queues below it do not have of its quota, loans counted; never below 0. What it uses
// itself is what its own jobs hold, without those of queues below.
#pragma once

#include <algorithm>
#include <vector>

#include "engine/model/quota_ledger.h"
#include "engine/store/load_quotas.h"
#include "engine/store/queue_use.h"
#include "engine/store/sqlite.h"

namespace berth {

class QuotaUse {
 public:
  // `use`: of queue_use.h.
  static Result<QuotaUse> make(Database& db, Seconds now, const QueueUseRows& use);

  // Queues and resources by index.
  const std::vector<Queue>& queues() const { return state_.queues; }
  std::size_t queue_count() const { return state_.queues.size(); }
  std::int32_t parent(std::size_t queue) const { return state_.queues[queue].parent; }
  const QuotaTable& quotas() const { return state_.quotas; }
  const std::vector<QuotaResource>& resources() const { return state_.quotas.resources; }
  bool is_governed(std::size_t resource) const { return governed_[resource]; }
  // Milli-cores, MiB or milli-GPU.
  std::int64_t quota(std::size_t queue, std::size_t resource) const { return quota_[queue][resource]; }
  std::int64_t used(std::size_t queue, std::size_t resource) const { return used_[queue][resource]; }
  std::int64_t over(std::size_t queue, std::size_t resource) const {
    if (!counts_[queue][resource]) return 0;  // see QuotaLedger::counts_for
    return std::max<std::int64_t>(0, used_[queue][resource] - owned_[queue][resource]);
  }
  std::int64_t idle(std::size_t queue, std::size_t resource) const {
    return std::max<std::int64_t>(0, owned_[queue][resource] - used_[queue][resource]);
  }
  std::int64_t owned_by_all(std::size_t resource) const;

 private:
  void work_out_quotas(Seconds now);
  Status add_up_used(Database& db, const QueueUseRows& use);

  QuotaState state_;
  std::vector<bool> governed_;
  std::vector<std::vector<bool>> counts_;  // by queue and resource
  std::vector<Amounts> quota_;             // of the whole branch, loans counted
  std::vector<Amounts> owned_;             // by the queue itself
  std::vector<Amounts> used_;              // by its own jobs
};

}  // namespace berth
