#include "engine/policy/wpai_order.h"

#include <algorithm>
#include <map>
#include <queue>
#include <tuple>

#include "engine/model/demand_key.h"
#include "engine/policy/queue_walk.h"

namespace berth {

namespace {

constexpr double kOwnWeight = 1e6;
constexpr double kBorrowedWeight = 1e3;
constexpr double kMostExtra = 499;

double wpai_extra(const Job& job, const OrderInput& input) {
  const double minutes =
      static_cast<double>(std::max<std::int64_t>(0, (input.now - job.in_line_since()).value())) / 60.0;
  double extra = input.knobs.wpai_wait_bonus * minutes;
  if (job.gpu_utilisation_pct >= 0) extra -= input.knobs.wpai_low_use_penalty * (100.0 - job.gpu_utilisation_pct);
  return std::clamp(extra, -kMostExtra, kMostExtra);
}

class WpaiSequence : public RewindableSequence {
 public:
  explicit WpaiSequence(const OrderInput& input) : input_(input), usage_(input), seen_((*usage_).usage_print()) {
    std::map<DemandKey, std::size_t> known;
    for (std::size_t i = 0; i < input.jobs.size(); ++i) {
      const Job& job = input.jobs[i];
      std::vector<Amounts> demands = demands_of(job);
      DemandKey key = {job.queue};
      for (const Amounts& demand : demands) key.insert(key.end(), demand.begin(), demand.end());
      const auto [entry, added] = known.try_emplace(std::move(key), groups_.size());
      if (added) {
        groups_.push_back({.queue = job.queue, .root = root_of(job.queue), .demands = std::move(demands), .jobs = {}});
      }
      groups_[entry->second].jobs.push_back({wpai_extra(job, input), static_cast<std::int32_t>(i)});
    }
    for (Group& group : groups_) {
      std::ranges::sort(group.jobs, {}, [&](const Waiter& waiter) {
        const Job& job = input.jobs[static_cast<std::size_t>(waiter.job)];
        return std::tuple(-waiter.extra, job.in_line_since(), job.id);
      });
    }
    rank_groups();
  }

  void rewind() override {
    first_ = {};
    for (Group& group : groups_) {
      group.next = 0;
      group.covered = -1;
    }
    rank_groups();
  }

  std::optional<std::int32_t> next() override {
    if ((*usage_).usage_print() != seen_) {
      seen_ = (*usage_).usage_print();
      rank_groups();
    }
    while (!first_.empty()) {
      const Head head = first_.top();
      first_.pop();
      Group& group = groups_[head.group];
      if (head.stamp != group.stamp) continue;  // ranked anew since
      const std::int32_t job = group.jobs[group.next++].job;
      push(head.group);
      return job;
    }
    return std::nullopt;
  }

 private:
  struct Waiter {
    double extra = 0;
    std::int32_t job = 0;
  };
  // Jobs of one queue that ask for the same.
  struct Group {
    std::int32_t queue = -1;
    std::int32_t root = -1;        // above it
    std::vector<Amounts> demands;  // by what they may choose
    std::vector<Waiter> jobs;
    std::size_t next = 0;
    double covered = -1;      // score without the extra
    std::uint64_t print = 0;  // of the root above the queue, when that was worked out
    std::uint32_t stamp = 0;  // of its entry in first_ that counts
  };
  // The best job left of a group.
  struct Head {
    double score = 0;
    Seconds since;  // in line
    std::int64_t id = 0;
    std::size_t group = 0;
    std::uint32_t stamp = 0;

    // Later in the order.
    bool operator<(const Head& other) const {
      return std::tuple(-score, since, id) > std::tuple(-other.score, other.since, other.id);
    }
  };

  void rank_groups() {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      Group& group = groups_[i];
      if (group.next == group.jobs.size()) continue;
      const std::uint64_t print = (*usage_).usage_print(group.root);
      if (group.covered >= 0 && print == group.print) continue;
      group.print = print;
      const double own = own_part(group);
      const double covered = kOwnWeight * own + kBorrowedWeight * (1 - own);
      if (covered == group.covered) continue;
      group.covered = covered;
      ++group.stamp;
      push(i);
    }
  }

  std::int32_t root_of(std::int32_t queue) const {
    while (queue >= 0 && input_.queues[static_cast<std::size_t>(queue)].parent >= 0) {
      queue = input_.queues[static_cast<std::size_t>(queue)].parent;
    }
    return queue;
  }

  void push(std::size_t index) {
    const Group& group = groups_[index];
    if (group.next == group.jobs.size()) return;
    const Waiter& waiter = group.jobs[group.next];
    const Job& job = input_.jobs[static_cast<std::size_t>(waiter.job)];
    first_.push({group.covered + waiter.extra, job.in_line_since(), job.id, index, group.stamp});
  }

  // What it needs to start, on each model that it may choose.
  std::vector<Amounts> demands_of(const Job& job) const {
    ModelSet choices = (*usage_).choices_of(job);
    if (choices == 0) return {(*usage_).demand_to_start(job)};
    std::vector<Amounts> demands;
    for (; choices != 0; choices &= choices - 1) {
      demands.push_back((*usage_).demand_to_start_on(job, choices & -choices));
    }
    return demands;
  }

  double own_part(const Group& group) const {
    double own = 0;
    for (const Amounts& demand : group.demands) own = std::max(own, own_part(group, demand));
    return own;
  }

  double own_part(const Group& group, const Amounts& demand) const {
    double own = 1;
    for (std::size_t r = 0; r < (*usage_).resource_count(); ++r) {
      if (!(*usage_).has_quota_of(group.queue, r) || demand[r] == 0) continue;
      for (std::int32_t q = group.queue;; q = input_.queues[static_cast<std::size_t>(q)].parent) {
        const bool is_left = (*usage_).is_left_to_models(q, r, demand, group.queue);
        const auto unused = static_cast<double>((*usage_).quota(q, r) - (*usage_).counted(q, r));
        if (!is_left) own = std::min(own, std::clamp(unused / static_cast<double>(demand[r]), 0.0, 1.0));
        if (q < 0 || input_.queues[static_cast<std::size_t>(q)].parent < 0) break;
      }
    }
    return own;
  }

  const OrderInput& input_;
  OrderUsage usage_;
  std::uint64_t seen_;
  std::vector<Group> groups_;
  std::priority_queue<Head> first_;
};

}  // namespace

std::unique_ptr<JobSequence> WpaiOrder::begin(const OrderInput& input) const {
  return std::make_unique<OwnQuotaFirst>(input, std::make_unique<WpaiSequence>(input));
}

std::vector<std::int32_t> WpaiOrder::order(const OrderInput& input) const { return read_to_end(*begin(input)); }

}  // namespace berth
