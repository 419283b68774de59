#include "engine/store/loan_records.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/text.h"
#include "engine/model/quota_ledger.h"
#include "engine/store/load_quotas.h"
#include "engine/store/names.h"
#include "engine/store/resource_names.h"

namespace berth {

namespace {

// Whether `queue` lies below `above` or is it.
bool lies_below(const std::vector<Queue>& queues, std::int32_t queue, std::int32_t above) {
  for (; queue >= 0; queue = queues[static_cast<std::size_t>(queue)].parent) {
    if (queue == above) return true;
  }
  return false;
}

bool in_one_branch(const std::vector<Queue>& queues, std::int32_t a, std::int32_t b) {
  return lies_below(queues, a, b) || lies_below(queues, b, a);
}

Status check_loan_dates(const LoanRequest& request, Seconds from, Seconds now) {
  if (request.return_grace < Seconds(0))
    return Status(Code::kInvalid, "a return grace must not be negative").about("grace");
  if (!request.until) return {};
  if (*request.until <= now) {
    return Status(Code::kInvalid, fmt::format("a loan until {} is over", print_time(*request.until))).about("until");
  }
  if (*request.until <= from) {
    return Status(Code::kInvalid, fmt::format("a loan that starts at {} cannot end at {}", print_time(from),
                                              print_time(*request.until)))
        .about("until");
  }
  return {};
}

// What a queue has left to lend of a resource: its quota without that of the queues below, less what it has lent.
Result<std::int64_t> owned_quota(Database& db, std::int64_t queue, const std::string& resource, Seconds moment) {
  BERTH_ASSIGN(QuotaState state, load_quotas(db, moment));
  const auto found = std::ranges::find(state.quotas.resources, resource, &QuotaResource::name);
  if (found == state.quotas.resources.end()) return std::int64_t{0};
  const auto r = static_cast<std::size_t>(found - state.quotas.resources.begin());
  const std::int32_t owner = queue_index(state.queues, queue);
  std::int64_t owned = 0;
  for (const LoanTerms& loan : state.quotas.loans) {
    if (static_cast<std::size_t>(loan.resource) != r) continue;
    if (loan.lender == owner) owned -= loan.amount;
    if (loan.borrower == owner) owned += loan.amount;
  }
  state.quotas.loans.clear();
  const Cluster no_cluster;  // quotas alone: no capacity is asked for
  const QuotaLedger ledger(no_cluster, state.queues, state.quotas, moment);
  owned += ledger.quota(owner, r);
  for (std::size_t q = 0; q < state.queues.size(); ++q) {
    if (state.queues[q].parent == owner) owned -= ledger.quota(static_cast<std::int32_t>(q), r);
  }
  return std::max<std::int64_t>(0, owned);
}

// The least that the lender owns itself at any moment of the loan must cover it.
Status check_owned(Database& db, const LoanRequest& request, std::int64_t lender, const QuotaResource& resource,
                   Seconds from, Seconds now) {
  const auto look_at = [&](Seconds moment) -> Status {
    BERTH_ASSIGN(const std::int64_t owned, owned_quota(db, lender, resource.name, moment));
    if (owned >= request.amount) return {};
    return Status(Code::kConflict,
                  fmt::format("queue '{}' owns {} {}{} that it has not lent, the loan is of {}", request.lender,
                              print_amount(resource.kind, owned), resource.name,
                              moment == now ? "" : " at " + print_time(moment),
                              print_amount(resource.kind, request.amount)),
                  "a loan is of quota that the lender itself has: ALTER QUEUE ... SET QUOTA")
        .about("amount");
  };
  BERTH_TRY(look_at(from));
  BERTH_ASSIGN(
      Statement moments,
      db.prepare("SELECT moment FROM (SELECT valid_from AS moment FROM quotas UNION SELECT valid_to FROM quotas "
                 "UNION SELECT valid_from FROM loans WHERE state = 'open' UNION SELECT valid_to FROM loans "
                 "WHERE state = 'open') WHERE moment > ?1 AND (?2 IS NULL OR moment < ?2) ORDER BY moment"));
  moments.with(from, request.until);
  while (moments.next()) BERTH_TRY(look_at(moments.quantity<Seconds>(0)));
  return moments.status();
}

}  // namespace

Result<std::int64_t> add_loan(Change& change, const LoanRequest& request) {
  Database& db = change.db();
  BERTH_ASSIGN(const std::int64_t lender, find_id(db, Thing::kQueue, request.lender));
  BERTH_ASSIGN(const std::int64_t borrower, find_id(db, Thing::kQueue, request.borrower));
  BERTH_ASSIGN(const ResourceNames names, ResourceNames::read(db));
  BERTH_ASSIGN(const QuotaResource resource, names.find(request.resource));
  if (request.amount <= 0) return Status(Code::kInvalid, "a loan is of an amount above 0").about("amount");
  BERTH_ASSIGN(const QuotaState state, load_quotas(db, change.now()));
  if (lender == borrower) return Status(Code::kInvalid, "a queue cannot lend to itself");
  if (in_one_branch(state.queues, queue_index(state.queues, lender), queue_index(state.queues, borrower))) {
    return Status(Code::kInvalid,
                  fmt::format("one of '{}' and '{}' lies below the other: they share their quota already",
                              request.lender, request.borrower));
  }
  const Seconds from = request.from.value_or(change.now());
  BERTH_TRY(check_loan_dates(request, from, change.now()));
  BERTH_TRY(check_owned(db, request, lender, resource, from, change.now()));
  BERTH_ASSIGN(Statement insert, db.prepare("INSERT INTO loans (lender_id, borrower_id, resource, amount, valid_from, "
                                            "valid_to, return_grace_s) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"));
  BERTH_TRY(insert.run(lender, borrower, resource.name, request.amount, from, request.until, request.return_grace));
  const std::int64_t id = db.last_row_id();
  change.use_changed();
  BERTH_TRY(change.record(
      "create loan", std::to_string(id),
      fmt::format("{} {} from {} to {}{}", print_amount(resource.kind, request.amount), resource.name, request.lender,
                  request.borrower, request.until ? " until " + print_time(*request.until) : "")));
  return id;
}

Result<std::string> return_loan(Change& change, std::int64_t loan) {
  Database& db = change.db();
  BERTH_ASSIGN(Statement row, db.prepare("SELECT state, valid_from, valid_to, resource FROM loans WHERE id = ?1"));
  if (!row.with(loan).next()) {
    BERTH_TRY(row.status());
    return Status(Code::kNotFound, fmt::format("no loan {}", loan), "SHOW LOANS lists them");
  }
  if (row.text(0) == "returned" || (!row.is_null(2) && row.quantity<Seconds>(2) <= change.now())) {
    return Status(Code::kConflict, fmt::format("loan {} ended at {}", loan, print_time(row.quantity<Seconds>(2))));
  }
  const Seconds end = std::max(change.now(), row.quantity<Seconds>(1));
  std::string resource(row.text(3));
  BERTH_ASSIGN(Statement update, db.prepare("UPDATE loans SET state = 'returned', valid_to = ?2 WHERE id = ?1"));
  BERTH_TRY(update.run(loan, end));
  change.use_changed();
  BERTH_TRY(change.record("return loan", std::to_string(loan)));
  return resource;
}

Status end_loans(Change& change) {
  BERTH_ASSIGN(Statement rows, change.db().prepare("UPDATE loans SET state = 'returned' WHERE state = 'open' "
                                                   "AND valid_to <= ?1 RETURNING id"));
  rows.with(change.now());
  std::vector<std::int64_t> ended;
  while (rows.next()) ended.push_back(rows.integer(0));
  BERTH_TRY(rows.status());
  for (const std::int64_t loan : ended) BERTH_TRY(change.record("end loan", std::to_string(loan)));
  return {};
}

Status check_loans_apart(Database& db, Seconds now) {
  BERTH_ASSIGN(const QuotaState state, load_quotas(db, now));
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT id, lender_id, borrower_id FROM loans WHERE state = 'open' "
                                          "AND coalesce(valid_to > ?1, 1) ORDER BY id"));
  rows.with(now);
  while (rows.next()) {
    const std::int32_t lender = queue_index(state.queues, rows.integer(1));
    const std::int32_t borrower = queue_index(state.queues, rows.integer(2));
    if (!in_one_branch(state.queues, lender, borrower)) continue;
    return Status(Code::kConflict,
                  fmt::format("loan {} from '{}' to '{}' would have both ends in one branch", rows.integer(0),
                              state.queues[static_cast<std::size_t>(lender)].name,
                              state.queues[static_cast<std::size_t>(borrower)].name),
                  "RETURN LOAN first");
  }
  return rows.status();
}

}  // namespace berth
