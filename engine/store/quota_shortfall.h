// Which quotas cannot all be honoured: those of the roots together against the cluster, those of the queues below a
// queue against its own, what a queue has lent against what it owns, and a queue's own against the limits above it.
//
// Looked at now and at every later moment at which a dated quota or a loan begins or ends. Capacity is that of today's
// healthy devices on nodes that are up or draining.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/model/quota.h"
#include "engine/store/sqlite.h"

namespace berth {

enum class ShortfallKind : std::uint8_t { kCluster, kBelowQueue, kLoans, kLimit };

struct QuotaShortfall {
  QuotaResource resource = {};
  ShortfallKind kind = ShortfallKind::kCluster;
  // Whose quota the queues below it, or its loans, exceed, or whose quota exceeds what limits let it use.
  std::string queue = {};
  std::int64_t promised = 0;         // milli-cores, MiB or milli-GPU
  std::int64_t there_is = 0;         // less than promised
  std::optional<Seconds> from = {};  // nullopt = now
};

// The first moment of each shortfall of these resources, in resource order, the cluster's first.
Result<std::vector<QuotaShortfall>> find_shortfalls(Database& db, Seconds now, std::span<const std::string> resources);
// "quotas of A100 add up to 40, but the cluster has 32: 8 short"
std::string describe_shortfall(const QuotaShortfall& shortfall);

// What the cluster has of each resource, in their order.
Result<Amounts> read_capacity(Database& db, std::span<const QuotaResource> resources);

}  // namespace berth
