#include "engine/policy/queue_walk.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace berth {

namespace {

using PlaceInQueue = std::tuple<std::int64_t, bool, Seconds, std::int64_t>;

PlaceInQueue place_in_queue(const Job& job, const OrderInput& input) {
  const std::int64_t value =
      job.priority_class < 0 ? 0 : input.priority_classes[static_cast<std::size_t>(job.priority_class)].value;
  return {~value, job.eviction.evictions != 1, job.in_line_since(), job.id};  // ~ turns any order round
}

class QueueWalk : public RewindableSequence {
 public:
  QueueWalk(const OrderInput& input, const QuotaLedger& usage, std::unique_ptr<QueueRanking> ranking)
      : queues_(input.queues), usage_(usage), ranking_(std::move(ranking)), seen_(usage.usage_print()) {
    const std::size_t rows = queues_.size() + 1;
    children_.resize(rows);
    sort_jobs(input);
    rewind();
    for (std::size_t row = 0; row < rows; ++row) {
      if (left_[row] > 0)
        (parent_of(row) < 0 ? roots_ : children_[static_cast<std::size_t>(parent_of(row))]).push_back(row);
    }
  }

  void rewind() override {
    next_.assign(first_.begin(), first_.end() - 1);
    left_.assign(next_.size(), 0);
    for (std::size_t row = 0; row < left_.size(); ++row) {
      left_[row] += jobs_of(row);
      for (std::int32_t up = parent_of(row); up >= 0; up = parent_of(static_cast<std::size_t>(up))) {
        left_[static_cast<std::size_t>(up)] += jobs_of(row);
      }
    }
    at_ = kNowhere;
  }

  std::optional<std::int32_t> next() override {
    if (usage_.usage_print() != seen_) {
      seen_ = usage_.usage_print();
      ranking_->usage_changed();
      at_ = kNowhere;
    }
    if (at_ == kNowhere || jobs_of(at_) == 0) at_ = descend();
    if (at_ == kNowhere) return std::nullopt;
    --left_[at_];
    for (std::int32_t up = parent_of(at_); up >= 0; up = parent_of(static_cast<std::size_t>(up))) {
      --left_[static_cast<std::size_t>(up)];
    }
    return jobs_[next_[at_]++];
  }

 private:
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

  // Queue by queue, each in the order within it.
  void sort_jobs(const OrderInput& input) {
    const std::size_t rows = queues_.size() + 1;
    using Key = std::pair<std::size_t, PlaceInQueue>;
    std::vector<Key> keys;
    keys.reserve(input.jobs.size());
    first_.assign(rows + 1, 0);
    for (const Job& job : input.jobs) {
      const std::size_t row = job.queue < 0 ? rows - 1 : static_cast<std::size_t>(job.queue);
      keys.emplace_back(row, place_in_queue(job, input));
      ++first_[row + 1];
    }
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    jobs_.resize(input.jobs.size());
    std::iota(jobs_.begin(), jobs_.end(), 0);
    std::ranges::sort(jobs_, {}, [&](std::int32_t job) -> const Key& { return keys[static_cast<std::size_t>(job)]; });
  }

  std::size_t descend() {
    const std::vector<std::size_t>* family = &roots_;
    for (;;) {
      std::size_t best = kNowhere;
      for (const std::size_t row : *family) {
        if (left_[row] == 0) continue;
        if (best == kNowhere || ranking_->goes_before(queue_of(row), queue_of(best))) best = row;
      }
      if (best == kNowhere || jobs_of(best) > 0) return best;
      family = &children_[best];
    }
  }

  std::int32_t queue_of(std::size_t row) const { return row < queues_.size() ? static_cast<std::int32_t>(row) : -1; }
  std::int32_t parent_of(std::size_t row) const { return row < queues_.size() ? queues_[row].parent : -1; }
  // Its own that are left.
  std::size_t jobs_of(std::size_t row) const { return first_[row + 1] - next_[row]; }

  std::span<const Queue> queues_;
  const QuotaLedger& usage_;
  std::unique_ptr<QueueRanking> ranking_;
  std::uint64_t seen_;
  std::vector<std::int32_t> jobs_;  // by row
  std::vector<std::size_t> first_;  // row -> place in jobs_; one past the last at the end
  std::vector<std::size_t> next_;   // row -> place in jobs_
  std::vector<std::size_t> left_;   // jobs of the queue and of those below it
  std::vector<std::vector<std::size_t>> children_;
  std::vector<std::size_t> roots_;
  std::size_t at_ = kNowhere;
};

}  // namespace

std::unique_ptr<RewindableSequence> walk_queues(const OrderInput& input, const QuotaLedger& usage,
                                                std::unique_ptr<QueueRanking> ranking) {
  return std::make_unique<QueueWalk>(input, usage, std::move(ranking));
}

OrderUsage::OrderUsage(const OrderInput& input) : ledger_(input.quotas) {
  if (ledger_ != nullptr) return;
  static const Cluster no_cluster;
  idle_ = std::make_unique<QuotaLedger>(no_cluster, input.queues, QuotaTable(), input.now);
  ledger_ = idle_.get();
}

std::vector<Amounts> waiting_amounts(const OrderInput& input, const QuotaLedger& usage) {
  std::vector<Amounts> waiting(input.queues.size() + 1, usage.none());
  for (const Job& job : input.jobs) {
    Amounts& of_queue = job.queue < 0 ? waiting.back() : waiting[static_cast<std::size_t>(job.queue)];
    for (const TaskGroup& group : job.groups) usage.add_wish(group.shape, group.count - group.placed, of_queue);
  }
  return waiting;
}

bool goes_first_in_queue(const Job& one, const Job& other, const OrderInput& input) {
  return place_in_queue(one, input) < place_in_queue(other, input);
}

std::vector<std::int32_t> read_to_end(JobSequence& sequence) {
  std::vector<std::int32_t> order;
  while (const std::optional<std::int32_t> job = sequence.next()) {
    if (sequence.levels_within_quota() == 0) order.push_back(*job);
  }
  return order;
}

}  // namespace berth
