// Queues and what they own, from the tables, as they hold at one moment.
//
// The terms of a queue for a resource are its row without dates, overridden column by column by the rows with dates
// that hold: one that begins later counts more, then one made later. A loan holds from valid_from until just before
// valid_to, unless it has been returned. No rows: an empty table, and reading it costs nothing.
#pragma once

#include <string>
#include <vector>

#include "engine/model/quota.h"
#include "engine/model/snapshot.h"
#include "engine/store/sqlite.h"

namespace berth {

struct QuotaState {
  std::vector<Queue> queues;  // in id order; decayed_usage is left 0
  QuotaTable quotas;          // resources: cpu, memory, gpu, then models and families by name
};

Result<QuotaState> load_quotas(Database& db, Seconds now);

// The moments at which loans and dated quotas begin and end, as a common table expression: "WITH <this> SELECT ...".
inline constexpr std::string_view kDatesSql =
    "dates (what, moment, begins) AS ("
    "SELECT 'loan ' || l.id || ' of ' || o.name || ' to ' || b.name, d.moment, d.begins FROM loans l "
    "JOIN queues o ON o.id = l.lender_id JOIN queues b ON b.id = l.borrower_id JOIN "
    "(SELECT id, valid_from AS moment, 1 AS begins FROM loans UNION ALL SELECT id, valid_to, 0 FROM loans) "
    "d ON d.id = l.id WHERE l.state = 'open' UNION ALL "
    "SELECT 'the dated ' || substr(iif(t.quota IS NULL, '', ' and quota') || iif(t.limit_amount IS NULL, '', "
    "' and limit') || iif(t.borrow_limit IS NULL, '', ' and borrow limit') || iif(t.lend_limit IS NULL, '', "
    "' and lend limit') || iif(t.weight IS NULL, '', ' and weight'), 6) || ' of ' || q.name || ' of ' || t.resource, "
    "d.moment, d.begins FROM quotas t "
    "JOIN queues q ON q.id = t.queue_id JOIN (SELECT id, valid_from AS moment, 1 AS begins FROM quotas "
    "UNION ALL SELECT id, valid_to, 0 FROM quotas) d ON d.id = t.id)";
// What begins or ends by itself after `since`, up to `until`: "loan 3 of ads to nlp ended at 2026-11-01 10:00:00". Then
// load_quotas tells different things of the two moments, though nobody has changed anything.
Result<std::vector<std::string>> dates_passed(Database& db, Seconds since, Seconds until);

// Index of the queue with that id; -1 = none.
std::int32_t queue_index(const std::vector<Queue>& queues, std::int64_t id);

}  // namespace berth
