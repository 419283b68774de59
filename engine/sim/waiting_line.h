// Waiting jobs under any order policy: the policy is asked at every moment, with all that wait, as a live round does.
//
// Kept in id order in one array that the policy can look at; a job is copied when it comes, not at every moment. In a
// pass, jobs that fail alike are tried once, by the rules of live rounds (round/demand_classes.h), and jobs for which
// victims were told to stop come first.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "engine/model/demand_key.h"
#include "engine/sim/waiting_jobs.h"

namespace berth {

class WaitingLine : public WaitingJobs {
 public:
  // `rules` must outlive it. `ends_matter`: quotas or limits are judged, and room may come to be held under them.
  WaitingLine(const QueueOrder& order, const RoundRules& rules, bool ends_matter)
      : order_(order), rules_(rules), ends_matter_(ends_matter) {}

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
  // A failure of jobs of one kind: in which pass, after how many evictions, within how many quotas.
  struct Failure {
    std::uint64_t pass = 0;
    std::size_t evictions = 0;
    int levels = 0;
  };
  std::size_t place_of(std::int64_t id) const;
  void drop_gone();
  std::int32_t kind_of(const Job& job);
  // Null where its failure would speak of nobody else.
  Failure* failure_of(std::size_t place);
  bool is_worth_trying(std::size_t place);

  const QueueOrder& order_;
  const RoundRules& rules_;
  bool ends_matter_;
  std::vector<Job> jobs_;            // in id order
  std::vector<std::int32_t> slots_;  // parallel; -1 = it waits no longer
  std::vector<std::int32_t> kinds_;  // parallel; jobs of one kind ask for the same
  std::size_t gone_ = 0;
  std::map<DemandKey, std::int32_t> kind_by_key_;
  std::vector<std::array<Failure, 2>> failures_;  // by kind, of jobs for which nobody, or others, may be evicted
  const Floor* floor_ = nullptr;
  OrderInput input_;
  std::unique_ptr<JobSequence> sequence_;
  std::optional<std::vector<std::int64_t>> promised_;  // jobs that the pass tries first; nothing = not yet asked for
  std::size_t next_promised_ = 0;
  int levels_ = 0;  // of the one named last
  std::uint64_t pass_ = 0;
  std::size_t current_ = 0;  // place of the one named last
};

}  // namespace berth
