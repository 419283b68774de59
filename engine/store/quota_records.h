// Setting what queues own and how they share: quotas, limits, weights, priority bands, eviction budgets.
//
// Errors as in cluster_records.h. A quota that the cluster cannot honour is accepted; quota_shortfall.h finds it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/store/change.h"

namespace berth {

enum class QuotaColumn : std::uint8_t { kQuota, kLimit, kBorrowLimit, kLendLimit, kWeight };
std::string_view quota_column_word(QuotaColumn column);  // "borrow limit"

// One amount of one resource. Neither amount nor weight: what the row says is taken back.
struct QuotaSetting {
  QuotaColumn column = QuotaColumn::kQuota;
  std::string resource = {};                // "cpu", "memory", "gpu", a device model or a family
  std::optional<std::int64_t> amount = {};  // milli-cores, MiB or milli-GPU; of every column but kWeight
  std::optional<double> weight = {};        // of kWeight

  bool takes_back() const { return !amount && !weight; }
};

// When a row holds: [from, to), each open when not said.
struct QuotaPeriod {
  std::optional<Seconds> from = {};
  std::optional<Seconds> to = {};

  bool is_dated() const { return from || to; }
};

// Writes into the row of exactly that period, made when there is none. kNotFound when there is nothing to take back,
// kInvalid when a resource is set twice, nothing is set, or a period has no time left.
Status set_quota(Change& change, const std::string& queue, std::span<const QuotaSetting> settings,
                 const QuotaPeriod& period = {});
// Of the row that the amount in force comes from: among those that say one, the dated row that begins last. A change to
// another row would change nothing now. Undated where no row says one.
Result<QuotaPeriod> period_in_force(Database& db, std::int64_t queue, std::string_view resource, QuotaColumn column,
                                    Seconds now);
// " FROM '2026-01-01 00:00:00' TO ...", as a statement says it; empty = undated.
std::string period_clause(const QuotaPeriod& period);
// Takes back all rows, dated ones too, of these resources (none named: of all).
Status reset_quota(Change& change, const std::string& queue, std::span<const std::string> resources);
// Those that something is said of for the queue, dated or not.
Result<std::vector<std::string>> quota_resources_of(Database& db, const std::string& queue);

struct ShareAlteration {
  std::optional<double> weight = {};               // of what nobody's quota covers, among its siblings; >= 0
  std::optional<std::int64_t> priority_band = {};  // surplus goes to higher bands first; -1,000,000 to 1,000,000
  // milli-GPU-hours its jobs may lose to eviction in an hour; -1 = as the setting says
  std::optional<std::int64_t> eviction_budget = {};
  std::optional<std::string> rightsizing = {};  // "off", "wpai", "histogram"
};
Status alter_queue_share(Change& change, const std::string& queue, const ShareAlteration& alteration);

}  // namespace berth
