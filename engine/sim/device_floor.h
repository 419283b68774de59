// Nodes with devices, quotas and running jobs kept between moments; each moment is one pass of the code that decides
// live rounds (round/pass.h).
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "engine/round/stops.h"
#include "engine/sim/empty_cluster.h"
#include "engine/sim/floor.h"

namespace berth {

class DeviceFloor : public Floor {
 public:
  // Nothing runs yet. What `setup` points to must outlive this.
  explicit DeviceFloor(const RoundSetup& setup);

  Status begin_pass(const QueueOrder& order, const OrderInput& input) override;
  std::span<const Eviction> stopped() const override { return settled_.ended; }
  std::span<const Eviction> stop_sooner() const override { return settled_.sooner; }
  std::vector<std::int64_t> promised() const override { return pass_->promised(); }
  bool is_stopping(std::int64_t job) const override;
  MayEvict may_evict_for(const Job& job) const override { return pass_->may_evict_for(job); }
  PassOutcome try_job(const Job& job, int levels) override { return pass_->try_job(job, true, levels); }
  bool closed() const override { return pass_->closed(); }
  bool leaves_room() const override { return pass_->leaves_room(); }
  void begin_next_pass() override;
  bool is_later_pass() const override { return pass_ && !pass_->is_first(); }
  std::span<const Eviction> evictions() const override { return pass_->evictions(); }
  void note_lost(const Eviction& eviction, std::int32_t queue) override;
  void change_lost(std::int64_t job, std::int64_t lost) override;
  void end_pass() override;
  std::span<const std::int64_t> reprieves() const override { return settled_.reprieves; }

  std::optional<std::vector<PlacedTask>> place(const Job& job, Seconds now) override;
  Status end(std::int64_t job) override;
  void forget(std::int64_t job) override;
  Seconds holds_until(Seconds made_by) const override;
  void note_past_use(std::span<const Queue> queues) override;
  void read_groups(Job& job) const override;

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
  KeptReservations kept() const;
  // milli-GPU-seconds that a queue lost by an eviction, at its decision.
  struct Loss {
    Seconds time;
    std::int64_t job = 0;  // the victim
    std::int32_t queue = -1;
    std::int64_t amount = 0;
  };

  void count_losses(Seconds now);
  void note_shrunk();
  void note_reprieves();

  std::vector<Queue> queues_;  // with what they lost in the last hour, and used
  RoundState state_;
  EmptyCluster possible_;
  std::optional<Pass> pass_;
  Seconds pass_time_;
  SettledStops settled_;
  std::deque<Loss> losses_;                // of the last hour
  std::vector<Reservation> reservations_;  // kept from moment to moment
  const QueueOrder* order_ = nullptr;      // of the pass, with what it looks at
  const OrderInput* order_input_ = nullptr;
  std::vector<NodeIndex> released_;
  std::size_t changes_forgotten_ = 0;  // of the ledger's log, up to here
};

}  // namespace berth
