// Loans of quota, and who uses whose quota: CREATE LOAN, RETURN LOAN, SHOW LOANS, SHOW BORROWING.
#include "engine/runtime/loan_outlook.h"
#include "engine/store/loan_records.h"
#include "engine/store/names.h"
#include "engine/store/resource_names.h"
#include "shell/families.h"
#include "shell/quota_warnings.h"

namespace berth {

namespace {

Result<LoanRequest> read_loan(Database& db, const Arguments& arguments) {
  LoanRequest request{.lender = arguments.text("lender"), .borrower = arguments.text("borrower")};
  BERTH_ASSIGN(const ResourceNames names, ResourceNames::read(db));
  Result<QuotaResource> resource = names.find(arguments.text("resource"));
  if (!resource.ok()) return blame(std::move(resource).status(), arguments.span("resource"));
  request.resource = resource->name;
  Result<std::int64_t> amount = read_amount(resource->kind, arguments.text("amount"));
  if (!amount.ok()) return blame(std::move(amount).status(), arguments.span("amount"));
  request.amount = *amount;
  if (arguments.has("from")) request.from = arguments.time("from");
  if (arguments.has("until")) request.until = arguments.time("until");
  if (arguments.has("grace")) request.return_grace = arguments.duration("grace");
  return request;
}

Result<Output> create_loan(Session& session, const Arguments& arguments) {
  std::int64_t id = 0;
  const Result<std::int64_t> version = engine_of(session).change([&](Change& change) -> Status {
    BERTH_ASSIGN(const LoanRequest request, read_loan(change.db(), arguments));
    Result<std::int64_t> loan = add_loan(change, request);
    if (!loan.ok()) {
      return arguments.point(std::move(loan).status(), "borrower");
    }
    id = *loan;
    return {};
  });
  if (!version.ok()) return version.status();
  return Output::note(fmt::format("loan {} created", id));
}

Result<Output> return_loan_statement(Session& session, const Arguments& arguments) {
  using Resources = std::vector<std::string>;
  const std::string note = fmt::format("loan {} returned", arguments.text("loan"));
  return change_quotas(session, note, [&](Change& change) -> Result<Resources> {
    const Result<std::int64_t> id = read_integer(arguments.text("loan"));
    if (!id.ok()) {
      return arguments.fail("loan", Code::kInvalid, fmt::format("'{}' is not a loan number", arguments.text("loan")),
                            "SHOW LOANS lists them");
    }
    Result<std::string> resource = return_loan(change, *id);
    if (!resource.ok()) return blame(std::move(resource).status(), arguments.span("loan"));
    return Resources{*std::move(resource)};
  });
}

// Replaces the amounts of a table by what people read; the column before has their resource.
Status print_amounts(Session& session, ResultTable& table, std::size_t amount_column) {
  BERTH_ASSIGN(const ResourceNames names, ResourceNames::read(engine_of(session).db()));
  for (std::vector<Cell>& row : table.rows) {
    const ResourceKind kind = names.stored(std::get<std::string>(row[amount_column - 1])).kind;
    row[amount_column] = print_amount(kind, std::get<std::int64_t>(row[amount_column]));
  }
  table.columns[amount_column].align = Align::kRight;
  return {};
}

// Who is to stop for which loan, as things are now, and what nobody can be stopped for.
Status add_returns(Session& session, Output& output) {
  BERTH_ASSIGN(const std::vector<LoanOutlook> loans, loan_outlook(engine_of(session)));
  ResultTable table{.title = "returns",
                    .columns = {{"loan"},
                                {"job"},
                                {"queue"},
                                {"gives_up"},
                                {"stops_at"},
                                {"told"},
                                {.name = "gpu_hours_lost", .decimals = 2}},
                    .rows = {}};
  for (const LoanOutlook& each : loans) {
    for (const LoanOutlook::Stop& stop : each.stops) {
      table.rows.push_back(
          {each.loan, stop.job, stop.queue, stop.tasks == 0 ? std::string("all") : counted(stop.tasks, "task"),
           print_time(stop.stop_at), std::string(stop.was_told ? "yes" : "no"), gpu_hours_of(stop.lost)});
    }
    if (!each.missing.empty()) {
      output.add_note(fmt::format("loan {}: {} will still be in use at its end by jobs that cannot be stopped for it",
                                  each.loan, each.missing));
    }
  }
  const Audience audience = table.rows.empty() ? Audience::kPrograms : Audience::kEveryone;
  output.add(std::move(table), audience);
  return {};
}

Result<Output> show_loans(Session& session, const Arguments& arguments) {
  BERTH_ASSIGN(
      ResultTable table,
      query_table(session,
                  "SELECT l.id AS loan, o.name AS lender, b.name AS borrower, l.resource, l.amount, "
                  "datetime(l.valid_from, 'unixepoch') AS starts, datetime(l.valid_to, 'unixepoch') AS ends, "
                  "iif(l.return_grace_s > 0, datetime(l.valid_to - l.return_grace_s, 'unixepoch'), NULL) AS "
                  "return_begins, "
                  "CASE WHEN l.state = 'returned' OR l.valid_to <= ?1 THEN 'over' WHEN l.valid_from > ?1 THEN "
                  "'to come' ELSE 'holds' END AS state FROM loans l JOIN queues o ON o.id = l.lender_id "
                  "JOIN queues b ON b.id = l.borrower_id WHERE ?2 OR (l.state = 'open' AND coalesce(l.valid_to > ?1, "
                  "1)) ORDER BY l.id",
                  engine_of(session).now(), arguments.has_word("ALL")));
  constexpr std::size_t kAmount = 4;
  BERTH_TRY(print_amounts(session, table, kAmount));
  Output output;
  output.add(table, Audience::kPeople);
  table.title = "loans";
  output.add(std::move(table), Audience::kPrograms);
  BERTH_TRY(add_returns(session, output));
  return output;
}

Result<Output> show_borrowing(Session& session, const Arguments& arguments) {
  (void)arguments;
  const Seconds now = engine_of(session).now();
  BERTH_ASSIGN(
      ResultTable table,
      query_table(session,
                  "SELECT borrower, lender, resource, amount, datetime(since, 'unixepoch') AS since, ?1 - "
                  "max(since, 0) AS lasts FROM borrowing ORDER BY resource, borrower_id, lender_id IS NULL, lender_id",
                  now));
  constexpr std::size_t kAmount = 3;
  constexpr std::size_t kLasts = 5;
  BERTH_TRY(print_amounts(session, table, kAmount));
  for (std::vector<Cell>& row : table.rows) {
    row[kLasts] = print_duration(Seconds(std::get<std::int64_t>(row[kLasts])));
  }
  Output output;
  if (table.rows.empty()) output.add_note("no queue uses more than its quota");
  output.add(std::move(table));
  return output;
}

constexpr std::string_view kLoanFamily = "quotas";

constexpr CommandRow kLoanRows[] = {
    {.family = kLoanFamily,
     .syntax = "CREATE LOAN <amount:amount> <resource:resource> FROM <lender:queue> TO <borrower:queue> [UNTIL "
               "<until:time>] [STARTING <from:time>] [RETURN GRACE <grace:duration>]",
     .effect = Effect::kChanges,
     .handler = create_loan,
     .summary = "Lends quota of one queue to another until a date, or until it is returned.",
     .example = "CREATE LOAN 8 A100 FROM ads TO search UNTIL '2099-12-01' RETURN GRACE 2h",
     .details =
         "The lender must own that much all the time, its other loans counted. Both count the loan as their quota; "
         "jobs that would outlast it start only as ones that borrow. In the return grace, the time before the end, "
         "rounds look which waiting jobs of the lender need the quota at the end. They tell jobs of the borrower that "
         "would still run then to stop, no more of them than needed. These stop at the end of the loan; those with "
         "checkpoint_every stop at their last checkpoint before it. Those with checkpoint_grace are signalled so much "
         "earlier, less than one usual interval of rounds before that if need be; until then they work on. Tasks "
         "beyond min_tasks stop at the end itself. SHOW LOANS; says which. Where no job of the lender waits for it, "
         "nobody stops: the borrower runs on, after the end as any queue that uses more than its quota. Jobs that "
         "would start in the grace, borrow and outlast the loan leave the lender its quota, even if none of its jobs "
         "waits. A job of the lender waits for the room that a loan gives back, instead of evicting others, only if it "
         "comes within reservation_ttl. Without a grace the lender takes its quota back when it needs it."},
    {.family = kLoanFamily,
     .syntax = "RETURN LOAN <loan:loan>",
     .effect = Effect::kChanges,
     .handler = return_loan_statement,
     .summary = "Ends a loan now.",
     .example = "RETURN LOAN 3",
     .ask = ask_always},
    {.family = kLoanFamily,
     .syntax = "SHOW [ALL] LOANS",
     .effect = Effect::kReads,
     .handler = show_loans,
     .summary = "Loans that hold or are to come, and which jobs will stop for their return; SHOW ALL LOANS adds "
                "those that are over.",
     .example = "SHOW LOANS",
     .details = "Who is to stop is what a round would decide with the jobs of the lender that wait now, for loans with "
                "a return grace. Nobody waits: nobody is to stop. told: a round has decided it."},
    {.family = kLoanFamily,
     .syntax = "SHOW BORROWING",
     .effect = Effect::kReads,
     .handler = show_borrowing,
     .summary = "Who uses whose idle quota since when; without a lender it is nobody's quota.",
     .example = "SHOW BORROWING",
     .details =
         "As of the last change of use or round. The amounts of a borrower add up to what it uses above its own "
         "quota; loans are in the quotas, not here. Pairs stay together while they can; new ones are the nearest "
         "in the queue tree, within lend limits as long as that goes."},
};

}  // namespace

std::span<const CommandRow> loan_commands() { return kLoanRows; }

}  // namespace berth
