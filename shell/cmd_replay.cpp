// REPLAY ROUND, REPLAY ROUNDS, VACUUM ROUNDS: rounds planned again from what they looked at.
#include <limits>

#include "engine/base/text.h"
#include "engine/runtime/replay.h"
#include "engine/store/journal.h"
#include "shell/cmd_support.h"
#include "shell/families.h"

namespace berth {

namespace {

constexpr std::int64_t kLastRound = std::numeric_limits<std::int64_t>::max();

ResultTable difference_table() {
  return {.title = "differences",
          .columns = {{"round"}, {"object"}, {.name = "recorded", .wrap = true}, {.name = "replayed", .wrap = true}},
          .rows = {}};
}

void add_differences(const Replay& replay, ResultTable& table) {
  for (const PlanDifference& each : replay.differences)
    table.rows.push_back({replay.round, each.object, text_or_null(each.recorded), text_or_null(each.replayed)});
}

std::string print_size(std::int64_t bytes) {
  const auto kib = static_cast<double>(bytes) / 1024;
  return kib < 1024 ? fmt::format("{:.0f} KiB", kib) : fmt::format("{:.1f} MiB", kib / 1024);
}

double milliseconds(double seconds) { return seconds * 1000; }

ResultTable replay_table(const std::vector<Replay>& replays) {
  ResultTable table{.title = "rounds",
                    .columns = {{"round"},
                                {"kind"},
                                {"time"},
                                {"planned_by"},
                                {"started_jobs"},
                                {"waiting_jobs"},
                                {"result"},
                                {.name = "recorded_ms", .decimals = 1},
                                {.name = "replayed_ms", .decimals = 1}},
                    .rows = {}};
  for (const Replay& each : replays) {
    if (!each.unreadable.empty()) {
      table.rows.push_back({each.round, {}, {}, {}, {}, {}, std::string("unreadable"), {}, {}});
      continue;
    }
    table.rows.push_back({each.round, each.kind, print_time(each.at), each.engine, each.started_jobs, each.waiting_jobs,
                          std::string(each.is_equal ? "equal" : "differs"), milliseconds(each.recorded_seconds),
                          milliseconds(each.replayed_seconds)});
  }
  return table;
}

Result<Output> replay_one(Session& session, const Arguments& arguments) {
  Result<Replay> replay = replay_round(engine_of(session), arguments.integer("round"), session.interrupt);
  if (!replay.ok()) return blame(std::move(replay).status(), arguments.span("round"));
  if (!replay->unreadable.empty()) return arguments.fail("round", Code::kCorrupt, replay->unreadable);
  Output output(replay_table({*replay}));
  ResultTable differences = difference_table();
  add_differences(*replay, differences);
  output.findings = !replay->is_equal;
  output.add_note(replay->is_equal
                      ? fmt::format("round {} was planned again: the same plan, byte for byte", replay->round)
                      : fmt::format("round {} was planned again: {} of its plan differ", replay->round,
                                    counted(static_cast<std::int64_t>(differences.rows.size()), "part")));
  const bool none = differences.rows.empty();
  output.add(std::move(differences), none ? Audience::kPrograms : Audience::kEveryone);
  return output;
}

Result<Output> replay_many(Session& session, const Arguments& arguments) {
  Runtime& runtime = engine_of(session);
  const std::int64_t from = arguments.has("from") ? arguments.integer("from") : 0;
  const std::int64_t to = arguments.has("to") ? arguments.integer("to") : kLastRound;
  if (to < from) return arguments.fail("to", Code::kInvalid, fmt::format("{} is before {}", to, from));
  BERTH_ASSIGN(const std::vector<std::int64_t> rounds, recorded_rounds(runtime.db(), from, to));
  std::vector<Replay> different;
  std::vector<std::string> unreadable;
  ResultTable differences = difference_table();
  double recorded = 0;
  double replayed = 0;
  for (const std::int64_t round : rounds) {
    BERTH_ASSIGN(Replay replay, replay_round(runtime, round, session.interrupt));
    recorded += replay.recorded_seconds;
    replayed += replay.replayed_seconds;
    add_differences(replay, differences);
    if (!replay.unreadable.empty()) unreadable.push_back(replay.unreadable);
    if (!replay.is_equal) different.push_back(std::move(replay));
  }
  const auto count = static_cast<std::int64_t>(rounds.size());
  const auto unread = static_cast<std::int64_t>(unreadable.size());
  const auto unequal = static_cast<std::int64_t>(different.size()) - unread;
  Output output(ResultTable{
      .title = "replay",
      .columns = {{"rounds"},
                  {"equal"},
                  {"differ"},
                  {"unreadable"},
                  {.name = "recorded_ms", .decimals = 1},
                  {.name = "replayed_ms", .decimals = 1}},
      .rows = {{count, count - unequal - unread, unequal, unread, milliseconds(recorded), milliseconds(replayed)}}});
  const Audience audience = different.empty() ? Audience::kPrograms : Audience::kEveryone;
  output.add(replay_table(different), audience);
  const bool none = differences.rows.empty();
  output.add(std::move(differences), none ? Audience::kPrograms : Audience::kEveryone);
  for (std::string& why : unreadable) output.add_note(std::move(why));
  if (count == 0) output.add_note("no round of these has a record: nothing was tested");
  output.findings = count == 0 || !different.empty();
  return output;
}

Result<Output> vacuum_rounds(Session& session, const Arguments& arguments) {
  Runtime& runtime = engine_of(session);
  BERTH_TRY(runtime.check_writable());
  BERTH_ASSIGN(const RecordStatistics before, record_statistics(runtime.db()));
  if (arguments.has("age")) {
    BERTH_TRY(vacuum_records(runtime.db(), runtime.now() - arguments.duration("age"), runtime.now(), runtime.author()));
  } else {
    BERTH_TRY(prune_history(runtime.db(), runtime.now(), runtime.author()).status());
  }
  BERTH_ASSIGN(const std::int64_t damaged, vacuum_damaged_records(runtime.db(), runtime.now(), runtime.author()));
  BERTH_ASSIGN(const RecordStatistics after, record_statistics(runtime.db()));
  return Output::note(fmt::format("{} gone{}, {} left: {} in {}", counted(before.records - after.records, "record"),
                                  damaged > 0 ? fmt::format(" ({} of them damaged)", damaged) : "", after.records,
                                  print_size(after.stored_bytes), counted(after.parts, "part")));
}

constexpr std::string_view kReplayFamily = "rounds";

constexpr CommandRow kReplayRows[] = {
    {.family = kReplayFamily,
     .syntax = "REPLAY ROUND <round:integer>",
     .effect = Effect::kReads,
     .handler = replay_one,
     .summary = "Plans a round again from the record of what it looked at, and compares with what it decided.",
     .example = "REPLAY ROUND 12",
     .details = "Equal means to the byte; else every job and queue of which the plans say different things is listed, "
                "and the exit code is 4. Rounds keep records while record_rounds is true, for record_retention and "
                "within record_mib."},
    {.family = kReplayFamily,
     .syntax = "REPLAY ROUNDS [FROM <from:integer>] [TO <to:integer>]",
     .effect = Effect::kReads,
     .handler = replay_many,
     .summary = "REPLAY ROUND for all that have a record: a test of a new version on your own history.",
     .example = "REPLAY ROUNDS FROM 1 TO 500",
     .details = "Exit code 4 when a round differs or cannot be read, and when none of them has a record."},
    {.family = kReplayFamily,
     .syntax = "VACUUM ROUNDS [OLDER THAN <age:duration>]",
     .effect = Effect::kChanges,
     .handler = vacuum_rounds,
     .summary = "Deletes history past its retention now, or the records of rounds older than an age; the rounds stay.",
     .example = "VACUUM ROUNDS OLDER THAN '2d'",
     .details = "Records that are damaged go, too. Rounds delete what is past its retention by themselves every "
                "hundredth time."},
};

}  // namespace

std::span<const CommandRow> replay_commands() { return kReplayRows; }

}  // namespace berth
