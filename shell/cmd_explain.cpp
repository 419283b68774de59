// EXPLAIN JOB: why it waits, what would start it, whether it fits a node.
#include <algorithm>

#include "engine/base/text.h"
#include "engine/runtime/counterfactual.h"
#include "engine/runtime/explanation.h"
#include "shell/cmd_support.h"
#include "shell/families.h"

namespace berth {

namespace {

// "Expected start: about 14:10, nine times in ten by 16:30; ...". Without enough starts that show how such forecasts
// err, nine times in ten is not said.
std::string expected_start_line(const JobExplanation& e) {
  std::string line = fmt::format("Expected start: about {}", print_time(*e.start_p50));
  if (e.start_p90 && *e.start_p90 != *e.start_p50)
    line += fmt::format(", {} {}", e.is_measured() ? "nine times in ten by" : "if jobs run long by",
                        print_time(*e.start_p90));
  if (!e.start_when.empty()) line += fmt::format(", when {}", e.start_when);
  if (!e.evicts.empty()) line += fmt::format(", by evicting {}", e.evicts);
  if (e.guesses > 0)
    line += fmt::format(" - if {} of which no duration is known take {} (default_duration)",
                        print_counted(e.guesses, "job"), print_duration(e.guessed_duration));
  line += ".\n";
  if (!e.is_measured() && e.start_when.empty())
    line +=
        fmt::format("How sure: not known before {} starts are; {} so far. Jobs still to come are left out.\n",
                    StartCalibration::kFewest, e.known_starts == 1 ? "1 is" : fmt::format("{} are", e.known_starts));
  if (!e.told) return line;
  const auto& [p50, p90] = e.told->expected;
  line += fmt::format("Told at {}: about {}", print_time(e.told->made_at), print_time(p50));
  if (p90 != p50)
    line +=
        fmt::format(", {} by {}", is_measured_start(e.told->known_starts) ? "nine times in ten" : "if jobs run long",
                    print_time(p90));
  return line + ".\n";
}

Result<Output> explain_job_statement(Session& session, const Arguments& arguments) {
  Result<JobExplanation> result = explain_job(engine_of(session), arguments.text("job"), session.interrupt);
  if (!result.ok()) return blame(std::move(result).status(), arguments.span("job"));
  const JobExplanation& e = *result;
  Output output;
  std::string text = fmt::format("Job {}: {}.\n", e.job, e.sentence);
  if (!e.held_by.empty()) text += fmt::format("In use there: {}.\n", e.held_by);
  if (!e.nearest_node.empty() && !e.nearest_lacks.empty())
    text += fmt::format("Nearest node: {}, which lacks {}.\n", e.nearest_node, e.nearest_lacks);
  if (e.place > 0 && !e.starts && !e.never_starts)
    text += fmt::format("Place in the order: {} of {}.\n", print_count(e.place), print_count(e.waiting));
  if (e.start_p50) text += expected_start_line(e);
  if (!e.next_step.empty())
    text += fmt::format("Next step: {}{}\n", e.next_step, e.next_step.ends_with(';') ? "" : ".");
  output.add_chart(text);
  ResultTable answer{
      .title = "answer",
      .columns = {{"job"},
                  {"state"},
                  {"starts"},
                  {"reason"},
                  {"sentence"},
                  {"next_step"},
                  {"place"},
                  {"waiting"},
                  {"task_group"},
                  {"nearest_node"},
                  {"nearest_lacks"},
                  {"held_by"},
                  {"start_p50"},
                  {"start_p90"},
                  {"guessed_durations"},
                  {"evicts"},
                  {"start_is_measured"},
                  {"known_starts"}},
      .rows = {{e.job, std::string(job_state_name(e.state)), static_cast<std::int64_t>(e.starts ? 1 : 0),
                e.reason == Reason::kNone ? Cell(std::monostate()) : Cell(std::string(reason_name(e.reason))),
                e.sentence, text_or_null(e.next_step), e.place, e.waiting, text_or_null(e.group),
                text_or_null(e.nearest_node), text_or_null(e.nearest_lacks), text_or_null(e.held_by),
                time_or_null(e.start_p50), time_or_null(e.start_p90), e.guesses, text_or_null(e.evicts),
                e.start_p50 && e.start_when.empty() ? Cell(static_cast<std::int64_t>(e.is_measured() ? 1 : 0))
                                                    : Cell(std::monostate()),
                e.start_p50 && e.start_when.empty() ? Cell(e.known_starts) : Cell(std::monostate())}}};
  output.add(std::move(answer), Audience::kPrograms);
  ResultTable reasons{
      .title = "reasons",
      .columns =
          {{"reason"}, {"nodes"}, {"could_run_it"}, {"nearest_node"}, {"lacks"}, {.name = "sentence", .wrap = true}},
      .rows = {}};
  for (const ReasonLine& line : e.reasons) {
    reasons.rows.push_back({std::string(line.reason == Reason::kNone ? "fits" : reason_name(line.reason)),
                            static_cast<std::int64_t>(line.nodes), static_cast<std::int64_t>(line.eligible_nodes),
                            text_or_null(line.nearest_node), text_or_null(line.lacks), line.sentence});
  }
  if (!reasons.rows.empty()) output.add(std::move(reasons));
  if (e.starts) {
    ResultTable placements{
        .title = "placements", .columns = {{"task_group"}, {"task"}, {"node"}, {"devices"}}, .rows = {}};
    for (std::size_t i = 0; i < e.placements.size(); ++i) {
      const Placement& p = e.placements[i];
      placements.rows.push_back({static_cast<std::int64_t>(p.group), static_cast<std::int64_t>(p.task),
                                 e.placement_nodes[i], text_or_null(print_device_mask(p.devices))});
    }
    output.add(std::move(placements));
  }
  return output;
}

Result<Output> explain_job_on_node_statement(Session& session, const Arguments& arguments) {
  Result<NodeExplanation> e = explain_job_on_node(engine_of(session), arguments.text("job"), arguments.text("node"));
  if (!e.ok()) return arguments.point(std::move(e).status(), "job");
  ResultTable table{
      .title = "",
      .columns = {{"job"}, {"node"}, {"task_group"}, {"reason"}, {"fits"}, {.name = "sentence", .wrap = true}},
      .rows = {}};
  for (const NodeExplanation::Group& group : e->groups) {
    table.rows.push_back({e->job, e->node, group.name,
                          std::string(group.reason == Reason::kNone ? "fits" : reason_name(group.reason)),
                          static_cast<std::int64_t>(group.fits), group.sentence});
  }
  return Output(std::move(table));
}

// What stands above the changes.
std::string_view counterfactual_heading(const std::vector<CounterfactualLine>& lines) {
  const auto waits = std::ranges::count(lines, "wait", &CounterfactualLine::change);
  const bool waiting_helps = std::ranges::any_of(lines, [](const CounterfactualLine& line) {
    return line.change == "wait" && line.sentence.starts_with("wait until");
  });
  const auto later = std::ranges::count(lines, true, &CounterfactualLine::starts_later);
  if (later > 0) {
    if (later == std::ssize(lines) - waits)
      return "Room would be made for it now if one of these held - each was proved by planning it:";
    return "It would start now if one of these held, or later where that is said - each was proved by planning it:";
  }
  if (std::ssize(lines) > waits) {
    return waiting_helps
               ? "It would start now if one of these held - each was proved by planning it - or later by waiting:"
               : "It would start now if one of these held - each was proved by planning it:";
  }
  return waiting_helps ? "None of the changes that were tried would start it now; it would start later by waiting:"
                       : "None of the changes that were tried would start it now.";
}

Result<Output> explain_job_counterfactual(Session& session, const Arguments& arguments) {
  Result<Counterfactual> result = explain_counterfactual(engine_of(session), arguments.text("job"), session.interrupt);
  if (!result.ok()) return blame(std::move(result).status(), arguments.span("job"));
  const Counterfactual& answer = *result;
  Output output;
  std::string text = fmt::format("Job {}: {}.\n", answer.job, answer.why);
  if (!answer.lines.empty()) text += fmt::format("{}\n", counterfactual_heading(answer.lines));
  output.add_chart(text);
  ResultTable table{.title = "counterfactual",
                    .columns = {{"change"},
                                {.name = "it_starts_if", .wrap = true},
                                {.name = "cost", .wrap = true},
                                {.name = "statement", .wrap = true}},
                    .rows = {}};
  for (const CounterfactualLine& line : answer.lines) {
    table.rows.push_back({line.change, line.sentence, text_or_null(line.cost), text_or_null(line.statement)});
  }
  ResultTable shown = table;  // with fewer names
  for (std::size_t i = 0; i < answer.lines.size(); ++i) {
    if (!answer.lines[i].shown.empty()) shown.rows[i][1] = answer.lines[i].shown;
  }
  if (answer.lines.empty()) {  // it starts anyway, runs or has ended: the text above says so to people
    table.rows.push_back(
        {"none", answer.why, std::monostate(), answer.starts_anyway ? Cell("RUN SCHEDULE;") : Cell(std::monostate())});
    output.add(std::move(table), Audience::kPrograms);
  } else {
    output.add(std::move(shown), Audience::kPeople);
    output.add(std::move(table), Audience::kPrograms);
  }
  return output;
}

constexpr std::string_view kExplainFamily = "rounds";

constexpr CommandRow kExplainRows[] = {
    {.family = kExplainFamily,
     .syntax = "EXPLAIN JOB <job:job>",
     .effect = Effect::kReads,
     .handler = explain_job_statement,
     .summary = "Says why a job waits: the dominant reason with its numbers, who has what it needs, its place in the "
                "order, when it is expected to start, the next step.",
     .example = "EXPLAIN JOB bert",
     .details =
         "EXPLAIN JOB checks no assertion: it uses what the last round held back. PLAN SCHEDULE checks "
         "assertions. The expected start leaves out jobs still to come, jobs behind this one that may pass it by "
         "ending early, and evicted jobs that start again. Where a quota, limit or loan changes before, it is "
         "as if what holds then held from now on."},
    {.family = kExplainFamily,
     .syntax = "EXPLAIN JOB <job:job> ON NODE <node:node>",
     .effect = Effect::kReads,
     .handler = explain_job_on_node_statement,
     .summary = "Says whether the job's tasks fit on one node now, and if not, why not.",
     .example = "EXPLAIN JOB bert ON NODE train001"},
    {.family = kExplainFamily,
     .syntax = "EXPLAIN JOB <job:job> COUNTERFACTUAL",
     .effect = Effect::kReads,
     .handler = explain_job_counterfactual,
     .summary =
         "Lists the smallest single changes that would start the job now, each proved by planning it: quota, "
         "device model, locality, fewer tasks or GPUs, priority, order, nodes, evictions and their cost; and the "
         "wait otherwise.",
     .example = "EXPLAIN JOB bert COUNTERFACTUAL",
     .details =
         "It checks no assertion; PLAN before a statement says what assertions hold back after it. Where jobs ahead of "
         "it "
         "would take what a change frees, and going before them alone does not help, the "
         "line says that it goes before them too, and names no statement: none does both. No part of a change can be "
         "left out, and no amount be one unit lower; where too many smaller ones would have to be planned, the line "
         "says that one may exist. A change after which jobs with a grace are told to stop makes room now, and the "
         "line says when the job starts."},
};

}  // namespace

std::span<const CommandRow> explain_commands() { return kExplainRows; }

}  // namespace berth
