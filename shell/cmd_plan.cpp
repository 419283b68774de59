// PLAN <statement>: the statement's own handler, its change looked at and taken back.
#include "engine/base/text.h"
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
  if (outlook.more_moves > 0) {
    sentence += fmt::format("; {} would move in the order", counted(outlook.more_moves, "more job"));
  }
  return sentence + "; nothing has changed";
}

// In the resource's unit, as people write it.
std::string amount_text(const std::string& resource, std::int64_t amount) {
  if (resource == "cpu") return print_cpu(MilliCpu(amount));
  if (resource == "memory") return print_memory(MiB(amount));
  return print_gpu(MilliGpu(amount));
}

// People are not shown an empty table; programs are.
void add_changes(ResultTable table, Output& output) {
  const Audience audience = table.rows.empty() ? Audience::kPrograms : Audience::kEveryone;
  output.add(std::move(table), audience);
}

}  // namespace

Result<Output> plan_change_statement(Session& session, const Arguments& arguments) {
  const CommandRow& row = *session.planned;
  Output notes;
  const Result<ChangeOutlook> outlook = outlook_of_change(
      engine_of(session),
      [&]() -> Status {
        BERTH_ASSIGN(notes, row.handler(session, arguments));
        return {};
      },
      session.interrupt);
  if (!outlook.ok()) return outlook.status();
  Output output;
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
  for (std::string& note : notes.notes) {
    if (note.starts_with("warning: ")) output.add_note(std::move(note));
  }
  output.add_note(outlook_sentence(*outlook));
  return output;
}

}  // namespace berth
