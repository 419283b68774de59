#include "engine/store/load_quotas.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "engine/base/text.h"
#include "engine/store/resource_names.h"

namespace berth {

namespace {

constexpr Seconds kBudgetWindow{3600};
constexpr std::string_view kOpenLoans = "state = 'open' AND valid_from <= ?1 AND coalesce(?1 < valid_to, 1)";

class QuotaReader {
 public:
  QuotaReader(Database& db, Seconds now) : db_(db), now_(now) {}

  Result<QuotaState> read() {
    BERTH_TRY(read_queues());
    BERTH_TRY(read_lost_work());
    BERTH_TRY(find_resources());
    if (state_.quotas.resources.empty()) return std::move(state_);
    BERTH_ASSIGN(state_.quotas.terms, terms_at(now_));
    BERTH_TRY(read_loans());
    BERTH_TRY(read_ends());
    return std::move(state_);
  }

 private:
  Status read_queues();
  Status check_tree() const;
  Status read_lost_work();
  Status find_resources();
  Result<std::vector<std::vector<QuotaTerms>>> terms_at(Seconds moment);
  Status read_loans();
  Result<std::vector<LoanTerms>> loans_where(std::string_view condition, Seconds moment);
  Status read_ends();

  Database& db_;
  Seconds now_;
  QuotaState state_;
  std::map<std::string, std::int32_t, std::less<>> resource_index_;
};

Status QuotaReader::read_queues() {
  BERTH_ASSIGN(Statement rows, db_.prepare("SELECT id, name, coalesce(parent_id, 0), weight, priority_band, "
                                           "coalesce(eviction_budget_milli * 3600, -1) FROM queues ORDER BY id"));
  std::vector<std::int64_t> parents;
  while (rows.next()) {
    Queue& queue = state_.queues.emplace_back();
    queue.id = rows.integer(0);
    queue.name = rows.text(1);
    queue.weight = rows.real(3);
    queue.priority_band = static_cast<std::int32_t>(rows.integer(4));
    queue.eviction_budget = rows.integer(5);
    parents.push_back(rows.integer(2));
  }
  BERTH_TRY(rows.status());
  for (std::size_t i = 0; i < parents.size(); ++i) state_.queues[i].parent = queue_index(state_.queues, parents[i]);
  return check_tree();
}

// Whoever walks up from a queue relies on it that the walk ends.
Status QuotaReader::check_tree() const {
  std::vector<std::size_t> walk(state_.queues.size(), 0);  // that came by, from 1 on; 0 = none
  for (std::size_t start = 0; start < state_.queues.size(); ++start) {
    for (auto q = static_cast<std::int32_t>(start); q >= 0; q = state_.queues[static_cast<std::size_t>(q)].parent) {
      std::size_t& seen = walk[static_cast<std::size_t>(q)];
      if (seen == start + 1) {
        return Status(Code::kCorrupt,
                      fmt::format("queue '{}' lies below itself", state_.queues[static_cast<std::size_t>(q)].name),
                      "another program wrote that; CHECK names all such queues");
      }
      if (seen != 0) break;
      seen = start + 1;
    }
  }
  return {};
}

Status QuotaReader::read_lost_work() {
  BERTH_ASSIGN(Statement rows, db_.prepare("SELECT victim_queue_id, sum(lost_gpu_milli_s) FROM evictions "
                                           "WHERE time > ?1 AND time <= ?2 GROUP BY victim_queue_id"));
  rows.with(now_ - kBudgetWindow, now_);
  while (rows.next()) {
    const std::int32_t queue = queue_index(state_.queues, rows.integer(0));
    if (queue >= 0) state_.queues[static_cast<std::size_t>(queue)].lost_this_hour = rows.integer(1);
  }
  return rows.status();
}

Status QuotaReader::find_resources() {
  BERTH_ASSIGN(Statement rows, db_.prepare("SELECT resource FROM quotas WHERE coalesce(valid_from <= ?1, 1) "
                                           "AND coalesce(?1 < valid_to, 1) UNION SELECT resource FROM loans "
                                           "WHERE state = 'open' AND valid_from <= ?1 AND coalesce(?1 < valid_to, 1)"));
  rows.with(now_);
  std::vector<std::string> stored;
  while (rows.next()) stored.emplace_back(rows.text(0));
  BERTH_TRY(rows.status());
  if (stored.empty()) return {};
  BERTH_ASSIGN(const ResourceNames names, ResourceNames::read(db_));
  std::vector<QuotaResource>& resources = state_.quotas.resources;
  for (const std::string& name : stored) {
    resources.push_back(names.stored(name));
    resources.back().name = name;  // as rows refer to it
  }
  std::ranges::sort(resources, resource_comes_before);
  for (std::size_t r = 0; r < resources.size(); ++r) {
    resource_index_[resources[r].name] = static_cast<std::int32_t>(r);
  }
  return {};
}

// Of the resources that are governed now.
Result<std::vector<std::vector<QuotaTerms>>> QuotaReader::terms_at(Seconds moment) {
  std::vector<std::vector<QuotaTerms>> all(state_.queues.size(),
                                           std::vector<QuotaTerms>(state_.quotas.resources.size()));
  BERTH_ASSIGN(
      Statement rows,
      db_.prepare("SELECT queue_id, resource, quota, limit_amount, borrow_limit, lend_limit, weight FROM quotas "
                  "WHERE coalesce(valid_from <= ?1, 1) AND coalesce(?1 < valid_to, 1) "
                  "ORDER BY queue_id, resource, coalesce(valid_from, valid_to) IS NOT NULL, valid_from, id"));
  rows.with(moment);
  while (rows.next()) {
    const std::int32_t queue = queue_index(state_.queues, rows.integer(0));
    const auto resource = resource_index_.find(rows.text(1));
    if (queue < 0 || resource == resource_index_.end()) continue;
    QuotaTerms& terms = all[static_cast<std::size_t>(queue)][static_cast<std::size_t>(resource->second)];
    const auto take = [&rows](std::int64_t& amount, int column) {
      if (!rows.is_null(column)) amount = rows.integer(column);
    };
    if (!rows.is_null(2)) terms.has_quota = true;
    take(terms.quota, 2);
    take(terms.limit, 3);
    take(terms.borrow_limit, 4);
    take(terms.lend_limit, 5);
    if (!rows.is_null(6)) terms.weight = rows.real(6);
  }
  BERTH_TRY(rows.status());
  return all;
}

Status QuotaReader::read_loans() {
  BERTH_ASSIGN(state_.quotas.loans, loans_where(kOpenLoans, now_));
  BERTH_ASSIGN(state_.quotas.ended_loans,
               loans_where("valid_from < valid_to AND valid_to <= ?1 AND (valid_to > (SELECT started_at FROM rounds "
                           "WHERE kind = 'schedule' ORDER BY id DESC LIMIT 1) OR id IN (SELECT beneficiary_id FROM "
                           "stopping_jobs WHERE rule = 'loan'))",
                           now_));
  return {};
}

// The ends of open loans until which something else begins or ends, too; and all dates within the longest grace that a
// running job may get: who is evicted for a job may stop as late.
Status QuotaReader::read_ends() {
  BERTH_ASSIGN(
      Statement rows,
      db_.prepare("WITH horizon (moment) AS (SELECT ?1 + 3600 + max(checkpoint_grace_s) FROM jobs WHERE state = "
                  "'running' AND checkpoint_grace_s > 0) "
                  "SELECT l.valid_to FROM loans l WHERE l.state = 'open' AND l.valid_from <= ?1 AND "
                  "l.valid_to > ?1 AND (EXISTS (SELECT 1 FROM quotas q WHERE (q.valid_from > ?1 AND "
                  "q.valid_from <= l.valid_to) OR (q.valid_to > ?1 AND q.valid_to <= l.valid_to)) OR EXISTS "
                  "(SELECT 1 FROM loans o WHERE o.state = 'open' AND o.valid_from > ?1 AND o.valid_from <= "
                  "l.valid_to)) "
                  "UNION SELECT q.valid_from FROM quotas q, horizon h WHERE q.valid_from > ?1 AND q.valid_from <= "
                  "h.moment "
                  "UNION SELECT q.valid_to FROM quotas q, horizon h WHERE q.valid_to > ?1 AND q.valid_to <= h.moment "
                  "UNION SELECT o.valid_from FROM loans o, horizon h WHERE o.state = 'open' AND o.valid_from > ?1 "
                  "AND o.valid_from <= h.moment ORDER BY 1"));
  rows.with(now_);
  while (rows.next()) state_.quotas.at_ends.push_back({rows.quantity<Seconds>(0), {}, {}});
  BERTH_TRY(rows.status());
  for (QuotaAtEnd& end : state_.quotas.at_ends) {
    BERTH_ASSIGN(end.terms, terms_at(end.from));
    BERTH_ASSIGN(end.loans, loans_where(kOpenLoans, end.from));
  }
  return {};
}

Result<std::vector<LoanTerms>> QuotaReader::loans_where(std::string_view condition, Seconds moment) {
  std::vector<LoanTerms> loans;
  BERTH_ASSIGN(Statement rows,
               db_.prepare(fmt::format("SELECT id, lender_id, borrower_id, resource, amount, valid_to, return_grace_s "
                                       "FROM loans WHERE {} ORDER BY id",
                                       condition)));
  rows.with(moment);
  while (rows.next()) {
    LoanTerms loan;
    loan.id = rows.integer(0);
    loan.lender = queue_index(state_.queues, rows.integer(1));
    loan.borrower = queue_index(state_.queues, rows.integer(2));
    const auto resource = resource_index_.find(rows.text(3));
    if (loan.lender < 0 || loan.borrower < 0 || resource == resource_index_.end()) continue;
    loan.resource = resource->second;
    loan.amount = rows.integer(4);
    if (!rows.is_null(5)) loan.until = rows.quantity<Seconds>(5);
    loan.return_grace = rows.quantity<Seconds>(6);
    loans.push_back(loan);
  }
  BERTH_TRY(rows.status());
  return loans;
}

}  // namespace

Result<QuotaState> load_quotas(Database& db, Seconds now) { return QuotaReader(db, now).read(); }

Result<std::vector<std::string>> dates_passed(Database& db, Seconds since, Seconds until) {
  std::vector<std::string> passed;
  if (since >= until) return passed;
  BERTH_ASSIGN(Statement rows,
               db.prepare(fmt::format("WITH {} SELECT what, moment, begins FROM dates WHERE moment > ?1 "
                                      "AND moment <= ?2 ORDER BY moment, what",
                                      kDatesSql)));
  rows.with(since, until);
  while (rows.next()) {
    passed.push_back(fmt::format("{} {} at {}", rows.text(0), rows.integer(2) != 0 ? "began" : "ended",
                                 print_time(rows.quantity<Seconds>(1))));
  }
  BERTH_TRY(rows.status());
  return passed;
}

std::int32_t queue_index(const std::vector<Queue>& queues, std::int64_t id) {
  const auto found = std::ranges::lower_bound(queues, id, {}, &Queue::id);
  return found != queues.end() && found->id == id ? static_cast<std::int32_t>(found - queues.begin()) : -1;
}

}  // namespace berth
