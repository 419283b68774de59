// REPORT CHARGEBACK: what departments owned, borrowed and lent over some days, and what that comes to.
#include <chrono>

#include "engine/store/account_records.h"
#include "engine/store/account_report.h"
#include "engine/store/names.h"
#include "shell/chargeback_page.h"
#include "shell/cmd_support.h"
#include "shell/families.h"
#include "shell/output_file.h"
#include "shell/render.h"

namespace berth {

namespace {

constexpr OptionRow kReportOptions[] = {
    {.name = "replace", .kind = "boolean", .default_value = "false", .sentence = "Overwrite the file when it exists."},
};

std::string print_day(Seconds day) { return print_time(day).substr(0, 10); }

// The first moment of the month that `moment` is in, or of one `months` later.
Seconds month_of(Seconds moment, int months = 0) {
  using namespace std::chrono;
  const year_month_day day(floor<days>(sys_seconds(seconds(moment.value()))));
  const sys_days first = (day.year() / day.month() + std::chrono::months(months)) / 1;
  return Seconds(duration_cast<seconds>(first.time_since_epoch()).count());
}

Result<Seconds> read_day(const Arguments& arguments, std::string_view name) {
  const Seconds time = arguments.time(name);
  if (time.value() % kAccountDay.value() == 0) return time;
  return arguments.fail(name, Code::kInvalid,
                        fmt::format("accounts are of whole days (UTC), {} lies within one", print_time(time)),
                        fmt::format("{} '{}'", name == "from" ? "FROM" : "TO", print_day(time)));
}

Result<AccountQuery> read_period(const Arguments& arguments, Seconds now) {
  AccountQuery query;
  query.now = now;
  if (arguments.has_word("LAST")) {
    query.from = month_of(now, -1);
    query.to = month_of(now);
  } else if (arguments.has_word("THIS")) {
    query.from = month_of(now);
    query.to = month_of(now, 1);
  } else {
    BERTH_ASSIGN(query.from, read_day(arguments, "from"));
    if (query.from > now) {
      return arguments.fail("from", Code::kInvalid, fmt::format("{} is still to come", print_day(query.from)));
    }
    query.to = Seconds(now.value() - now.value() % kAccountDay.value()) + kAccountDay;
    if (arguments.has("to")) {
      BERTH_ASSIGN(query.to, read_day(arguments, "to"));
      if (query.to <= query.from) {
        return arguments.fail("to", Code::kInvalid,
                              fmt::format("{} is not after {}: the day named by TO is not in the report",
                                          print_day(query.to), print_day(query.from)));
      }
    }
  }
  for (const Value& part : arguments.list("parts")) {
    (equals_ignoring_case(part.text, "day") ? query.days : query.models) = AccountParts::kApart;
  }
  return query;
}

// The queue and all below it.
Status read_queues(Session& session, const Arguments& arguments, AccountQuery& query) {
  if (!arguments.has("queue")) return {};
  Database& db = engine_of(session).db();
  BERTH_TRY(blame(find_id(db, Thing::kQueue, arguments.text("queue")).status(), arguments.span("queue")));
  BERTH_ASSIGN(Statement rows,
               db.prepare("WITH RECURSIVE below (id, name) AS (SELECT id, name FROM queues WHERE name = "
                          "?1 UNION SELECT q.id, q.name FROM below b JOIN queues q ON q.parent_id = "
                          "b.id) SELECT name FROM below"));
  rows.with(arguments.text("queue"));
  while (rows.next()) query.queues.emplace_back(rows.text(0));
  return rows.status();
}

// What stands before the amounts of a line.
std::vector<Column> key_columns(const AccountQuery& query) {
  std::vector<Column> columns;
  if (query.days == AccountParts::kApart) columns.push_back({"day"});
  columns.push_back({"queue"});
  if (query.models == AccountParts::kApart) columns.push_back({"device_model"});
  return columns;
}
std::vector<Cell> key_cells(const AccountQuery& query, const AccountLine& line) {
  std::vector<Cell> cells;
  if (query.days == AccountParts::kApart) cells.emplace_back(print_day(line.day));
  cells.emplace_back(line.queue);
  if (query.models == AccountParts::kApart) cells.emplace_back(line.device_model);
  return cells;
}

struct AmountColumn {
  std::string_view name;
  double (*amount)(const AccountSums& sums);
  bool always = true;  // for people too; else where it is not 0
};
constexpr AmountColumn kAmounts[] = {
    {"owned", [](const AccountSums& s) { return gpu_hours_of(s.time.owned); }},
    {"used", [](const AccountSums& s) { return gpu_hours_of(s.used()); }},
    {"used_own", [](const AccountSums& s) { return gpu_hours_of(s.time.used_own); }, false},
    {"borrowed", [](const AccountSums& s) { return gpu_hours_of(s.time.borrowed); }},
    {"unowned", [](const AccountSums& s) { return gpu_hours_of(s.time.unowned); }, false},
    {"lent", [](const AccountSums& s) { return gpu_hours_of(s.time.lent); }},
    {"idle", [](const AccountSums& s) { return gpu_hours_of(s.idle()); }},
    {"loaned_in", [](const AccountSums& s) { return gpu_hours_of(s.time.loaned_in); }, false},
    {"loaned_out", [](const AccountSums& s) { return gpu_hours_of(s.time.loaned_out); }, false},
    {"use_known", [](const AccountSums& s) { return gpu_hours_of(s.use_known); }, false},
    {"unused", [](const AccountSums& s) { return gpu_hours_of(s.unused); }, false},
    {"lost", [](const AccountSums& s) { return gpu_hours_of(s.lost); }, false},
    {"price", [](const AccountSums& s) { return s.price; }},
    {"credit", [](const AccountSums& s) { return s.credit; }},
};

// Left out is what people can work out, or read in a note.
bool people_see(const AmountColumn& column, const AccountSums& all) {
  if (column.name == "used_own" || column.name == "unowned" || column.name == "use_known") return false;
  return column.always || column.amount(all) != 0;
}

ResultTable lines_table(const AccountQuery& query, const AccountReport& report, Audience audience) {
  ResultTable table{.title = "chargeback", .columns = key_columns(query), .rows = {}};
  std::vector<const AmountColumn*> shown;
  for (const AmountColumn& column : kAmounts) {
    if (audience == Audience::kPeople && !people_see(column, report.all)) continue;
    shown.push_back(&column);
    table.columns.push_back({.name = std::string(column.name), .decimals = 2});
  }
  const auto add = [&](std::vector<Cell> row, const AccountSums& sums) {
    for (const AmountColumn* column : shown) row.emplace_back(column->amount(sums));
    table.rows.push_back(std::move(row));
  };
  for (const AccountLine& line : report.lines) add(key_cells(query, line), line.sums);
  if (audience == Audience::kPeople && report.lines.size() > 1) {
    std::vector<Cell> all(table.columns.size() - shown.size());
    all[0] = std::string("all");
    add(std::move(all), report.all);
  }
  return table;
}

ResultTable losses_table(const AccountReport& report) {
  ResultTable table{.title = "lost to evictions",
                    .columns = {{"queue"}, {"for_queue"}, {"rule"}, {"evictions"}, {.name = "lost", .decimals = 2}},
                    .rows = {}};
  for (const AccountLoss& loss : report.losses) {
    table.rows.push_back(
        {loss.queue, text_or_null(loss.beneficiary), loss.rule, loss.evictions, gpu_hours_of(loss.lost)});
  }
  return table;
}

std::vector<std::string> notes_of(const AccountQuery& query, const AccountReport& report) {
  std::vector<std::string> notes;
  if (!report.begin) {
    notes.emplace_back("accounts begin with the next round or change");
    return notes;
  }
  std::string prices = fmt::format("{} for a borrowed GPU-hour", report.usual_price);
  for (const auto& [model, price] : report.prices) prices += fmt::format(", {} of {}", price, model);
  notes.push_back(fmt::format("GPU-hours, {} until {}; price: {}; lenders are credited {} % of it",
                              print_day(query.from), print_time(std::min(query.to, std::max(query.now, query.from))),
                              prices, report.lender_share));
  if (report.all.use_known > 0) {
    notes.push_back(fmt::format("utilisation is known of {:.2f} of {:.2f} used GPU-hours: unused is of those",
                                gpu_hours_of(report.all.use_known), gpu_hours_of(report.all.used())));
  }
  if (*report.begin > query.from) notes.push_back(fmt::format("accounts begin at {}", print_time(*report.begin)));
  return notes;
}

std::string period_title(const AccountQuery& query) {
  return fmt::format("Chargeback {} to {}", print_day(query.from), print_day(query.to - kAccountDay));
}

// The text of the file by the ending of its name.
Result<std::string> file_text(const Session& session, const Arguments& arguments, const AccountQuery& query,
                              const AccountReport& report) {
  std::string_view name = arguments.text("file");
  if (name.ends_with(".gz")) name.remove_suffix(3);
  if (name == "-" || name.ends_with(".csv")) {
    return render_csv(lines_table(query, report, Audience::kPrograms), session.display);
  }
  if (name.ends_with(".json")) return render_json(lines_table(query, report, Audience::kPrograms));
  if (name.ends_with(".html")) {
    return chargeback_page({.title = period_title(query),
                            .table = lines_table(query, report, Audience::kPeople),
                            .lines = report.lines,
                            .losses = losses_table(report),
                            .notes = notes_of(query, report)});
  }
  return arguments.fail("file", Code::kInvalid,
                        fmt::format("'{}' does not say what to write: expected .csv, .json or .html at the end", name));
}

Result<Output> into_file(Session& session, const Arguments& arguments, const AccountQuery& query,
                         const AccountReport& report) {
  BERTH_ASSIGN(std::string text, file_text(session, arguments, query, report));
  Output output;
  const std::string& file = arguments.text("file");
  if (file == "-") {
    output.raw = std::move(text);
    return output;
  }
  BERTH_TRY(blame(check_not_database(file, session.database), arguments.span("file")));
  BERTH_TRY(blame(write_whole_file(file, text, arguments.options().boolean("replace")), arguments.span("file")));
  for (std::string& note : notes_of(query, report)) output.add_note(std::move(note));
  output.add_note(
      fmt::format("{} written to {}", counted(static_cast<std::int64_t>(report.lines.size()), "line"), file));
  return output;
}

Result<Output> report_chargeback(Session& session, const Arguments& arguments) {
  BERTH_ASSIGN(AccountQuery query, read_period(arguments, engine_of(session).now()));
  BERTH_TRY(read_queues(session, arguments, query));
  BERTH_ASSIGN(const AccountReport report, read_accounts(engine_of(session).db(), query));
  if (arguments.has("file")) return into_file(session, arguments, query, report);
  Output output;
  output.add(lines_table(query, report, Audience::kPeople), Audience::kPeople);
  output.add(lines_table(query, report, Audience::kPrograms), Audience::kPrograms);
  if (!report.losses.empty()) output.add(losses_table(report), Audience::kPeople);
  for (std::string& note : notes_of(query, report)) output.add_note(std::move(note));
  return output;
}

constexpr CommandRow kReportRows[] = {
    {.family = "quotas",
     .syntax =
         "REPORT CHARGEBACK {FROM <from:time> [TO <to:time>] | LAST MONTH | THIS MONTH} [BY <parts:day|model>, ...] "
         "[OF QUEUE <queue:queue>] [INTO <file:file>] [WITH (<options>)]",
     .effect = Effect::kReads,
     .handler = report_chargeback,
     .summary =
         "GPU-hours that each queue owned, used, borrowed, lent, left idle and lost, what it pays and is credited.",
     .example = "REPORT CHARGEBACK FROM '2026-11-01' TO '2026-12-01' BY day",
     .options = kReportOptions,
     .details =
         "Whole days (UTC), the one named by TO not among them; days of a month that are to come count until now. "
         "owned = used of it + lent + idle, loans counted; "
         "used = used of the own quota + borrowed; what all borrow is what all lend and what is nobody's (unowned, for "
         "programs). Counted as time passes, by the quotas and loans of that time. "
         "A job that ended between two syncs of its executor holds its room until the second one. "
         "Quotas that overlap (a model, its family, gpu) are owned once, and what runs is "
         "covered by the narrowest first. BY model: what is used or lent counts for the model in use, what is idle or "
         "loaned for what the quota is of. unused: held but not utilised, of runs whose utilisation RECORD USAGE "
         "told (use_known). lost: work that evictions cost. A queue pays for what it borrows and for loans, used or "
         "not, "
         "gpu_hour_price or the price of the device model; where idle quota of several models is on loan, that of the "
         "cheapest. The lender is credited lender_share percent of it. Prices are those of today. OF QUEUE: with the "
         "queues below it. INTO writes .csv, .json or a page .html. SELECT * FROM chargeback has it all by day."},
};

}  // namespace

std::span<const CommandRow> report_commands() { return kReportRows; }

}  // namespace berth
