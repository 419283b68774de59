// Waiting jobs under any order policy: the policy is asked at every moment, with all that wait, as a live round does.
//
// Kept in id order in one array that the policy can look at; a job is copied when it comes, not at every moment. In a
// pass, jobs of one queue and class that ask for the same as one that failed are left out, unless somebody was evicted
// since, or they have waited long enough that others may be evicted for them.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "engine/model/demand_key.h"
#include "engine/sim/waiting_jobs.h"

namespace berth {

class WaitingLine : public WaitingJobs {
 public:
  // `pending_delay`: see RoundRules.
  WaitingLine(const QueueOrder& order, Seconds pending_delay) : order_(order), pending_delay_(pending_delay) {}

  void add(const Job& job, std::int32_t slot) override;
  void remove(const Job& job, std::int32_t slot) override;
  std::size_t size() const override { return jobs_.size() - gone_; }

  void begin_pass(const OrderInput& input, const Floor& floor) override;
  std::int32_t next() override;
  int levels_within_quota() const override { return sequence_->levels_within_quota(); }
  void tried(Tried outcome) override;
  std::optional<Seconds> order_changes_at() override;
  std::string order_failure() const override { return sequence_ ? sequence_->failure() : std::string(); }

 private:
  // A failure of jobs of one kind: in which pass, after how many evictions, within how many quotas.
  struct Failure {
    std::uint64_t pass = 0;
    std::size_t evictions = 0;
    int levels = 0;
  };
  std::size_t place_of(std::int64_t id) const;
  void drop_gone();
  std::int32_t kind_of(const Job& job);
  Failure& failure_of(std::size_t place);

  const QueueOrder& order_;
  Seconds pending_delay_;
  std::vector<Job> jobs_;            // in id order
  std::vector<std::int32_t> slots_;  // parallel; -1 = it waits no longer
  std::vector<std::int32_t> kinds_;  // parallel; jobs of one kind ask for the same
  std::size_t gone_ = 0;
  std::map<DemandKey, std::int32_t> kind_by_key_;
  std::vector<std::array<Failure, 2>> failures_;  // by kind, of jobs that wait for less or more than pending_delay
  const Floor* floor_ = nullptr;
  OrderInput input_;
  std::unique_ptr<JobSequence> sequence_;
  std::uint64_t pass_ = 0;
  std::size_t current_ = 0;  // place of the one named last
};

}  // namespace berth
