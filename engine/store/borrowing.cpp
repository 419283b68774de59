#include "engine/store/borrowing.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "engine/base/text.h"
#include "engine/store/account_records.h"
#include "engine/store/borrowing_match.h"
#include "engine/store/history_recorder.h"
#include "engine/store/names.h"
#include "engine/store/quota_shortfall.h"
#include "engine/store/quota_use.h"
#include "engine/store/resource_names.h"

namespace berth {

namespace {

// A row of borrowing_records.
struct BorrowRecord {
  std::int64_t borrower = 0;  // ids, as all here
  std::int64_t lender = 0;    // 0 = nobody
  std::string resource;
  std::int64_t amount = 0;
  std::int64_t since = 0;

  auto key() const { return std::tie(borrower, resource, lender); }
};

Result<bool> has_anything_owned(Database& db) {
  BERTH_ASSIGN(const std::int64_t any,
               db.integer("SELECT EXISTS (SELECT 1 FROM quotas) OR EXISTS (SELECT 1 FROM loans WHERE state = 'open') "
                          "OR EXISTS (SELECT 1 FROM standings) OR EXISTS (SELECT 1 FROM borrowing_records)"));
  return any != 0;
}

// In the order of key().
Result<std::vector<BorrowRecord>> read_borrow_records(Database& db) {
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT borrower_id, coalesce(lender_id, 0), resource, amount, since "
                                          "FROM borrowing_records ORDER BY 1, 3, 2"));
  std::vector<BorrowRecord> records;
  while (rows.next()) {
    records.push_back({rows.integer(0), rows.integer(1), std::string(rows.text(2)), rows.integer(3), rows.integer(4)});
  }
  BERTH_TRY(rows.status());
  return records;
}

// Who borrows now, given who did so far; in the order of BorrowRecord::key().
Result<std::vector<BorrowRecord>> settle_borrowing(Database& db, const QuotaUse& use,
                                                   std::span<const BorrowRecord> so_far, Seconds now) {
  std::vector<BorrowRecord> oldest_first(so_far.begin(), so_far.end());
  std::ranges::stable_sort(oldest_first, {}, &BorrowRecord::since);
  std::vector<BorrowRecord> records;
  std::optional<Amounts> capacity;
  for (std::size_t r = 0; r < use.resources().size(); ++r) {
    if (!use.is_governed(r)) continue;
    QuotaBalance balance;
    bool somebody_borrows = false;
    for (std::size_t q = 0; q < use.queue_count(); ++q) {
      balance.parents.push_back(use.parent(q));
      balance.over.push_back(use.over(q, r));
      balance.idle.push_back(use.idle(q, r));
      balance.lend_limit.push_back(use.quotas().terms[q][r].lend_limit);
      somebody_borrows = somebody_borrows || balance.over.back() > 0;
    }
    if (!somebody_borrows) continue;
    if (!capacity) {
      BERTH_ASSIGN(capacity, read_capacity(db, use.resources()));
    }
    balance.unowned = std::max<std::int64_t>(0, (*capacity)[r] - use.owned_by_all(r));
    const std::string& resource = use.resources()[r].name;
    std::vector<Borrowing> held;
    for (const BorrowRecord& record : oldest_first) {
      const std::int32_t borrower = queue_index(use.queues(), record.borrower);
      const std::int32_t lender = queue_index(use.queues(), record.lender);
      if (record.resource != resource || borrower < 0 || (record.lender != 0 && lender < 0)) continue;
      held.push_back({borrower, lender, record.amount});
    }
    for (const Borrowing& pair : match_borrowing(balance, held)) {
      const auto id = [&](std::int32_t queue) {
        return queue < 0 ? 0 : use.queues()[static_cast<std::size_t>(queue)].id;
      };
      records.push_back({id(pair.borrower), id(pair.lender), resource, pair.amount, now.value()});
    }
  }
  std::ranges::sort(records, {}, &BorrowRecord::key);
  for (BorrowRecord& record : records) {
    const auto earlier = std::ranges::lower_bound(so_far, record.key(), {}, &BorrowRecord::key);
    if (earlier != so_far.end() && earlier->key() == record.key()) record.since = earlier->since;
  }
  return records;
}

