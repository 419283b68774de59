#include "engine/store/queue_records.h"

#include <fmt/format.h>

#include <cstdlib>
#include <vector>

#include "engine/base/text.h"
#include "engine/store/account_records.h"
#include "engine/store/loan_records.h"
#include "engine/store/names.h"

namespace berth {

namespace {

constexpr Use kLiveJobs = {"SELECT count(*) FROM live_jobs WHERE queue_id = ?1", "live job"};
constexpr Use kQueueJobs[] = {kLiveJobs};

// The id of a queue that may get children; nothing for an empty name.
Result<std::optional<std::int64_t>> find_parent(Database& db, const std::string& name) {
  if (name.empty()) return std::optional<std::int64_t>();
  BERTH_ASSIGN(const std::int64_t id, find_id(db, Thing::kQueue, name));
  BERTH_TRY(check_unused(db, Thing::kQueue, name, id, kQueueJobs).prefixed("only leaves hold jobs"));
  return std::optional(id);
}

// Is `queue` the same as, or above, `start`?
Result<bool> is_ancestor(Database& db, std::int64_t queue, std::int64_t start) {
  BERTH_ASSIGN(Statement row,
               db.prepare("WITH RECURSIVE above (id) AS (SELECT ?2 UNION SELECT q.parent_id FROM above a JOIN queues q "
                          "ON q.id = a.id WHERE q.parent_id IS NOT NULL) SELECT 1 FROM above WHERE id = ?1"));
  const bool found = row.with(queue, start).next();
  BERTH_TRY(row.status());
  return found;
}

Status check_priority(std::int64_t value) {
  if (value >= -kMostPriority && value <= kMostPriority) return {};
  return Status(Code::kInvalid,
                fmt::format("a priority lies between -{0} and {0}, not {1}", print_count(kMostPriority), value));
}

}  // namespace

Status add_queue(Change& change, const QueueRequest& request) {
  Database& db = change.db();
  BERTH_TRY(check_new_name(db, Thing::kQueue, request.name));
  BERTH_ASSIGN(const std::optional<std::int64_t> parent, find_parent(db, request.parent));
  BERTH_ASSIGN(Statement insert, db.prepare("INSERT INTO queues (name, parent_id) VALUES (?1, ?2)"));
  BERTH_TRY(insert.run(request.name, parent));
  change.use_changed();
  return change.record("create queue", request.name, parent ? "in " + request.parent : std::string());
}

Status alter_queue(Change& change, const std::string& name, const QueueAlteration& alteration) {
  Database& db = change.db();
  BERTH_ASSIGN(const std::int64_t id, find_id(db, Thing::kQueue, name));
  std::vector<std::string> fields;
  if (alteration.parent) {
    BERTH_ASSIGN(const std::optional<std::int64_t> parent, find_parent(db, *alteration.parent));
    if (parent) {
      BERTH_ASSIGN(const bool cycle, is_ancestor(db, id, *parent));
      if (cycle) {
        return Status(Code::kConflict, fmt::format("queue '{}' cannot go below '{}': that is itself or lies below it",
                                                   name, *alteration.parent));
      }
    }
    BERTH_ASSIGN(Statement update, db.prepare("UPDATE queues SET parent_id = ?2 WHERE id = ?1"));
    BERTH_TRY(update.run(id, parent));
    BERTH_TRY(check_loans_apart(db, change.now()));
    change.use_changed();
    fields.push_back(parent ? "parent " + *alteration.parent : "no parent");
  }
  if (alteration.name && *alteration.name != name) {
    BERTH_TRY(check_new_name(db, Thing::kQueue, *alteration.name, id));
    BERTH_ASSIGN(Statement update, db.prepare("UPDATE queues SET name = ?2 WHERE id = ?1"));
    BERTH_TRY(update.run(id, *alteration.name));
    BERTH_TRY(rename_account(db, name, *alteration.name));
    fields.push_back("renamed to " + *alteration.name);
  }
  return change.record("alter queue", name, join(fields, ", "));
}

Status drop_queue(Change& change, const std::string& name) {
  constexpr Use kUses[] = {
      {"SELECT count(*) FROM queues WHERE parent_id = ?1", "child queue"},
      kLiveJobs,
      {"SELECT count(*) FROM dependencies d JOIN jobs a ON a.id = d.after_id JOIN live_jobs j ON j.id = d.job_id WHERE "
       "a.queue_id = ?1 AND d.state <> 'met'",
       "unmet dependency"},
      {"SELECT count(*) FROM loans WHERE state = 'open' AND ?1 IN (lender_id, borrower_id)", "loan"}};
  BERTH_ASSIGN(const std::int64_t id, find_id(change.db(), Thing::kQueue, name));
  BERTH_TRY(end_loans(change));
  BERTH_TRY(check_unused(change.db(), Thing::kQueue, name, id, kUses));
  // Jobs that have ended go with it, as they do after job_retention; accounts name queues, so they stay.
  BERTH_ASSIGN(Statement past_jobs, change.db().prepare("DELETE FROM jobs WHERE queue_id = ?1"));
  BERTH_TRY(past_jobs.run(id));
  const std::int64_t ended = change.db().changed_rows();
  BERTH_ASSIGN(Statement past_loans, change.db().prepare("DELETE FROM loans WHERE ?1 IN (lender_id, borrower_id)"));
  BERTH_TRY(past_loans.run(id));
  BERTH_ASSIGN(Statement remove, change.db().prepare("DELETE FROM queues WHERE id = ?1"));
  BERTH_TRY(remove.run(id));
  change.use_changed();
  return change.record("drop queue", name,
                       ended > 0 ? fmt::format("with {}", print_counted(ended, "ended job")) : std::string());
}

Status add_priority_class(Change& change, const PriorityClassRequest& request) {
  Database& db = change.db();
  BERTH_TRY(check_new_name(db, Thing::kPriorityClass, request.name));
  BERTH_TRY(check_priority(request.value));
  BERTH_ASSIGN(Statement insert, db.prepare("INSERT INTO priority_classes (name, value) VALUES (?1, ?2)"));
  BERTH_TRY(insert.run(request.name, request.value));
  return change.record("create priority class", request.name, fmt::format("value {}", request.value));
}

Status alter_priority_class(Change& change, const std::string& name, std::int64_t value) {
  BERTH_ASSIGN(const std::int64_t id, find_id(change.db(), Thing::kPriorityClass, name));
  BERTH_TRY(check_priority(value));
  BERTH_ASSIGN(Statement update, change.db().prepare("UPDATE priority_classes SET value = ?2 WHERE id = ?1"));
  BERTH_TRY(update.run(id, value));
  return change.record("alter priority class", name, fmt::format("value {}", value));
}

Status drop_priority_class(Change& change, const std::string& name) {
  constexpr Use kUses[] = {{"SELECT count(*) FROM jobs WHERE priority_class_id = ?1", "job"}};
  BERTH_ASSIGN(const std::int64_t id, find_id(change.db(), Thing::kPriorityClass, name));
  BERTH_TRY(check_unused(change.db(), Thing::kPriorityClass, name, id, kUses));
  BERTH_ASSIGN(Statement remove, change.db().prepare("DELETE FROM priority_classes WHERE id = ?1"));
  BERTH_TRY(remove.run(id));
  return change.record("drop priority class", name);
}

}  // namespace berth
