#include "engine/store/assertion_records.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include "engine/base/text.h"
#include "engine/store/names.h"
#include "engine/store/settings.h"

namespace berth {

namespace {

constexpr std::size_t kMostExamples = 3;

Status check_query(Database& db, const std::string& query) {
  const Result<Statement> prepared = db.prepare(query);
  if (!prepared.ok() && prepared.status().message().find("no such table: as_of") != std::string::npos)
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

Result<ViolationRows> ask(Database& db, const std::string& query) {
  BERTH_ASSIGN(Statement rows, db.prepare(query));
  ViolationRows violations;
  while (rows.next()) {
    std::string text;
    for (int column = 0; column < rows.column_count(); ++column) {
      fmt::format_to(std::back_inserter(text), "{}{} = {}", column > 0 ? ", " : "", rows.column_name(column),
                     cell_text(rows, column));
    }
    ++violations[text];
  }
  BERTH_TRY(rows.status());
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
  Result<ViolationRows> violations = ask(db, assertion.query);
  const bool is_late = interruptible.has_run_out();
  if (violations.ok() || (violations.status().code() == Code::kInterrupted && !is_late)) return violations;
  if (asking.failed != nullptr) *asking.failed = assertion.name;
  return failure_of(assertion, violations.status(),
                    is_late ? std::optional(settings.assertion_budget_ms) : std::nullopt);
}

std::string describe(const BrokenAssertion& broken) {
  std::string text = fmt::format("assertion {}: {}", broken.name, join(broken.examples, "; "));
  const std::int64_t more = broken.new_rows - static_cast<std::int64_t>(broken.examples.size());
  if (more > 0) text += fmt::format(" (and {} more)", more);
  return text;
}

Result<AssertionWatch> AssertionWatch::begin(Database& db, const Asking& asking) {
  AssertionWatch watch;
  watch.asking_ = asking;
  BERTH_ASSIGN(const std::vector<Assertion> assertions, list_assertions(db));
  for (const Assertion& assertion : assertions) {
    if (!assertion.is_on) continue;
    BERTH_ASSIGN(watch.before_[assertion.id], violations_of(db, assertion, asking));
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
    BrokenAssertion broken{assertion.id, assertion.name, 0, {}};
    for (const auto& [row, count] : now) {
      std::int64_t more = count;
      if (then != before_.end() && then->second.contains(row)) more -= then->second.at(row);
      if (more <= 0) continue;
      broken.new_rows += more;
      if (broken.examples.size() < kMostExamples) broken.examples.push_back(row);
    }
    if (broken.new_rows > 0) all.push_back(std::move(broken));
  }
  return all;
}

}  // namespace berth