Status write_borrow_records(Database& db, std::span<const BorrowRecord> so_far, std::span<const BorrowRecord> records) {
  BERTH_ASSIGN(Statement remove, db.prepare("DELETE FROM borrowing_records WHERE borrower_id = ?1 AND resource = ?2 "
                                            "AND coalesce(lender_id, 0) = ?3"));
  BERTH_ASSIGN(Statement insert, db.prepare("INSERT INTO borrowing_records (borrower_id, resource, lender_id, amount, "
                                            "since) VALUES (?1, ?2, nullif(?3, 0), ?4, ?5)"));
  BERTH_ASSIGN(Statement update, db.prepare("UPDATE borrowing_records SET amount = ?4 WHERE borrower_id = ?1 "
                                            "AND resource = ?2 AND coalesce(lender_id, 0) = ?3"));
  auto earlier = so_far.begin();
  for (const BorrowRecord& record : records) {
    for (; earlier != so_far.end() && earlier->key() < record.key(); ++earlier) {
      BERTH_TRY(remove.run(earlier->borrower, earlier->resource, earlier->lender));
    }
    if (earlier == so_far.end() || earlier->key() != record.key()) {
      BERTH_TRY(insert.run(record.borrower, record.resource, record.lender, record.amount, record.since));
      continue;
    }
    if (earlier->amount != record.amount) {
      BERTH_TRY(update.run(record.borrower, record.resource, record.lender, record.amount));
    }
    ++earlier;
  }
  for (; earlier != so_far.end(); ++earlier) {
    BERTH_TRY(remove.run(earlier->borrower, earlier->resource, earlier->lender));
  }
  return {};
}

// Calls take(queue) for `queue` and all above it that `other` (-1 = nobody) does not lie below.
template <class Take>
void for_branches_without(const std::vector<Queue>& queues, std::int32_t queue, std::int32_t other, Take&& take) {
  const auto lies_below = [&](std::int32_t above) {
    for (std::int32_t q = other; q >= 0; q = queues[static_cast<std::size_t>(q)].parent) {
      if (q == above) return true;
    }
    return false;
  };
  for (; queue >= 0 && !lies_below(queue); queue = queues[static_cast<std::size_t>(queue)].parent) {
    take(static_cast<std::size_t>(queue));
  }
}

// Of governed resources, by queue, then resource.
std::vector<Standing> work_out_standings(const QuotaUse& use, std::span<const BorrowRecord> records) {
  const std::size_t resources = use.resources().size();
  std::vector<Standing> all(use.queue_count() * resources);
  const auto at = [&](std::size_t queue, std::size_t resource) -> Standing& {
    return all[queue * resources + resource];
  };
  for (std::size_t q = 0; q < use.queue_count(); ++q) {
    for (std::size_t r = 0; r < resources; ++r) {
      Standing& standing = at(q, r);
      standing.queue = static_cast<std::int32_t>(q);
      standing.resource = static_cast<std::int32_t>(r);
      standing.quota = use.quota(q, r);
      standing.terms = use.quotas().terms[q][r];
      for_branches_without(use.queues(), standing.queue, -1,
                           [&](std::size_t above) { at(above, r).allocated += use.used(q, r); });
    }
  }
  for (const LoanTerms& loan : use.quotas().loans) {
    const auto r = static_cast<std::size_t>(loan.resource);
    for_branches_without(use.queues(), loan.borrower, loan.lender,
                         [&](std::size_t q) { at(q, r).loaned_in += loan.amount; });
    for_branches_without(use.queues(), loan.lender, loan.borrower,
                         [&](std::size_t q) { at(q, r).loaned_out += loan.amount; });
  }
  for (const BorrowRecord& record : records) {
    const auto resource = std::ranges::find(use.resources(), record.resource, &QuotaResource::name);
    if (resource == use.resources().end()) continue;
    const auto r = static_cast<std::size_t>(resource - use.resources().begin());
    const std::int32_t borrower = queue_index(use.queues(), record.borrower);
    const std::int32_t lender = queue_index(use.queues(), record.lender);
    for_branches_without(use.queues(), borrower, lender, [&](std::size_t q) { at(q, r).borrowed += record.amount; });
    for_branches_without(use.queues(), lender, borrower, [&](std::size_t q) { at(q, r).lent += record.amount; });
  }
  std::erase_if(all, [&](const Standing& each) { return !use.is_governed(static_cast<std::size_t>(each.resource)); });
  return all;
}

