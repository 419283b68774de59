// Assertions: SQL conditions that no plan may break.
//
// An assertion is a query; each of its rows is a violation. A plan breaks it when, carried out, there are rows that
// were not there before: what is wrong already does not stop everything that has nothing to do with it. They are asked
// inside the transaction that applies a plan, so what they see is exactly what would be. Nobody else can change
// anything meanwhile, so each has a budget of time. One that fails or does not answer says nothing about the plan: then
// no plan is applied, and the error names it.
#pragma once

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "engine/store/change.h"

namespace berth {

struct Assertion {
  std::int64_t id = 0;
  std::string name;
  std::string query;
  bool is_on = true;
};

// How assertions are asked.
struct Asking {
  const std::atomic<bool>* interrupted = nullptr;  // kInterrupted soon after it turns true
  std::string* failed = nullptr;                   // receives the name of the one that cannot be asked
};

// kInvalid unless it is one query that only reads, has columns, and can be answered now; kExists.
Status add_assertion(Change& change, const std::string& name, const std::string& query, const Asking& asking = {});
Status drop_assertion(Change& change, const std::string& name);
Status switch_assertion(Change& change, const std::string& name, bool is_on);
Result<std::vector<Assertion>> list_assertions(Database& db);

// Rows of the query now, each as "column = value, ...": a row that is there twice is there twice.
using ViolationRows = std::map<std::string, std::int64_t>;
// kInvalid naming it when its query fails or takes longer than the setting assertion_budget_ms.
Result<ViolationRows> violations_of(Database& db, const Assertion& assertion, const Asking& asking = {});

struct BrokenAssertion {
  std::int64_t id = 0;
  std::string name;
  std::int64_t new_rows = 0;
  std::vector<std::string> examples;  // the first few of them

  bool operator==(const BrokenAssertion&) const = default;
};
// "assertion one_rack: rack = r1, jobs = 3 (and 2 more)"
std::string describe(const BrokenAssertion& broken);

// What was violated before, to tell what a plan adds.
class AssertionWatch {
 public:
  // Of those that are on. Errors are those of violations_of(). What `asking` names must outlive the watch.
  static Result<AssertionWatch> begin(Database& db, const Asking& asking = {});
  bool watches_anything() const { return !before_.empty(); }
  // Broken since, by assertions that are on now.
  Result<std::vector<BrokenAssertion>> broken(Database& db) const;

 private:
  Asking asking_;
  std::map<std::int64_t, ViolationRows> before_;  // by id of those that were on
};

}  // namespace berth
