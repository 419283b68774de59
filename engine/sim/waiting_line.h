// Waiting jobs under any order policy: the policy is asked at every moment, with all that wait, as a live round does.
//
// Kept in id order in one array that the policy can look at; a job is copied when it comes, not at every moment. In a
// pass, jobs that fail alike are tried once, as in live rounds, and jobs for which victims were told to stop come
// first.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/round/demand_classes.h"
#include "engine/sim/waiting_jobs.h"

namespace berth {

class WaitingLine : public WaitingJobs {
 public:
  explicit WaitingLine(const QueueOrder& order) : order_(order) {}

  void add(const Job& job, std::int32_t slot) override;
  void remove(const Job& job, std::int32_t slot) override;
  std::size_t size() const override { return jobs_.size() - gone_; }

  void begin_pass(const OrderInput& input, const Floor& floor) override;
  std::span<const Job> jobs() const override { return jobs_; }
  std::int32_t next() override;
  int levels_within_quota() const override { return levels_; }
  void tried(Tried outcome) override;
  std::optional<Seconds> order_changes_at() override;
  std::string order_failure() const override { return sequence_ ? sequence_->failure() : std::string(); }

 private:
  std::size_t place_of(std::int64_t id) const;
  void drop_gone();
  bool is_worth_trying(std::size_t place);

  const QueueOrder& order_;
  std::vector<Job> jobs_;            // in id order
  std::vector<std::int32_t> slots_;  // parallel; -1 = it waits no longer
  std::vector<std::size_t> kinds_;   // parallel: DemandClasses::kind_of
  std::size_t gone_ = 0;
  DemandClasses classes_;
  FailedDemands failed_;           // of the pass
  std::size_t current_class_ = 0;  // of the one named last
  const Floor* floor_ = nullptr;
  OrderInput input_;
  std::unique_ptr<JobSequence> sequence_;
  std::optional<std::vector<std::int64_t>> promised_;  // jobs that the pass tries first; nothing = not yet asked for
  std::size_t next_promised_ = 0;
  int levels_ = 0;           // of the one named last
  std::size_t current_ = 0;  // place of the one named last
};

}  // namespace berth
