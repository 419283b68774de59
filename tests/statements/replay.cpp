#include "tests/statements/replay.h"

#include <filesystem>

#include "engine/runtime/round_driver.h"
#include "engine/store/snapshot_file.h"
#include "shell/commands.h"
#include "shell/families.h"

namespace berth::test {

namespace {

// The plan as text, or the error that there is instead.
std::string planned_text(Runtime& runtime, const RoundOptions& options) {
  const Result<PlannedRound> round = plan_round(runtime, options);
  return round.ok() ? plan_to_text(round->schedule.plan) : "error: " + round.status().message();
}

}  // namespace

bool plans_a_round(std::string_view statement) {
  const Result<CommandTable::Call> call = command_table().parse(statement);
  return call.ok() && (call->row->syntax.starts_with("RUN SCHEDULE") || call->row->syntax.starts_with("PLAN SCHEDULE"));
}

Status replay_round(Session& session, std::string_view statement, const SessionOptions& options,
                    const std::string& file) {
  BERTH_ASSIGN(const CommandTable::Call call, command_table().parse(statement));
  const Options& given = call.arguments.options();
  const RoundOptions round{
      .interrupted = nullptr, .order_policy = given.text_or("order", ""), .score_policy = given.text_or("score", "")};
  BERTH_TRY(save_snapshot(session.runtime->db(), file, true));
  std::string replayed;
  {
    BERTH_ASSIGN(
        const std::unique_ptr<Runtime> copy,
        Runtime::open(
            {.database = file, .read_only = false, .actor = "replay", .env = options.env, .seed = options.seed}));
    replayed = planned_text(*copy, round);
  }
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(file + suffix);
  const std::string planned = planned_text(*session.runtime, round);
  if (planned == replayed) return {};
  return Status(Code::kInternal, "planned on the database:\n" + planned + "planned on its snapshot:\n" + replayed);
}

}  // namespace berth::test
