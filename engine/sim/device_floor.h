// Nodes with devices, quotas and running jobs kept between moments; each moment is one pass of the code that decides
// live rounds (round/pass.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/sim/empty_cluster.h"
#include "engine/sim/floor.h"

namespace berth {

class DeviceFloor : public Floor {
 public:
  // Nothing runs yet. What `setup` points to must outlive this.
  explicit DeviceFloor(const RoundSetup& setup);

  void begin_pass(Seconds now) override;
  PassOutcome try_job(const Job& job, int levels) override { return pass_->try_job(job, true, levels); }
  bool closed() const override { return pass_->closed(); }
  std::span<const Eviction> evictions() const override { return pass_->evictions(); }
  void end_pass() override;

  std::optional<std::vector<PlacedTask>> place(const Job& job, Seconds now) override;
  Status end(std::int64_t job) override;

  std::span<const NodeIndex> released() const override { return released_; }
  bool takes_one_more(const TaskGroup& group, std::span<const NodeIndex> nodes) const override;
  std::optional<std::string> why_never(const Job& job) override { return possible_.why_never(job); }

  MilliGpu gpu_capacity() const override { return state_.ledger().gpu_capacity(); }
  MilliGpu gpu_used() const override { return state_.ledger().gpu_used(); }
  MilliGpu gpu_capacity_of(std::int32_t pool) const override;
  const QuotaLedger& use() const override { return state_.quotas(); }
  const QuotaLedger* quotas() const override { return state_.quotas().governs() ? &state_.quotas() : nullptr; }
  void describe(Snapshot& snapshot) const override;
  std::vector<std::string> violations() const override { return state_.ledger().violations(); }

 private:
  void note_shrunk();

  RoundState state_;
  EmptyCluster possible_;
  std::optional<Pass> pass_;
  Seconds pass_time_;
  std::vector<Reservation> reservations_;  // kept from moment to moment
  std::vector<NodeIndex> released_;
  std::size_t changes_forgotten_ = 0;  // of the ledger's log, up to here
};

}  // namespace berth
