// PLAN <statement>: the statement's own handler, its change looked at and taken back; APPLY PLAN of such a plan.
#include <algorithm>

#include "engine/base/text.h"
#include "engine/runtime/change_apply.h"
#include "engine/runtime/change_plan.h"
#include "engine/runtime/reason_words.h"
#include "shell/cmd_support.h"
#include "shell/families.h"

namespace berth {

namespace {

std::string outlook_sentence(const ChangeOutlook& outlook) {
  std::string sentence = fmt::format("the next round would start {} instead of {}",
                                     counted(outlook.started_after, "job"), outlook.started_before);
  if (outlook.started_after == outlook.started_before) {
    sentence =
        fmt::format("the next round would start {}, as without the change", counted(outlook.started_after, "job"));
  }
  if (outlook.lost_after != 0 || outlook.lost_before != 0) {
    sentence +=
        fmt::format("; evictions would lose {:.1f} GPU-hours instead of {:.1f}",
                    static_cast<double>(outlook.lost_after) / 3.6e6, static_cast<double>(outlook.lost_before) / 3.6e6);
  }
  if (outlook.more_elsewhere > 0) {
    sentence += fmt::format("; {} would start elsewhere", counted(outlook.more_elsewhere, "more job"));
  }
  if (outlook.more_moves > 0) {
    sentence += fmt::format("; {} would move in the order", counted(outlook.more_moves, "more job"));
  }
  sentence += "; nothing has changed";
  return outlook.plan == 0 ? sentence : fmt::format("plan {}: {}", outlook.plan, sentence);
}

// In the resource's unit, as people write it.
std::string amount_text(const std::string& resource, std::int64_t amount) {
  if (resource == "cpu") return print_cpu(MilliCpu(amount));
  if (resource == "memory") return print_memory(MiB(amount));
  return print_gpu(MilliGpu(amount));
}

// The parameters that are names of files, as the syntax tells.
std::vector<std::string_view> file_parameters(const CommandRow& row, const Arguments& arguments) {
  constexpr std::string_view kKind = ":file>";
  std::vector<std::string_view> parameters;
  for (std::size_t at = row.syntax.find(kKind); at != std::string_view::npos; at = row.syntax.find(kKind, at + 1)) {
    const std::size_t begin = row.syntax.rfind('<', at) + 1;
    const std::string_view label = row.syntax.substr(begin, at - begin);
    if (arguments.has(label)) parameters.push_back(label);
  }
  return parameters;
}

// Without text when it cannot be made again: standard input is read once.
Result<PlannedStatement> statement_to_plan(const CommandRow& row, const Arguments& arguments) {
  const std::vector<std::string_view> parameters = file_parameters(row, arguments);
  std::vector<std::string> files;
  for (const std::string_view parameter : parameters) files.push_back(arguments.text(parameter));
  if (std::ranges::find(files, "-") != files.end()) return PlannedStatement();
  const auto without_first_word = [](std::string_view text) {
    return std::string(trim(text.substr(text.find_first_of(" \t\r\n"))));
  };
  Result<PlannedStatement> planned =
      planned_statement(without_first_word(arguments.statement()), without_first_word(arguments.spoken()), files);
  if (!planned.ok() && parameters.size() == 1) return blame(std::move(planned).status(), arguments.span(parameters[0]));
  return planned;
}

std::vector<std::string> nodes_of(const JobExplanation& job) {
  std::vector<std::string> nodes;
  for (const std::string& node : job.placement_nodes) {
    if (std::ranges::find(nodes, node) == nodes.end()) nodes.push_back(node);
  }
  return nodes;
}

// "sweep-1 would start now, on gpu1, gpu2", "sweep-2 would wait: ...".
std::string submitted_sentence(const JobExplanation& job) {
  if (job.starts) {
    std::vector<std::string> places = nodes_of(job);
    constexpr std::size_t kMostNodes = 6;
    const std::size_t all = places.size();
    if (all > kMostNodes) {
      places.resize(kMostNodes);
      places.push_back(fmt::format("{} more", all - kMostNodes));
    }
    const std::string by = job.evicts.empty() ? std::string() : fmt::format(", by evicting {}", job.evicts);
    return fmt::format("{} would start now, on {}{}", job.job, join(places, ", "), by);
  }
  std::string sentence = fmt::format("{} would wait: {}", job.job, job.sentence);
  if (!job.start_p50) return sentence + "; when it starts cannot be told";
  sentence += fmt::format("; expected start about {}", print_time(*job.start_p50));
  if (job.start_p90 && *job.start_p90 != *job.start_p50)
    sentence += fmt::format(", {} by {}", job.is_measured() ? "nine times in ten" : "if jobs run long",
                            print_time(*job.start_p90));
  if (!job.evicts.empty()) sentence += fmt::format(", by evicting {}", job.evicts);
  return sentence;
}

void add_submitted(const ChangeOutlook& outlook, Output& output) {
  if (outlook.submitted.empty()) return;
  ResultTable table{.title = "submitted",
                    .columns = {{"job"},
                                {"starts"},
                                {"start_p50"},
                                {"start_p90"},
                                {"evicts"},
                                {"nodes"},
                                {"sentence"},
                                {"start_is_measured"},
                                {"known_starts"}},
                    .rows = {}};
  for (const JobExplanation& job : outlook.submitted) {
    table.rows.push_back(
        {job.job, static_cast<std::int64_t>(job.starts ? 1 : 0), time_or_null(job.start_p50),
         time_or_null(job.start_p90), text_or_null(job.evicts), join(nodes_of(job), ","), job.sentence,
         job.start_p50 ? Cell(static_cast<std::int64_t>(job.is_measured() ? 1 : 0)) : Cell(std::monostate()),
         job.start_p50 ? Cell(job.known_starts) : Cell(std::monostate())});
    output.add_note(submitted_sentence(job));
  }
  output.add(std::move(table), Audience::kPrograms);
}

// People are not shown an empty table; programs are.
void add_changes(ResultTable table, Output& output) {
  const Audience audience = table.rows.empty() ? Audience::kPrograms : Audience::kEveryone;
  output.add(std::move(table), audience);
}

}  // namespace

namespace {

std::string nodes_sentence(const std::vector<NodeDifference>& differences) {
  std::int64_t gone = 0;
  MilliGpu used;
  Seconds last(0);
  for (const NodeDifference& node : differences) {
    gone += node.gpus_gone;
    used += node.used;
    last = std::max(last, node.free_at.value_or(Seconds(0)));
  }
  std::string sentence = fmt::format("{} would change", counted(static_cast<std::int64_t>(differences.size()), "node"));
  if (gone != 0) sentence += fmt::format(", {} {}", counted(std::abs(gone), "GPU"), gone > 0 ? "fewer" : "more");
  if (used > MilliGpu(0))
    sentence += fmt::format("; {} GPUs are in use there, the last until about {}", print_gpu(used), print_time(last));
  return sentence;
}

// Of many people get the sentence only.
void add_nodes(const std::vector<NodeDifference>& differences, Output& output) {
  constexpr std::size_t kMostShown = 20;
  ResultTable table{
      .title = "nodes",
      .columns = {{"node"}, {"change"}, {"gpus_gone"}, {"gpus_in_use", Align::kRight}, {"runs"}, {"free_at"}},
      .rows = {}};
  for (const NodeDifference& node : differences) {
    table.rows.push_back({node.node, node.change, node.gpus_gone, Cell(print_gpu(node.used)), text_or_null(node.runs),
                          time_or_null(node.free_at)});
  }
  const bool is_shown = !differences.empty() && differences.size() <= kMostShown;
  output.add(std::move(table), is_shown ? Audience::kEveryone : Audience::kPrograms);
}

}  // namespace

Result<Output> plan_change_statement(Session& session, const Arguments& arguments) {
  const CommandRow& row = *session.planned;
  Output notes;
  BERTH_ASSIGN(const PlannedStatement statement, statement_to_plan(row, arguments));
  const Result<ChangeOutlook> outlook = outlook_of_change(
      engine_of(session), statement,
      [&]() -> Status {
        BERTH_ASSIGN(notes, row.handler(session, arguments));
        return {};
      },
      session.interrupt);
  if (!outlook.ok()) return outlook.status();
  Output output;
  if (outlook->plan != 0) {
    output.add(
        ResultTable{.title = "plan",
                    .columns = {{"plan"}, {"statement"}, {"starts_jobs"}, {"starts_jobs_without_it"}},
                    .rows = {{outlook->plan, statement.spoken, outlook->started_after, outlook->started_before}}},
        Audience::kPrograms);
  }
  add_nodes(outlook->nodes, output);
  ResultTable jobs{
      .title = "jobs", .columns = {{"job"}, {"queue"}, {"change"}, {.name = "detail", .wrap = true}}, .rows = {}};
  for (const JobDifference& job : outlook->jobs) {
    jobs.rows.push_back({job.job, job.queue, std::string(job_turn_name(job.turn)), job.detail});
  }
  add_changes(std::move(jobs), output);
  ResultTable borrowing{
      .title = "borrowing",
      .columns = {{"borrower"}, {"lender"}, {"resource"}, {"without_it", Align::kRight}, {"with_it", Align::kRight}},
      .rows = {}};
  for (const BorrowingDifference& row_of : outlook->borrowing) {
    borrowing.rows.push_back({row_of.borrower, row_of.lender.empty() ? std::string("(nobody's)") : row_of.lender,
                              row_of.resource, amount_text(row_of.resource, row_of.before),
                              amount_text(row_of.resource, row_of.after)});
  }
  add_changes(std::move(borrowing), output);
  add_broken(outlook->broken, output);
  add_held_back(
      outlook->held_back, outlook->holds,
      [&](std::int64_t job) {
        const auto name = outlook->held_names.find(job);
        return name == outlook->held_names.end() ? fmt::format("#{}", job) : name->second;
      },
      output);
  for (std::string& note : notes.notes) {
    if (note.starts_with("warning: ")) output.add_note(std::move(note));
  }
  add_submitted(*outlook, output);
  output.add_note(outlook_sentence(*outlook));
  if (!outlook->nodes.empty()) output.add_note(nodes_sentence(outlook->nodes));
  if (!outlook->not_kept.empty()) output.add_note(fmt::format("not kept as a plan: {}", outlook->not_kept));
  if (outlook->plan == 0) return output;
  const bool is_refused = !outlook->broken.empty();
  output.add_note(
      fmt::format("APPLY PLAN {}; {}", outlook->plan,
                  is_refused ? "would be refused for that" : "makes the change and carries out that round"));
  return output;
}

Result<RoundReport> apply_change(Session& session, const SavedPlan& saved) {
  BERTH_ASSIGN(const CommandTable::Call call, session.commands->parse(saved.statement.text));
  return apply_saved_change(
      engine_of(session), saved, [&]() -> Status { return call.row->handler(session, call.arguments).status(); },
      session.interrupt);
}

Result<std::vector<BrokenAssertion>> broken_by_change(Session& session, const SavedPlan& saved) {
  BERTH_ASSIGN(const CommandTable::Call call, session.commands->parse(saved.statement.text));
  return broken_by_saved_change(
      engine_of(session), saved, [&]() -> Status { return call.row->handler(session, call.arguments).status(); },
      session.interrupt);
}

}  // namespace berth
