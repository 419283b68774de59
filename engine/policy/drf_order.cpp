#include "engine/policy/drf_order.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "engine/policy/queue_walk.h"

namespace berth {

namespace {

class DrfRanking : public QueueRanking {
 public:
  DrfRanking(const OrderInput& input, const QuotaLedger& usage)
      : queues_(input.queues), usage_(usage), children_(queues_.size()), demands_(queues_.size() + 1, 0) {
    for (std::size_t r = 0; r < usage.resource_count(); ++r) {
      if (usage.resource(r).models == 0 && usage.capacity(r) > 0) resources_.push_back(r);
    }
    for (const Job& job : input.jobs) demands_[row(job.queue)] = 1;
    for (std::size_t q = 0; q < queues_.size(); ++q) {
      const std::int32_t parent = queues_[q].parent;
      if (parent >= 0) children_[static_cast<std::size_t>(parent)].push_back(static_cast<std::int32_t>(q));
      if (demands_[q] == 0) continue;
      for (std::int32_t up = parent; up >= 0; up = queues_[static_cast<std::size_t>(up)].parent) demands_[row(up)] = 1;
    }
    known_.resize(queues_.size() + 1);
    usage_changed();
  }

  void usage_changed() override {
    std::vector<std::uint8_t> counts;
    bool any = false;
    for (const std::size_t r : resources_) {
      counts.push_back(usage_.used_by_all(r) < usage_.capacity(r) ? 1 : 0);
      any = any || counts.back() != 0;
    }
    if (!any) std::ranges::fill(counts, std::uint8_t{1});
    if (counts == counts_) return;
    counts_ = std::move(counts);
    for (Known& known : known_) known.is_known = false;
  }

  bool goes_before(std::int32_t a, std::int32_t b) override {
    return std::tuple(known_of(a).share, id_of(a)) < std::tuple(known_of(b).share, id_of(b));
  }

 private:
  struct Known {
    bool is_known = false;
    std::uint64_t print = 0;
    double share = 0;
    std::vector<double> usage;  // by resource counted, as part of the capacity
  };

  std::size_t row(std::int32_t queue) const { return queue < 0 ? queues_.size() : static_cast<std::size_t>(queue); }
  std::int64_t id_of(std::int32_t queue) const { return queue < 0 ? 0 : queues_[static_cast<std::size_t>(queue)].id; }

  const Known& known_of(std::int32_t queue) {
    Known& known = known_[row(queue)];
    if (known.is_known && known.print == usage_.usage_print(queue)) return known;
    known = {.is_known = true, .print = usage_.usage_print(queue), .share = 0, .usage = own_usage(queue)};
    if (queue >= 0) add_children(children_[row(queue)], known.usage);
    for (std::size_t i = 0; i < resources_.size(); ++i) {
      if (counts_[i] != 0) known.share = std::max(known.share, known.usage[i]);
    }
    const double weight = queue < 0 ? 1.0 : queues_[row(queue)].weight;
    known.share = weight > 0 ? known.share / weight : std::numeric_limits<double>::infinity();
    return known;
  }

  // Of the queue's own jobs.
  std::vector<double> own_usage(std::int32_t queue) const {
    std::vector<double> usage;
    for (const std::size_t r : resources_) {
      std::int64_t own = usage_.used(queue, r);
      if (queue >= 0) {
        for (const std::int32_t child : children_[row(queue)]) own -= usage_.used(child, r);
      }
      usage.push_back(static_cast<double>(own) / static_cast<double>(usage_.capacity(r)));
    }
    return usage;
  }

  void add_children(const std::vector<std::int32_t>& children, std::vector<double>& usage) {
    double least = std::numeric_limits<double>::infinity();
    for (const std::int32_t child : children) {
      if (demands_[row(child)] != 0) least = std::min(least, known_of(child).share);
    }
    for (const std::int32_t child : children) {
      const Known& known = known_of(child);
      const bool is_scaled = demands_[row(child)] != 0 && known.share > least;
      const double scale = is_scaled ? least / known.share : 1.0;  // to 0 for a share without bound
      for (std::size_t i = 0; i < usage.size(); ++i) usage[i] += known.usage[i] * scale;
    }
  }

  std::span<const Queue> queues_;
  const QuotaLedger& usage_;
  std::vector<std::vector<std::int32_t>> children_;
  std::vector<std::uint8_t> demands_;  // by row: jobs waited at the beginning, of the queue or below
  std::vector<std::size_t> resources_;
  std::vector<std::uint8_t> counts_;  // by resource counted: not used up
  std::vector<Known> known_;
};

}  // namespace

std::unique_ptr<JobSequence> DrfOrder::begin(const OrderInput& input) const {
  return std::make_unique<RankedQueues<DrfRanking>>(input);
}

std::vector<std::int32_t> DrfOrder::order(const OrderInput& input) const { return read_to_end(*begin(input)); }

bool DrfOrder::goes_first(const Job& one, const Job& other, const OrderInput& input) const {
  return goes_first_in_queue(one, other, input);
}

}  // namespace berth
