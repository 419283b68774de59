// Assertions: CREATE, ALTER, DROP, SHOW, TEST.
#include <algorithm>

#include "engine/store/assertion_records.h"
#include "shell/cmd_support.h"
#include "shell/families.h"

namespace berth {

namespace {

constexpr std::string_view kSelect = "SELECT ";

// What SQLite points at in the query is further on in the statement.
Status blame_query(Status status, Span query) {
  if (!status.span()) return blame(std::move(status), query);
  Span word = *status.span();
  word.offset = query.offset + std::max(word.offset, kSelect.size()) - kSelect.size();
  return Status(status.code(), status.message(), status.hint()).at(word);
}

Result<Output> create_assertion(Session& session, const Arguments& arguments) {
  const std::string& name = arguments.text("name");
  const std::string query = std::string(kSelect) + arguments.text("query");
  return change_with_note(session, fmt::format("assertion {} created", name), [&](Change& change) -> Status {
    const Status added = add_assertion(change, name, query, {.interrupted = session.interrupt});
    if (added.code() == Code::kExists) return blame(added, arguments.span("name"));
    return blame_query(with_nearest_name(added, session), arguments.span("query"));
  });
}

Result<Output> alter_assertion(Session& session, const Arguments& arguments) {
  const bool is_on = arguments.has_word("ON");
  return change_with_note(session, fmt::format("assertion {} is {}", arguments.text("assertion"), is_on ? "on" : "off"),
                          [&](Change& change) {
                            return blame(switch_assertion(change, arguments.text("assertion"), is_on),
                                         arguments.span("assertion"));
                          });
}

Result<Output> drop_assertion_statement(Session& session, const Arguments& arguments) {
  return change_with_note(
      session, fmt::format("assertion {} dropped", arguments.text("assertion")), [&](Change& change) {
        return blame(drop_assertion(change, arguments.text("assertion")), arguments.span("assertion"));
      });
}

// Rows of its query now; -1 = it cannot be asked, with why.
Result<Output> show_assertions(Session& session, const Arguments&) {
  Database& db = engine_of(session).db();
  BERTH_ASSIGN(const std::vector<Assertion> assertions, list_assertions(db));
  Output output;
  ResultTable table{.title = "assertions",
                    .columns = {{"assertion"}, {"state"}, {"violations"}, {.name = "query", .wrap = true}},
                    .rows = {}};
  for (const Assertion& each : assertions) {
    const Result<ViolationRows> rows = violations_of(db, each, {.interrupted = session.interrupt});
    if (rows.status().code() == Code::kInterrupted) return rows.status();
    const std::int64_t count = rows.ok() ? static_cast<std::int64_t>(rows->size()) : 0;
    if (!rows.ok()) output.add_note(rows.status().message());
    const bool is_wrong = each.is_on && (!rows.ok() || count > 0);
    output.findings |= is_wrong;
    table.rows.push_back({each.name, std::string(each.is_on ? "on" : "off"),
                          rows.ok() ? Cell(count) : Cell(std::monostate()), each.query});
  }
  output.add(std::move(table));
  return output;
}

constexpr std::string_view kAssertionFamily = "assertions";

constexpr CommandRow kAssertionRows[] = {
    {.family = kAssertionFamily,
     .syntax = "CREATE ASSERTION <name:new_name> AS SELECT <query:sql>",
     .effect = Effect::kChanges,
     .handler = create_assertion,
     .summary = "Says in SQL what no plan may bring about: every row of the query is a violation.",
     .example = "CREATE ASSERTION ads_borrows_little AS SELECT queue, borrowed FROM queue_standing WHERE queue = 'ads' "
                "AND resource = 'gpu' AND borrowed > 4000",
     .details =
         "Asked on what a plan would leave, before it is committed. A plan breaks it by rows that were not there "
         "before. A job whose start would do that is tried on other nodes, and held back if that does not help; the "
         "rest of the round is done, and the exit code "
         "is 4; PLAN shows that round, APPLY PLAN carries it out, EXPLAIN JOB and the events say what held a job back. "
         "Where others are to stop for a job first, it is asked whether the job may then start, before they are told. "
         "A job held back is tried in every later round; for reservation_ttl no room is made or kept for it. "
         "A round is refused as a whole if it breaks the assertion without any job, and with SET assertion_action = "
         "refuse. Of several columns the last one, if it is a number, says how bad a row is (count(*) AS jobs): "
         "a row whose other columns stood there before with that number or a higher one is no new one, so what is "
         "wrong may become less bad. Other rows are compared whole: a row whose values change is a new one. What may "
         "change without harm does not belong among the columns. One that fails, or takes longer than the setting "
         "assertion_budget_ms, stops rounds, with an error."},
    {.family = kAssertionFamily,
     .syntax = "ALTER ASSERTION <assertion:assertion> {ON | OFF}",
     .effect = Effect::kChanges,
     .handler = alter_assertion,
     .summary = "Switches an assertion off, or on again.",
     .example = "ALTER ASSERTION ads_borrows_little OFF"},
    {.family = kAssertionFamily,
     .syntax = "DROP ASSERTION <assertion:assertion>",
     .effect = Effect::kChanges,
     .handler = drop_assertion_statement,
     .summary = "Removes an assertion.",
     .example = "DROP ASSERTION ads_borrows_little",
     .ask = ask_always},
    {.family = kAssertionFamily,
     .syntax = "SHOW ASSERTIONS",
     .effect = Effect::kReads,
     .handler = show_assertions,
     .summary = "Assertions, and how many rows violate them now; exit code 4 when some do.",
     .example = "SHOW ASSERTIONS"},
};

}  // namespace

void add_broken(const std::vector<BrokenAssertion>& broken, Output& output) {
  if (broken.empty()) return;
  ResultTable table{
      .title = "assertions", .columns = {{"assertion"}, {"violations"}, {.name = "example", .wrap = true}}, .rows = {}};
  for (const BrokenAssertion& each : broken) {
    table.rows.push_back({each.name, each.new_rows, each.examples.front()});
    output.add_note("would break " + describe(each));
  }
  output.add(std::move(table), Audience::kPrograms);
  output.findings = true;
}

void add_held_back(std::span<const HeldBackJob> seen, std::span<const AssertionHold> holds,
                   const std::function<std::string(std::int64_t)>& name_of_job, Output& output) {
  constexpr std::size_t kMostNamed = 5;
  if (seen.empty()) return;
  ResultTable table{
      .title = "held_back",
      .columns =
          {{"job"}, {"assertion"}, {"violations"}, {.name = "example", .wrap = true}, {"like_job"}, {"only_surplus"}},
      .rows = {}};
  for (const HeldBackJob& each : seen) {
    const std::string job = name_of_job(each.job);
    table.rows.push_back({job, each.broken.name, each.broken.new_rows, each.broken.examples.front(), std::monostate(),
                          std::string(each.only_surplus ? "yes" : "no")});
    if (table.rows.size() <= kMostNamed)
      output.add_note(fmt::format(
          "{} {} {}", job, each.only_surplus ? "gets only the tasks it needs; more would break" : "is held back by",
          describe(each.broken)));
  }
  std::int64_t untried = 0;
  for (const AssertionHold& hold : holds) {
    if (hold.like_job == 0) continue;
    ++untried;
    const auto like = std::ranges::find(seen, hold.like_job, &HeldBackJob::job);
    table.rows.push_back({name_of_job(hold.job), like == seen.end() ? Cell(std::monostate()) : Cell(like->broken.name),
                          std::monostate(), std::monostate(), name_of_job(hold.like_job), std::string("no")});
  }
  if (seen.size() > kMostNamed) output.add_note(fmt::format("and {} more are", seen.size() - kMostNamed));
  if (untried > 0) output.add_note(fmt::format("with them {} like them, untried", counted(untried, "job")));
  output.add(std::move(table), Audience::kPrograms);
  output.findings = true;
}

std::span<const CommandRow> assertion_commands() { return kAssertionRows; }

}  // namespace berth
