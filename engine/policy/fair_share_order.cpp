#include "engine/policy/fair_share_order.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "engine/policy/fair_shares.h"
#include "engine/policy/queue_walk.h"

namespace berth {

namespace {

constexpr double kLastOfAll = std::numeric_limits<double>::infinity();

std::vector<std::size_t> resources_shared(const QuotaLedger& usage) {
  std::vector<std::size_t> resources;
  bool has_gpu = false;
  for (std::size_t r = 0; r < usage.resource_count(); ++r) {
    if (!usage.is_governed(r)) continue;
    resources.push_back(r);
    has_gpu = has_gpu || usage.resource(r).kind == ResourceKind::kGpu;
  }
  const auto add_whole = [&](ResourceKind kind) {
    for (std::size_t r = 0; r < usage.resource_count(); ++r) {
      const QuotaResource& resource = usage.resource(r);
      if (resource.kind != kind || resource.models != 0 || usage.is_governed(r) || usage.capacity(r) == 0) continue;
      resources.push_back(r);
      return true;
    }
    return false;
  };
  if (!has_gpu && !add_whole(ResourceKind::kGpu) && resources.empty()) add_whole(ResourceKind::kCpu);
  return resources;
}

class FairShareRanking : public QueueRanking {
 public:
  FairShareRanking(const OrderInput& input, const QuotaLedger& usage)
      : queues_(input.queues), usage_(usage), resources_(resources_shared(usage)), keys_(queues_.size() + 1) {
    const std::vector<Amounts> waiting = waiting_amounts(input, usage);
    for (const std::size_t r : resources_) {
      std::vector<ShareClaim> claims = claims_of(usage, r, waiting, input.knobs.usage_half_life);
      std::vector<std::int64_t> requests;
      std::vector<std::int64_t> waits;
      for (std::size_t row = 0; row < keys_.size(); ++row) {
        requests.push_back(claims[row].request);
        waits.push_back(waiting[row][r]);
      }
      add_up(requests);
      add_up(waits);
      requests_.push_back(std::move(requests));
      waits_.push_back(std::move(waits));
      shares_.push_back(fair_shares(queues_, usage.capacity(r), std::move(claims), input.knobs.usage_weight));
    }
    for (std::size_t row = 0; row < keys_.size(); ++row) renew(row);
  }

  void usage_changed() override {}

  bool goes_before(std::int32_t a, std::int32_t b) override { return key_of(a) < key_of(b); }

 private:
  // Is not below its quota, -band, used / share, -weight, id.
  using Key = std::tuple<bool, std::int32_t, double, double, std::int64_t>;
  struct Known {
    Key key;
    std::uint64_t print = 0;
  };

  // Requests of children are requests of the parent.
  void add_up(std::vector<std::int64_t>& requests) const {
    const std::vector<std::int64_t> own = requests;
    for (std::size_t q = 0; q < queues_.size(); ++q) {
      for (std::int32_t up = queues_[q].parent; up >= 0; up = queues_[static_cast<std::size_t>(up)].parent) {
        requests[static_cast<std::size_t>(up)] += own[q];
      }
    }
  }

  const Key& key_of(std::int32_t queue) {
    const std::size_t row = queue < 0 ? queues_.size() : static_cast<std::size_t>(queue);
    if (keys_[row].print != usage_.usage_print(queue)) renew(row);
    return keys_[row].key;
  }

  void renew(std::size_t row) {
    const std::int32_t queue = row < queues_.size() ? static_cast<std::int32_t>(row) : -1;
    bool has_quota = false;
    double of_quota = 0;
    double of_models = kLastOfAll;
    bool has_models = false;
    double of_share = 0;
    for (std::size_t i = 0; i < resources_.size(); ++i) {
      const std::size_t r = resources_[i];
      if (usage_.is_governed(r) && !usage_.counts_for(queue, r)) continue;
      const auto used = static_cast<double>(usage_.used(queue, r));
      const auto counted = static_cast<double>(usage_.counted(queue, r));
      const auto quota = static_cast<double>(usage_.quota(queue, r));
      const auto share = static_cast<double>(shares_[i][row]);
      has_quota = has_quota || quota > 0;
      if (usage_.divides_models() && usage_.resource(r).models != 0) {
        // Use beyond the quota of one model takes nothing from that of another.
        has_models = has_models || quota > 0;
        if (quota > 0 && waits_[i][row] > 0) of_models = std::min(of_models, counted / quota);
      } else if (counted > 0 && !usage_.sums_models(queue, r)) {
        of_quota = std::max(of_quota, quota > 0 ? counted / quota : kLastOfAll);
      }
      if (share > 0) {
        of_share = std::max(of_share, used / share);
      } else if (used > 0 || requests_[i][row] > 0) {
        of_share = kLastOfAll;
      }
    }
    if (has_models) of_quota = std::max(of_quota, of_models);
    const bool is_below = has_quota && of_quota < 1;
    if (queue < 0) {
      keys_[row].key = {true, 0, of_share, -1.0, 0};
    } else {
      keys_[row].key = {!is_below, -queues_[row].priority_band, of_share, -queues_[row].weight, queues_[row].id};
    }
    keys_[row].print = usage_.usage_print(queue);
  }

  std::span<const Queue> queues_;
  const QuotaLedger& usage_;
  std::vector<std::size_t> resources_;
  std::vector<std::vector<std::int64_t>> requests_;  // by resource counted, row
  std::vector<std::vector<std::int64_t>> waits_;     // the same, without what is used
  std::vector<std::vector<std::int64_t>> shares_;    // by resource counted, row
  std::vector<Known> keys_;
};

}  // namespace

std::unique_ptr<JobSequence> FairShareOrder::begin(const OrderInput& input) const {
  return std::make_unique<OwnQuotaFirst>(input, std::make_unique<RankedQueues<FairShareRanking>>(input));
}

std::vector<std::int32_t> FairShareOrder::order(const OrderInput& input) const { return read_to_end(*begin(input)); }

bool FairShareOrder::goes_first(const Job& one, const Job& other, const OrderInput& input) const {
  return goes_first_in_queue(one, other, input);
}

}  // namespace berth