// The records of GPUs by index.
std::vector<Lending> lendings_of(const QuotaUse& use, std::span<const BorrowRecord> records) {
  std::vector<Lending> lendings;
  for (const BorrowRecord& record : records) {
    const auto resource = std::ranges::find(use.resources(), record.resource, &QuotaResource::name);
    const std::int32_t borrower = queue_index(use.queues(), record.borrower);  // -1 in a damaged file
    if (resource == use.resources().end() || resource->kind != ResourceKind::kGpu || borrower < 0) continue;
    lendings.push_back({borrower, queue_index(use.queues(), record.lender),
                        static_cast<std::int32_t>(resource - use.resources().begin()), record.amount});
  }
  return lendings;
}

// A limit as the tables have it: NULL = none.
std::optional<std::int64_t> said(std::int64_t limit) { return limit < kNoLimit ? std::optional(limit) : std::nullopt; }

Status write_standings(Database& db, const QuotaUse& use, std::span<const Standing> standings) {
  // A row as it was is left alone; what starving_since and fair_share say outlives the change.
  BERTH_ASSIGN(
      Statement upsert,
      db.prepare(
          "INSERT INTO standings (queue_id, resource, quota, limit_amount, borrow_limit, lend_limit, weight, "
          "allocated, "
          "borrowed, lent, loaned_in, loaned_out) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) "
          "ON CONFLICT DO UPDATE SET quota = ?3, limit_amount = ?4, borrow_limit = ?5, lend_limit = ?6, weight = ?7, "
          "allocated = ?8, borrowed = ?9, lent = ?10, loaned_in = ?11, loaned_out = ?12 WHERE (quota, limit_amount, "
          "borrow_limit, lend_limit, weight, allocated, borrowed, lent, loaned_in, loaned_out) IS NOT (?3, ?4, ?5, ?6, "
          "?7, ?8, ?9, ?10, ?11, ?12)"));
  for (const Standing& each : standings) {
    const QuotaTerms& terms = each.terms;
    BERTH_TRY(upsert.run(use.queues()[static_cast<std::size_t>(each.queue)].id,
                         use.resources()[static_cast<std::size_t>(each.resource)].name, each.quota, said(terms.limit),
                         said(terms.borrow_limit), said(terms.lend_limit),
                         terms.weight < 0 ? std::nullopt : std::optional(terms.weight), each.allocated, each.borrowed,
                         each.lent, each.loaned_in, each.loaned_out));
  }
  BERTH_ASSIGN(const std::int64_t stored, db.integer("SELECT count(*) FROM standings"));
  if (static_cast<std::size_t>(stored) == standings.size()) return {};
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT DISTINCT resource FROM standings"));
  std::vector<std::string> ungoverned;
  while (rows.next()) {
    const auto resource = std::ranges::find(use.resources(), rows.text(0), &QuotaResource::name);
    const bool governed = resource != use.resources().end() &&
                          use.is_governed(static_cast<std::size_t>(resource - use.resources().begin()));
    if (!governed) ungoverned.emplace_back(rows.text(0));
  }
  BERTH_TRY(rows.status());
  BERTH_ASSIGN(Statement remove, db.prepare("DELETE FROM standings WHERE resource = ?1"));
  for (const std::string& resource : ungoverned) BERTH_TRY(remove.run(resource));
  return {};
}

// What is kept of use is what the allocations add up to.
Status find_use_that_differs(Database& db, std::vector<LedgerFlaw>& flaws) {
  BERTH_ASSIGN(QueueUseRows kept, read_use(db));
  BERTH_ASSIGN(QueueUseRows counted, count_use(db));
  for (const auto& [key, row] : kept) counted.try_emplace(key);
  for (const auto& [key, row] : counted) {
    const QueueUseRow& stored = kept[key];
    if (stored == row) continue;
    const Result<std::string> name = name_of(db, Thing::kQueue, key.first);
    flaws.push_back({fmt::format("queue {}", name.ok() ? *name : fmt::format("#{}", key.first)),
                     fmt::format("its jobs hold {} CPU, {} and {} GPU on nodes of one model, queue_use says {}, {} and "
                                 "{}",
                                 print_cpu(MilliCpu(row.cpu)), print_memory(MiB(row.memory)),
                                 print_gpu(MilliGpu(row.gpu)), print_cpu(MilliCpu(stored.cpu)),
                                 print_memory(MiB(stored.memory)), print_gpu(MilliGpu(stored.gpu)))});
  }
  return {};
}

