#include "engine/store/assertion_records.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <functional>
#include <iterator>

#include "engine/base/text.h"
#include "engine/store/names.h"
#include "engine/store/settings.h"
#include "engine/store/user_sql.h"

namespace berth {

namespace {

constexpr std::size_t kMostExamples = 3;

Status check_query(Database& db, const std::string& query) {
  const Result<Statement> prepared = db.prepare(query);
  if (!prepared.ok() && prepared.status().subject().value.starts_with("as_of"))
    return Status(Code::kInvalid, "an assertion looks at what a plan would leave: as_of has no place in it");
  if (!prepared.ok()) return prepared.status();
  const Statement& statement = *prepared;
  if (statement.column_count() == 0 || sqlite3_stmt_readonly(statement.handle()) == 0)
    return Status(Code::kInvalid, "an assertion is a query that reads: SELECT ...");
  if (statement.parameter_count() > 0)
    return Status(Code::kInvalid, "an assertion has no parameters: nobody would give them values");
  return {};
}

std::string cell_text(const Statement& row, int column) {
  return row.is_null(column) ? std::string("NULL") : std::string(row.text(column));
}

// Of an assertion that cannot be asked.
Status failure_of(const Assertion& assertion, const Status& failed, std::optional<std::int64_t> budget_ms) {
  const std::string off = fmt::format("ALTER ASSERTION {} OFF; lets rounds go on without it", assertion.name);
  if (!budget_ms)
    return Status(Code::kInvalid, fmt::format("assertion '{}': {}", assertion.name, failed.message()), off);
  return Status(Code::kInvalid,
                fmt::format("assertion '{}' was not answered within {} ms (assertion_budget_ms)", assertion.name,
                            print_count(*budget_ms)),
                off);
}

// The last column, if it says how bad the row is, whose text has the others so far.
void note_number(const Statement& row, int column, ViolationRow& violation) {
  const CellType type = row.type(column);
  if (type != CellType::kInteger && type != CellType::kReal) return;
  violation.has_number = true;
  violation.number = type == CellType::kInteger ? static_cast<long double>(row.integer(column))
                                                : static_cast<long double>(row.real(column));
  violation.what = violation.text;
}

Result<ViolationRows> ask(Database& db, const std::string& query) {
  BERTH_ASSIGN(Statement rows, db.prepare(query));
  ViolationRows violations;
  while (rows.next()) {
    ViolationRow& row = violations.emplace_back();
    const int last = rows.column_count() - 1;
    for (int column = 0; column <= last; ++column) {
      if (column == last && last > 0) note_number(rows, column, row);
      fmt::format_to(std::back_inserter(row.text), "{}{} = {}", column > 0 ? ", " : "", rows.column_name(column),
                     cell_text(rows, column));
    }
    if (!row.has_number) row.what = row.text;
  }
  BERTH_TRY(rows.status());
  std::ranges::stable_sort(violations, std::less<>());
  return violations;
}

}  // namespace

Status add_assertion(Change& change, const std::string& name, const std::string& query, const Asking& asking) {
  BERTH_TRY(check_new_name(change.db(), Thing::kAssertion, name));
  BERTH_TRY(check_query(change.db(), query));
  // Rounds would stand still for one that cannot even be asked now.
  const Status asked = violations_of(change.db(), {.id = 0, .name = name, .query = query}, asking).status();
  if (!asked.ok()) return Status(asked.code(), asked.message());
  BERTH_ASSIGN(Statement insert, change.db().prepare("INSERT INTO assertions (name, query, created_at, created_by) "
                                                     "VALUES (?1, ?2, ?3, ?4)"));
  BERTH_TRY(insert.run(name, query, change.now(), change.actor()));
  return change.record("create assertion", name, query);
}

Status drop_assertion(Change& change, const std::string& name) {
  BERTH_ASSIGN(const std::int64_t id, find_id(change.db(), Thing::kAssertion, name));
  BERTH_ASSIGN(Statement remove, change.db().prepare("DELETE FROM assertions WHERE id = ?1"));
  BERTH_TRY(remove.run(id));
  return change.record("drop assertion", name);
}

Status switch_assertion(Change& change, const std::string& name, bool is_on) {
  BERTH_ASSIGN(const std::int64_t id, find_id(change.db(), Thing::kAssertion, name));
  BERTH_ASSIGN(Statement update, change.db().prepare("UPDATE assertions SET state = ?2 WHERE id = ?1"));
  BERTH_TRY(update.run(id, is_on ? "on" : "off"));
  if (!is_on) {
    BERTH_ASSIGN(Statement forget, change.db().prepare("DELETE FROM assertion_refusals WHERE assertion_id = ?1"));
    BERTH_TRY(forget.run(id));
  }
  return change.record("alter assertion", name, is_on ? "on" : "off");
}

Result<std::vector<Assertion>> list_assertions(Database& db) {
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT id, name, query, state = 'on' FROM assertions ORDER BY id"));
  std::vector<Assertion> assertions;
  while (rows.next())
    assertions.push_back({rows.integer(0), std::string(rows.text(1)), std::string(rows.text(2)), rows.integer(3) != 0});
  BERTH_TRY(rows.status());
  return assertions;
}

Result<ViolationRows> violations_of(Database& db, const Assertion& assertion, const Asking& asking) {
  BERTH_ASSIGN(const Settings settings, read_settings(db));
  const Interruptible interruptible(db, asking.interrupted, std::chrono::milliseconds(settings.assertion_budget_ms));
  const UserSqlLimits limits(db);
  Result<ViolationRows> violations = ask(db, assertion.query);
  const bool is_late = interruptible.has_run_out();
  if (violations.ok() || (violations.status().code() == Code::kInterrupted && !is_late)) return violations;
  if (asking.failed != nullptr) *asking.failed = assertion.name;
  return failure_of(assertion, violations.status(),
                    is_late ? std::optional(settings.assertion_budget_ms) : std::nullopt);
}

ViolationRows new_violations(const ViolationRows& before, const ViolationRows& now) {
  // What is the same excuses itself.
  ViolationRows gone;
  ViolationRows added;
  std::ranges::set_difference(before, now, std::back_inserter(gone), std::less<>());
  std::ranges::set_difference(now, before, std::back_inserter(added), std::less<>());
  // Then the least bad one is excused by the least that was as bad.
  auto old = gone.cbegin();
  std::erase_if(added, [&](const ViolationRow& row) {
    while (old != gone.cend() && *old < row) ++old;
    if (old == gone.cend() || !old->is_about_the_same(row)) return false;
    ++old;
    return true;
  });
  return added;
}

std::string describe(const BrokenAssertion& broken) {
  std::string text = fmt::format("assertion {}: {}", broken.name, join(broken.examples, "; "));
  const std::int64_t more = broken.new_rows - static_cast<std::int64_t>(broken.examples.size());
  if (more > 0) text += fmt::format(" (and {} more)", more);
  return text;
}

Result<AssertionWatch> AssertionWatch::begin(Database& db, const Asking& asking) {
  AssertionWatch nothing;
  nothing.asking_ = asking;
  return nothing.with_new(db);
}

Result<AssertionWatch> AssertionWatch::with_new(Database& db) const {
  AssertionWatch watch = *this;
  BERTH_ASSIGN(const std::vector<Assertion> assertions, list_assertions(db));
  for (const Assertion& assertion : assertions) {
    if (!assertion.is_on || watch.before_.contains(assertion.id)) continue;
    BERTH_ASSIGN(watch.before_[assertion.id], violations_of(db, assertion, asking_));
  }
  return watch;
}

Result<std::vector<BrokenAssertion>> AssertionWatch::broken(Database& db) const {
  std::vector<BrokenAssertion> all;
  BERTH_ASSIGN(const std::vector<Assertion> assertions, list_assertions(db));
  for (const Assertion& assertion : assertions) {
    if (!assertion.is_on) continue;
    BERTH_ASSIGN(const ViolationRows now, violations_of(db, assertion, asking_));
    const auto then = before_.find(assertion.id);
    const ViolationRows added = then == before_.end() ? now : new_violations(then->second, now);
    if (added.empty()) continue;
    BrokenAssertion broken{assertion.id, assertion.name, static_cast<std::int64_t>(added.size()), {}};
    for (const ViolationRow& row : added) {
      if (broken.examples.size() == kMostExamples) break;
      if (broken.examples.empty() || broken.examples.back() != row.text) broken.examples.push_back(row.text);
    }
    all.push_back(std::move(broken));
  }
  return all;
}

}  // namespace berth
