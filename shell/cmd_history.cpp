// DIFF STATE, SHOW HISTORY: the past of the tables.
#include "engine/runtime/object_history.h"
#include "engine/runtime/state_diff.h"
#include "shell/cmd_support.h"
#include "shell/families.h"

namespace berth {

namespace {

Cell cell_of(const TableValue& value) {
  switch (value.index()) {
    case 0: return std::monostate();
    case 1: return std::get<1>(value);
    case 2: return std::get<2>(value);
    default: return print_value(value);
  }
}

// "n1, n2 and 214 more"
std::string first_names(const StateChange& change) {
  const std::int64_t more = change.count - static_cast<std::int64_t>(change.names.size());
  return more > 0 ? fmt::format("{} and {} more", join(change.names, ", "), print_count(more))
                  : join(change.names, ", ");
}

std::optional<ChangeScope> scope_argument(const Arguments& arguments) {
  for (const auto& [word, scope] :
       {std::pair{"JOBS", ChangeScope::kJobs}, std::pair{"NODES", ChangeScope::kNodes},
        std::pair{"QUEUES", ChangeScope::kQueues}, std::pair{"SETTINGS", ChangeScope::kSettings}}) {
    if (arguments.has_word(word)) return scope;
  }
  return std::nullopt;
}

Result<Output> diff_state_statement(Session& session, const Arguments& arguments) {
  const OutputMode mode = session.display.mode;
  const bool for_programs = mode == OutputMode::kJson || mode == OutputMode::kJsonl || mode == OutputMode::kCsv;
  Runtime& runtime = engine_of(session);
  for (const char* moment : {"from", "to"})
    BERTH_TRY(blame(read_moment(runtime.db(), arguments.text(moment), runtime.now()).status(), arguments.span(moment)));
  const Result<StateDiff> diff = diff_state(runtime, {.from = arguments.text("from"),
                                                      .to = arguments.text("to"),
                                                      .scope = scope_argument(arguments),
                                                      .cells = for_programs});
  if (!diff.ok()) return blame(diff.status(), arguments.span("to"));
  Output output;
  ResultTable changes{
      .title = "changes", .columns = {{"kind"}, {"change"}, {"count"}, {.name = "which", .wrap = true}}, .rows = {}};
  for (const StateChange& change : diff->changes)
    changes.rows.push_back({change.kind, change.what, change.count, first_names(change)});
  const bool is_empty = changes.rows.empty();
  output.add(std::move(changes), is_empty ? Audience::kPrograms : Audience::kEveryone);
  ResultTable cells{.title = "columns", .columns = {{"table"}, {"key"}, {"column"}, {"before"}, {"after"}}, .rows = {}};
  for (const CellChange& cell : diff->cells)
    cells.rows.push_back({cell.table, cell.key, cell.column, cell_of(cell.before), cell_of(cell.after)});
  output.add(std::move(cells), Audience::kPrograms);
  const auto moment = [](const Moment& each) {
    return fmt::format("{} (version {})", print_time(each.asked), each.version);
  };
  output.add_note(fmt::format("{} between {} and {}", is_empty ? "nothing differs" : "what differs", moment(diff->from),
                              moment(diff->to)));
  return output;
}

Result<std::optional<Seconds>> moment_argument(Session& session, const Arguments& arguments, std::string_view name) {
  if (!arguments.has(name)) return std::optional<Seconds>();
  Runtime& runtime = engine_of(session);
  // Events and attempts are kept for longer than the history, so any time may be asked for.
  const Result<Seconds> time = read_past_time(runtime.db(), arguments.text(name), runtime.now());
  if (!time.ok()) return blame(time.status(), arguments.span(name));
  return std::optional(*time);
}

Result<Output> show_history(Session& session, const Arguments& arguments) {
  ObjectHistoryRequest request;
  const std::string_view what = arguments.has("job") ? "job" : arguments.has("node") ? "node" : "queue";
  request.of = what == "job" ? HistoryOf::kJob : what == "node" ? HistoryOf::kNode : HistoryOf::kQueue;
  request.name = arguments.text(what);
  BERTH_ASSIGN(request.from, moment_argument(session, arguments, "from"));
  BERTH_ASSIGN(request.to, moment_argument(session, arguments, "to"));
  if (request.from && request.to && *request.to < *request.from)
    return arguments.fail("to", Code::kInvalid, "the end is before the beginning");
  Result<std::vector<Happening>> history = object_history(engine_of(session), request);
  if (!history.ok()) return blame(std::move(history).status(), arguments.span(what));
  ResultTable table{.title = "",
                    .columns = {{"time"}, {.name = "what", .wrap = true}, {"who"}, {.name = "detail", .wrap = true}},
                    .rows = {}};
  for (Happening& each : *history)
    table.rows.push_back({print_time(each.time), std::move(each.what), std::move(each.who), std::move(each.detail)});
  Output output(std::move(table));
  if (history->empty()) output.add_note("nothing is known of that time");
  return output;
}

constexpr std::string_view kHistoryFamily = "history";

constexpr CommandRow kHistoryRows[] = {
    {.family = kHistoryFamily,
     .syntax = "DIFF STATE BETWEEN <from:moment> AND <to:moment> [OF {JOBS | NODES | QUEUES | SETTINGS}]",
     .effect = Effect::kReads,
     .handler = diff_state_statement,
     .summary = "What differs between two moments, by object and in words.",
     .example = "DIFF STATE BETWEEN '2026-11-01 09:00' AND '2026-11-01 10:00' OF NODES",
     .details =
         "Only the outcome counts, not what came and went in between. With --mode json or csv also every column of "
         "every table, before and after. SELECT ... FROM as_of('jobs', '2026-11-01 09:00') shows a whole table "
         "as it was. SET history_retention says how far back this goes."},
    {.family = kHistoryFamily,
     .syntax = "SHOW HISTORY OF {JOB <job:job> | NODE <node:node> | QUEUE <queue:queue>} [FROM <from:moment>] [TO "
               "<to:moment>]",
     .effect = Effect::kReads,
     .handler = show_history,
     .summary = "Everything that happened to a job, node or queue, oldest first, and who did it.",
     .example = "SHOW HISTORY OF NODE train001 FROM '7d ago'",
     .details = "Also of what is gone. Changes by other programs than Berth are not seen."},
};

}  // namespace

std::span<const CommandRow> history_commands() { return kHistoryRows; }

}  // namespace berth
