#include "engine/store/quota_shortfall.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/text.h"
#include "engine/model/quota_ledger.h"
#include "engine/store/load_quotas.h"
#include "engine/store/resource_names.h"

namespace berth {

namespace {

class QuotaShortfallSearch {
 public:
  QuotaShortfallSearch(Database& db, std::span<const std::string> resources) : db_(db), resources_(resources) {}

  Status look_at(Seconds moment, std::optional<Seconds> from) {
    BERTH_ASSIGN(QuotaState state, load_quotas(db_, moment));
    BERTH_TRY(look_at_lent_without_quotas(state, moment, from));
    if (state.quotas.resources.empty()) return {};
    BERTH_ASSIGN(const Amounts capacity, read_capacity(db_, state.quotas.resources));
    const std::vector<LoanTerms> loans = std::move(state.quotas.loans);
    state.quotas.loans.clear();
    const Cluster no_cluster;  // only quotas are asked for
    const QuotaLedger ledger(no_cluster, state.queues, state.quotas, moment);
    look_at_limits(state, ledger, from);
    for (std::size_t r = 0; r < state.quotas.resources.size(); ++r) {
      const QuotaResource& resource = state.quotas.resources[r];
      // A quota of models is one of their family and of all GPUs, too.
      const bool has_wanted_part = std::ranges::any_of(state.quotas.resources, [&](const QuotaResource& part) {
        return part.lies_within(resource) && is_wanted(part);
      });
      if (!is_wanted(resource) && !has_wanted_part) continue;
      const auto below = [&](std::int32_t parent) {
        std::int64_t sum = 0;
        for (std::size_t q = 0; q < state.queues.size(); ++q) {
          if (state.queues[q].parent == parent) sum += ledger.quota(static_cast<std::int32_t>(q), r);
        }
        return sum;
      };
      note({.resource = resource, .promised = below(-1), .there_is = capacity[r], .from = from});
      for (std::size_t q = 0; q < state.queues.size(); ++q) {
        const auto queue = static_cast<std::int32_t>(q);
        const std::int64_t quota = ledger.quota(queue, r);
        const std::int64_t of_others = below(queue);
        if (state.quotas.terms[q][r].has_quota)
          note({.resource = resource,
                .kind = ShortfallKind::kBelowQueue,
                .queue = state.queues[q].name,
                .promised = of_others,
                .there_is = quota,
                .from = from});
        std::int64_t lent = 0;
        std::int64_t owned = std::max<std::int64_t>(0, quota - of_others);
        for (const LoanTerms& loan : loans) {
          if (static_cast<std::size_t>(loan.resource) != r) continue;
          if (loan.lender == queue) lent += loan.amount;
          if (loan.borrower == queue) owned += loan.amount;
        }
        note({.resource = resource,
              .kind = ShortfallKind::kLoans,
              .queue = state.queues[q].name,
              .promised = lent,
              .there_is = owned,
              .from = from});
      }
    }
    return {};
  }

  std::vector<QuotaShortfall> found() && {
    std::ranges::stable_sort(found_, [](const QuotaShortfall& a, const QuotaShortfall& b) {
      return resource_comes_before(a.resource, b.resource);
    });
    return std::move(found_);
  }

 private:
  // Loans of what nobody has a quota of any more.
  Status look_at_lent_without_quotas(const QuotaState& state, Seconds moment, std::optional<Seconds> from) {
    BERTH_ASSIGN(Statement rows,
                 db_.prepare("SELECT q.name, l.resource, sum(iif(l.lender_id = q.id, l.amount, 0)), sum(iif("
                             "l.borrower_id = q.id, l.amount, 0)) FROM loans l JOIN queues q ON q.id IN (l.lender_id, "
                             "l.borrower_id) WHERE l.state = 'open' AND l.valid_from <= ?1 AND coalesce(l.valid_to > "
                             "?1, 1) GROUP BY q.id, l.resource ORDER BY q.id, l.resource"));
    rows.with(moment);
    while (rows.next()) {
      const bool is_wanted = std::ranges::find(resources_, rows.text(1)) != resources_.end();
      if (!is_wanted || std::ranges::find(state.quotas.resources, rows.text(1), &QuotaResource::name) !=
                            state.quotas.resources.end()) {
        continue;
      }
      BERTH_ASSIGN(const ResourceNames names, ResourceNames::read(db_));
      note({.resource = names.stored(rows.text(1)),
            .kind = ShortfallKind::kLoans,
            .queue = std::string(rows.text(0)),
            .promised = rows.integer(2),
            .there_is = rows.integer(3),
            .from = from});
    }
    return rows.status();
  }