// What each borrower uses above its own quota is what its lenders lend, and no lender lends more than is idle.
void find_sums_that_differ(const QuotaUse& use, std::span<const BorrowRecord> records, std::vector<LedgerFlaw>& flaws) {
  for (std::size_t r = 0; r < use.resources().size(); ++r) {
    if (!use.is_governed(r)) continue;
    const QuotaResource& resource = use.resources()[r];
    for (std::size_t q = 0; q < use.queue_count(); ++q) {
      std::int64_t borrowed = 0;
      std::int64_t lent = 0;
      for (const BorrowRecord& record : records) {
        if (record.resource != resource.name) continue;
        if (record.borrower == use.queues()[q].id) borrowed += record.amount;
        if (record.lender == use.queues()[q].id) lent += record.amount;
      }
      const std::string object = fmt::format("queue {} {}", use.queues()[q].name, resource.name);
      const auto print = [&](std::int64_t amount) { return print_amount(resource.kind, amount); };
      if (borrowed != use.over(q, r)) {
        flaws.push_back({object, fmt::format("it uses {} above its own quota, the ledger says {}",
                                             print(use.over(q, r)), print(borrowed))});
      }
      if (lent > use.idle(q, r)) {
        flaws.push_back(
            {object, fmt::format("it lends {}, idle of its own quota is {}", print(lent), print(use.idle(q, r)))});
      }
    }
  }
  for (const BorrowRecord& record : records) {
    const auto resource = std::ranges::find(use.resources(), record.resource, &QuotaResource::name);
    if (resource == use.resources().end() ||
        !use.is_governed(static_cast<std::size_t>(resource - use.resources().begin()))) {
      flaws.push_back({fmt::format("borrowing of {}", record.resource), "nobody has a quota of it"});
    }
  }
}

Status find_standings_that_differ(Database& db, const QuotaUse& use, std::span<const Standing> standings,
                                  std::vector<LedgerFlaw>& flaws) {
  BERTH_ASSIGN(Statement row,
               db.prepare("SELECT quota, coalesce(limit_amount, ?3), coalesce(borrow_limit, ?3), coalesce(lend_limit, "
                          "?3), coalesce(weight, -1), allocated, borrowed, lent, loaned_in, loaned_out FROM standings "
                          "WHERE queue_id = ?1 AND resource = ?2"));
  for (const Standing& each : standings) {
    const Queue& queue = use.queues()[static_cast<std::size_t>(each.queue)];
    const std::string& resource = use.resources()[static_cast<std::size_t>(each.resource)].name;
    const bool same = row.with(queue.id, resource, kNoLimit).next() && row.integer(0) == each.quota &&
                      row.integer(1) == each.terms.limit && row.integer(2) == each.terms.borrow_limit &&
                      row.integer(3) == each.terms.lend_limit && row.real(4) == each.terms.weight &&
                      row.integer(5) == each.allocated && row.integer(6) == each.borrowed &&
                      row.integer(7) == each.lent && row.integer(8) == each.loaned_in &&
                      row.integer(9) == each.loaned_out;
    BERTH_TRY(row.status());
    if (!same)
      flaws.push_back({fmt::format("queue {} {}", queue.name, resource), "its row of standings is out of date"});
  }
  return {};
}

}  // namespace

Status refresh_borrowing(Database& db, Seconds now) {
  BERTH_ASSIGN(const bool anything, has_anything_owned(db));
  BERTH_ASSIGN(const QueueUseRows held, read_use(db));
  BERTH_ASSIGN(const QuotaUse use, QuotaUse::make(db, now, held));
  if (!anything) return keep_accounts(db, now, use, held, {});
  BERTH_ASSIGN(const std::vector<BorrowRecord> so_far, read_borrow_records(db));
  BERTH_ASSIGN(const std::vector<BorrowRecord> records, settle_borrowing(db, use, so_far, now));
  BERTH_TRY(write_borrow_records(db, so_far, records));
  BERTH_TRY(write_standings(db, use, work_out_standings(use, records)));
  BERTH_TRY(keep_accounts(db, now, use, held, lendings_of(use, records)));
  BERTH_ASSIGN(Statement moment, db.prepare("INSERT INTO meta VALUES ('borrowing_at', ?1) ON CONFLICT DO UPDATE SET "
                                            "value = ?1"));
  return moment.run(now);
}

