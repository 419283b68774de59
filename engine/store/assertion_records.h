// Assertions: SQL conditions that no plan may break.
//
// An assertion is a query; each of its rows is a violation. A plan breaks it when, carried out, there are rows that
// were not there before: what is wrong already does not stop everything that has nothing to do with it. Nor does a plan
// break it that makes it less bad: where the last of several columns is a number, it says how bad a row is, and the row
// is no new one if the same row of the other columns stood there with that number or a higher one. Each row that was
// there before excuses one row. Other rows are compared whole. They are asked
// inside the transaction that applies a plan, so what they see is exactly what would be. Nobody else can change
// anything meanwhile, so each has a budget of time. One that fails or does not answer says nothing about the plan: then
// no plan is applied, and the error names it.
#pragma once

#include <atomic>
#include <map>
#include <string>
#include <tuple>
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

// A row of the query. They are ordered by what they are about, then by how bad they are.
struct ViolationRow {
  std::string what;  // "column = value, ..." of all columns, or of all but the last, if that says how bad it is
  bool has_number = false;
  long double number = 0;  // which holds every number of SQLite exactly
  std::string text;        // of all columns

  bool is_about_the_same(const ViolationRow& other) const {
    return what == other.what && has_number == other.has_number;
  }
  bool operator<(const ViolationRow& other) const {
    return std::tie(what, has_number, number) < std::tie(other.what, other.has_number, other.number);
  }
};
// In order; a row that is there twice is there twice.
using ViolationRows = std::vector<ViolationRow>;
// Those of `now` that nothing of `before` excuses.
ViolationRows new_violations(const ViolationRows& before, const ViolationRows& now);
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
  // And those that have been switched on since: what they find now was there before.
  Result<AssertionWatch> with_new(Database& db) const;
  bool watches_anything() const { return !before_.empty(); }
  // Broken since, by assertions that are on now.
  Result<std::vector<BrokenAssertion>> broken(Database& db) const;

 private:
  Asking asking_;
  std::map<std::int64_t, ViolationRows> before_;  // by id of those that were on
};

}  // namespace berth
