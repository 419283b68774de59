// Shadow policies: ALTER POLICY ... SET MODE, SHOW SHADOWS, SHOW SHADOW.
#include "engine/base/text.h"
#include "engine/runtime/shadow.h"
#include "engine/store/settings.h"
#include "shell/cmd_support.h"
#include "shell/families.h"

namespace berth {

namespace {

constexpr std::int64_t kDifferencesShown = 20;

// One change: it decides from the next round on, and is no longer watched.
Status promote(Change& change, const ShadowRow& shadow) {
  if (shadow.order_policy) BERTH_TRY(set_setting(change, "order_policy", *shadow.order_policy));
  if (shadow.score_policy) BERTH_TRY(set_setting(change, "score_policy", *shadow.score_policy));
  if (find_shadow(change.db(), shadow.policy).ok()) return drop_shadow(change, shadow.policy);
  return {};
}

Result<Output> set_policy_mode(Session& session, const Arguments& arguments) {
  const std::string& policy = arguments.text("policy");
  if (arguments.has_word("OFF")) {
    return change_with_note(session, fmt::format("policy {} is no longer in shadow", policy), [&](Change& change) {
      return blame(drop_shadow(change, policy), arguments.span("policy"));
    });
  }
  const Result<ShadowRow> shadow = shadow_of_policy(engine_of(session), policy);
  if (!shadow.ok()) return blame(shadow.status(), arguments.span("policy"));
  if (arguments.has_word("LIVE")) {
    return change_with_note(session, fmt::format("policy {} decides from the next round on", shadow->policy),
                            [&](Change& change) { return blame(promote(change, *shadow), arguments.span("policy")); });
  }
  return change_with_note(
      session, fmt::format("policy {} is in shadow: planned beside each round, and nothing of it happens", policy),
      [&](Change& change) { return blame(add_shadow(change, *shadow), arguments.span("policy")); });
}

constexpr std::string_view kEffectColumns =
    "SELECT policy, datetime(since, 'unixepoch') AS since, rounds, rounds_different, rounds_over_budget, "
    "rounds_failed, jobs_earlier, round(mean_earlier_s) AS mean_earlier_s, jobs_later, jobs_not_started_live, "
    "jobs_elsewhere, live_evictions, shadow_evictions, round(live_lost_gpu_milli_s / 3.6e6, 2) AS live_gpu_hours_lost, "
    "round(shadow_lost_gpu_milli_s / 3.6e6, 2) AS shadow_gpu_hours_lost, round(mean_ms, 1) AS mean_ms "
    "FROM shadow_effect";

Result<Output> show_shadows(Session& session, const Arguments&) {
  return query_output(session, std::string(kEffectColumns) + " ORDER BY policy");
}

// "in 12 rounds, 5 of them different: 3 jobs 8m earlier in the mean, 1 later, ...".
Result<std::string> effect_sentence(Session& session, const ShadowRow& shadow) {
  BERTH_ASSIGN(Statement row,
               engine_of(session).db().prepare(
                   "SELECT rounds, rounds_different, jobs_earlier, coalesce(mean_earlier_s, 0), jobs_later, "
                   "jobs_not_started_live, shadow_lost_gpu_milli_s - live_lost_gpu_milli_s FROM shadow_effect "
                   "WHERE policy = ?1"));
  if (!row.with(shadow.policy).next()) return row.status().ok() ? Result<std::string>("") : row.status();
  if (row.integer(0) == 0) return std::string("no round has run since");
  std::string sentence =
      fmt::format("{}, {} of them different: ", counted(row.integer(0), "round"), print_count(row.integer(1)));
  sentence += fmt::format("{} earlier", counted(row.integer(2), "job"));
  if (row.integer(2) > 0)
    sentence += fmt::format(" by {} in the mean", print_duration(Seconds(static_cast<std::int64_t>(row.real(3)))));
  sentence += fmt::format(", {} later", print_count(row.integer(4)));
  if (row.integer(5) > 0) sentence += fmt::format(", {} that still wait would run", print_count(row.integer(5)));
  if (row.integer(6) != 0) sentence += fmt::format("; evictions lose {:+.1f} GPU-hours", gpu_hours_of(row.integer(6)));
  return sentence + "; an estimate, as each round starts from what the live policy did (BACKTEST tells the whole)";
}

Result<Output> show_shadow(Session& session, const Arguments& arguments) {
  Database& db = engine_of(session).db();
  const Result<ShadowRow> shadow = find_shadow(db, arguments.text("policy"));
  if (!shadow.ok()) return blame(shadow.status(), arguments.span("policy"));
  const std::int64_t count = arguments.has("count") ? arguments.integer("count") : kDifferencesShown;
  Output output;
  BERTH_ASSIGN(ResultTable effect,
               query_table(session, std::string(kEffectColumns) + " WHERE policy = ?1", shadow->policy));
  effect.title = "effect";
  output.add(std::move(effect), Audience::kPrograms);
  BERTH_ASSIGN(ResultTable differences,
               query_table(session,
                           "SELECT round, job, live, shadow FROM (SELECT d.round_id AS round, d.seq, "
                           "coalesce(j.name, '#' || d.job_id) AS job, d.live, d.shadow FROM shadow_differences d "
                           "LEFT JOIN jobs j ON j.id = d.job_id WHERE d.shadow_id = ?1 "
                           "ORDER BY d.round_id DESC, d.seq LIMIT ?2) ORDER BY round, seq",
                           shadow->id, count));
  differences.title = "differences";
  for (Column& column : differences.columns) column.wrap = column.name == "live" || column.name == "shadow";
  output.add(std::move(differences));
  BERTH_ASSIGN(std::string sentence, effect_sentence(session, *shadow));
  output.add_note(std::move(sentence));
  return output;
}

constexpr std::string_view kShadowFamily = "policies";

constexpr CommandRow kShadowRows[] = {
    {.family = kShadowFamily,
     .syntax = "ALTER POLICY <policy:policy> SET MODE {SHADOW | LIVE | OFF}",
     .effect = Effect::kChanges,
     .handler = set_policy_mode,
     .summary = "Plans each round with the policy, too, without doing it; makes it the live one; stops that.",
     .example = "ALTER POLICY drf SET MODE SHADOW",
     .details = "In shadow a policy plans the input of every real round, after the round, for at most "
                "shadow_budget_ms; what it would have done otherwise is kept (SHOW SHADOW). LIVE makes it order_policy "
                "or score_policy from the next round on."},
    {.family = kShadowFamily,
     .syntax = "SHOW SHADOWS",
     .effect = Effect::kReads,
     .handler = show_shadows,
     .summary = "Policies in shadow, and what they would have changed so far.",
     .example = "SHOW SHADOWS"},
    {.family = kShadowFamily,
     .syntax = "SHOW SHADOW <policy:shadow> [LAST <count:integer>]",
     .effect = Effect::kReads,
     .handler = show_shadow,
     .summary = "The last decisions that a policy in shadow would have taken otherwise, and the running estimate.",
     .example = "SHOW SHADOW drf"},
};

}  // namespace

std::span<const CommandRow> shadow_commands() { return kShadowRows; }

}  // namespace berth