namespace {

// On which a quota or loan began or ended since the ledger was last written, before now.
Result<std::vector<Seconds>> dates_to_pass(Database& db, Seconds now) {
  std::vector<Seconds> dates;
  BERTH_ASSIGN(Statement rows,
               db.prepare("WITH last (at) AS (SELECT value FROM meta WHERE key = 'borrowing_at') "
                          "SELECT valid_from FROM last JOIN quotas ON valid_from > at AND valid_from < ?1 UNION "
                          "SELECT valid_to FROM last JOIN quotas ON valid_to > at AND valid_to < ?1 UNION "
                          "SELECT valid_from FROM last JOIN loans ON state = 'open' AND valid_from > at AND "
                          "valid_from < ?1 UNION "
                          "SELECT valid_to FROM last JOIN loans ON state = 'open' AND valid_to > at AND valid_to < "
                          "?1 ORDER BY 1"));
  rows.with(now);
  while (rows.next()) dates.push_back(rows.quantity<Seconds>(0));
  BERTH_TRY(rows.status());
  return dates;
}

}  // namespace

Status pass_dates(Database& db, Seconds now) {
  BERTH_ASSIGN(const std::vector<Seconds> dates, dates_to_pass(db, now));
  for (const Seconds date : dates) BERTH_TRY(refresh_borrowing(db, date));
  return {};
}

Status pass_dates_to_read(Database& db, Seconds now) {
  BERTH_ASSIGN(const std::vector<Seconds> dates, dates_to_pass(db, now));
  if (dates.empty()) return {};
  BERTH_ASSIGN(const std::int64_t patience_ms, db.integer("PRAGMA busy_timeout"));
  db.set_busy_timeout(0);
  Result<Transaction> begun = Transaction::begin_write(db);
  db.set_busy_timeout(static_cast<int>(patience_ms));
  if (!begun.ok()) return {};
  Transaction transaction = *std::move(begun);
  set_history_time(db, now);
  BERTH_TRY(pass_dates(db, now));
  return transaction.commit();
}

Result<std::vector<LedgerFlaw>> check_borrowing(Database& db) {
  std::vector<LedgerFlaw> flaws;
  BERTH_TRY(find_use_that_differs(db, flaws));
  BERTH_ASSIGN(const bool anything, has_anything_owned(db));
  BERTH_ASSIGN(const QueueUseRows held, count_use(db));
  const auto add_accounts = [&](const QuotaUse& use, std::span<const Lending> ledger) -> Status {
    BERTH_ASSIGN(const std::vector<std::string> wrong, find_accounts_that_differ(db, use, held, ledger));
    for (const std::string& account : wrong) flaws.push_back({account, "it is not what the queue has and uses"});
    return {};
  };
  if (!anything) {
    BERTH_ASSIGN(const QuotaUse unowned, QuotaUse::make(db, Seconds(0), held));
    BERTH_TRY(add_accounts(unowned, {}));
    return flaws;
  }
  BERTH_ASSIGN(Statement moment, db.prepare("SELECT value FROM meta WHERE key = 'borrowing_at'"));
  if (!moment.next()) {
    BERTH_TRY(moment.status());
    flaws.push_back({"borrow ledger", "it was never written, though there are quotas"});
    return flaws;
  }
  const Seconds at = moment.quantity<Seconds>(0);
  BERTH_ASSIGN(const QuotaUse use, QuotaUse::make(db, at, held));
  BERTH_ASSIGN(const std::vector<BorrowRecord> records, read_borrow_records(db));
  BERTH_TRY(add_accounts(use, lendings_of(use, records)));
  find_sums_that_differ(use, records, flaws);
  BERTH_TRY(find_standings_that_differ(db, use, work_out_standings(use, records), flaws));
  return flaws;
}

}  // namespace berth
