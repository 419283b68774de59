// STOP STRAYS, KEEP STRAYS: tasks at executors that a restored database does not know.
#include <algorithm>

#include "engine/base/text.h"
#include "engine/store/stray_records.h"
#include "shell/cmd_support.h"
#include "shell/families.h"

namespace berth {

void add_strays(const std::vector<Stray>& strays, Output& output) {
  constexpr std::size_t kMostNamed = 10;
  for (std::size_t i = 0; i < std::min(strays.size(), kMostNamed); ++i)
    output.add_note(fmt::format("stray, held: {}", strays[i].words()));
  if (strays.size() > kMostNamed)
    output.add_note(fmt::format("and {} more stray tasks: SHOW DRIFT", strays.size() - kMostNamed));
  if (strays.empty()) return;
  output.add_note("this database does not know them; STOP STRAYS ends them, KEEP STRAYS lets them run to their end");
  output.findings = true;
}

namespace {

Result<std::optional<std::int64_t>> named_stray_job(const Arguments& arguments) {
  if (!arguments.has("job")) return std::optional<std::int64_t>();
  const Result<std::int64_t> number = read_integer(arguments.text("job"));
  if (number.ok()) return std::optional(*number);
  return arguments.fail("job", Code::kInvalid, fmt::format("'{}' is not a number", arguments.text("job")),
                        "jobs of strays go by number: SHOW DRIFT");
}

Result<Output> judge_strays_statement(Session& session, const Arguments& arguments, StrayVerdict verdict,
                                      std::string_view note) {
  BERTH_ASSIGN(const std::optional<std::int64_t> job, named_stray_job(arguments));
  return change_with_note(session, std::string(note), [&](Change& change) -> Status {
    Status judged = judge_strays(change, job, verdict).status();
    return arguments.has("job") ? blame(std::move(judged), arguments.span("job")) : judged;
  });
}

Result<Output> stop_strays_statement(Session& session, const Arguments& arguments) {
  return judge_strays_statement(session, arguments, StrayVerdict::kStop,
                                "the next sync stops them; then their nodes are open and their jobs released again");
}

Result<Output> keep_strays_statement(Session& session, const Arguments& arguments) {
  return judge_strays_statement(session, arguments, StrayVerdict::kKeep,
                                "they run to their end, unrecorded; until then their nodes get nothing new, and their "
                                "jobs stay held; then RELEASE JOB runs those again, CANCEL JOB ends them");
}

constexpr std::string_view kStrayFamily = "executors";

constexpr CommandRow kStrayRows[] = {
    {.family = kStrayFamily,
     .syntax = "STOP STRAYS [OF JOB <job:stray_job>]",
     .effect = Effect::kChanges,
     .handler = stop_strays_statement,
     .summary = "Stops tasks at executors that this database knows nothing of, as after it was restored.",
     .example = "STOP STRAYS OF JOB 12",
     .details = "They began after the state that was restored. Until a statement decides they run on, their nodes get "
                "nothing new, their jobs are held and a sync ends with exit code 4; SHOW DRIFT lists them. Jobs go by "
                "the number that they had then.",
     .ask = ask_always},
    {.family = kStrayFamily,
     .syntax = "KEEP STRAYS [OF JOB <job:stray_job>]",
     .effect = Effect::kChanges,
     .handler = keep_strays_statement,
     .summary = "Lets tasks that this database knows nothing of run to their end; syncs report them no more.",
     .example = "KEEP STRAYS",
     .details =
         "It does not adopt them: no run is recorded, no GPU time is charged, no quota is used, CANCEL JOB does not "
         "stop them, and how they end is not known. Their nodes get nothing new until they have ended. A job of the "
         "same number that waits here is held, also after that, for it may be done: look at its output. Then CANCEL "
         "JOB if it is done (submit anew what comes after it), or RELEASE JOB to run it again; while they run, "
         "RELEASE JOB is refused."},
};

}  // namespace

std::span<const CommandRow> stray_commands() { return kStrayRows; }

}  // namespace berth