  // A limit holds for what lies below the queue and for what its resource is made of.
  void look_at_limits(const QuotaState& state, const QuotaLedger& ledger, std::optional<Seconds> from) {
    const std::vector<QuotaResource>& resources = state.quotas.resources;
    for (std::size_t r = 0; r < resources.size(); ++r) {
      const auto binds = [&](const QuotaResource& whole) {
        return whole.name == resources[r].name || resources[r].lies_within(whole);
      };
      const auto is_asked_for = [&](const QuotaResource& whole) { return binds(whole) && is_wanted(whole); };
      if (std::ranges::none_of(resources, is_asked_for)) continue;
      for (std::size_t q = 0; q < state.queues.size(); ++q) {
        if (!state.quotas.terms[q][r].has_quota) continue;
        std::int64_t limit = kNoLimit;
        for (std::size_t whole = 0; whole < resources.size(); ++whole) {
          for (auto above = static_cast<std::int32_t>(q); binds(resources[whole]) && above >= 0;
               above = state.queues[static_cast<std::size_t>(above)].parent)
            limit = std::min(limit, state.quotas.terms[static_cast<std::size_t>(above)][whole].limit);
        }
        note({.resource = resources[r],
              .kind = ShortfallKind::kLimit,
              .queue = state.queues[q].name,
              .promised = ledger.quota(static_cast<std::int32_t>(q), r),
              .there_is = limit,
              .from = from});
      }
    }
  }

  bool is_wanted(const QuotaResource& resource) const {
    return std::ranges::find(resources_, resource.name) != resources_.end();
  }

  void note(const QuotaShortfall& candidate) {
    if (candidate.promised <= candidate.there_is) return;
    const bool known = std::ranges::any_of(found_, [&](const QuotaShortfall& earlier) {
      return earlier.resource.name == candidate.resource.name && earlier.queue == candidate.queue &&
             earlier.kind == candidate.kind;
    });
    if (!known) found_.push_back(candidate);
  }

  Database& db_;
  std::span<const std::string> resources_;
  std::vector<QuotaShortfall> found_;
};

}  // namespace

Result<std::vector<QuotaShortfall>> find_shortfalls(Database& db, Seconds now, std::span<const std::string> resources) {
  QuotaShortfallSearch search(db, resources);
  BERTH_TRY(search.look_at(now, std::nullopt));
  BERTH_ASSIGN(Statement moments, db.prepare(fmt::format("WITH {} SELECT DISTINCT moment FROM dates WHERE moment > ?1 "
                                                         "ORDER BY 1",
                                                         kDatesSql)));
  moments.with(now);
  while (moments.next()) BERTH_TRY(search.look_at(moments.quantity<Seconds>(0), moments.quantity<Seconds>(0)));
  BERTH_TRY(moments.status());
  return std::move(search).found();
}

std::string describe_shortfall(const QuotaShortfall& shortfall) {
  const ResourceKind kind = shortfall.resource.kind;
  const std::string from = shortfall.from ? fmt::format("from {} on ", print_time(*shortfall.from)) : "";
  const std::string promised = print_amount(kind, shortfall.promised);
  const std::string there_is = print_amount(kind, shortfall.there_is);
  const std::string missing = print_amount(kind, shortfall.promised - shortfall.there_is);
  const std::string& resource = shortfall.resource.name;
  switch (shortfall.kind) {
    case ShortfallKind::kCluster:
      return fmt::format("{}quotas of {} add up to {}, but the cluster has {}: {} short", from, resource, promised,
                         there_is, missing);
    case ShortfallKind::kBelowQueue:
      return fmt::format("{}quotas of {} below queue '{}' add up to {}, but its own is {}: {} short", from, resource,
                         shortfall.queue, promised, there_is, missing);
    case ShortfallKind::kLoans:
      return fmt::format("{}queue '{}' has lent {} {}, but owns {}: {} short", from, shortfall.queue, promised,
                         resource, there_is, missing);
    case ShortfallKind::kLimit:
      return fmt::format("{}queue '{}' has a quota of {} {}, but limits let it use {}: {} short", from, shortfall.queue,
                         promised, resource, there_is, missing);
  }
  return {};
}

Result<Amounts> read_capacity(Database& db, std::span<const QuotaResource> resources) {
  BERTH_ASSIGN(Statement rows,
               db.prepare("WITH there (node_id, type_id) AS (SELECT id, type_id FROM nodes WHERE state IN ('up', "
                          "'draining')), broken (type_id, devices) AS (SELECT t.type_id, count(*) FROM devices d JOIN "
                          "there t ON t.node_id = d.node_id WHERE d.health <> 'healthy' GROUP BY t.type_id) "
                          "SELECT coalesce((SELECT count(*) FROM device_models m WHERE m.id < t.device_model_id), 0), "
                          "sum(n.nodes * t.cpu_milli), sum(n.nodes * t.memory_mib), "
                          "sum(n.nodes * t.device_count - coalesce(b.devices, 0)) * 1000 "
                          "FROM (SELECT type_id, count(*) AS nodes FROM there GROUP BY type_id) n "
                          "JOIN node_types t ON t.id = n.type_id LEFT JOIN broken b ON b.type_id = t.id "
                          "GROUP BY t.device_model_id"));
  Amounts capacity(resources.size(), 0);
  while (rows.next()) {
    const ModelSet model = ModelSet{1} << rows.integer(0);
    for (std::size_t r = 0; r < resources.size(); ++r) {
      switch (resources[r].kind) {
        case ResourceKind::kCpu: capacity[r] += rows.integer(1); break;
        case ResourceKind::kMemory: capacity[r] += rows.integer(2); break;
        case ResourceKind::kGpu:
          if (resources[r].models == 0 || (resources[r].models & model) != 0) capacity[r] += rows.integer(3);
          break;
      }
    }
  }
  BERTH_TRY(rows.status());
  return capacity;
}

}  // namespace berth
