#include "engine/store/shadow_records.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/text.h"

namespace berth {

namespace {

std::string_view shadow_state_name(ShadowState state) {
  switch (state) {
    case ShadowState::kPlanned: return "planned";
    case ShadowState::kOverBudget: return "over_budget";
    case ShadowState::kFailed: return "failed";
  }
  return "";
}

Status no_such_shadow(Database& db, std::string_view policy) {
  BERTH_ASSIGN(const std::vector<ShadowRow> shadows, list_shadows(db));
  std::vector<std::string> names;
  for (const ShadowRow& shadow : shadows) names.push_back(shadow.policy);
  std::string hint = suggest(policy, names);
  if (hint.empty()) hint = names.empty() ? "no policy is in shadow" : "in shadow: " + join(names, ", ");
  return Status(Code::kNotFound, fmt::format("policy '{}' is not in shadow", policy), std::move(hint));
}

Status write_starts(Database& db, const ShadowRow& shadow, Seconds now, const ShadowRound& seen) {
  // A job that started before, was evicted and starts again counts with its first start.
  BERTH_ASSIGN(Statement by_shadow, db.prepare("INSERT INTO shadow_starts (shadow_id, job_id, shadow_time) "
                                               "SELECT ?1, ?2, ?3 WHERE EXISTS (SELECT 1 FROM jobs WHERE id = ?2) "
                                               "ON CONFLICT DO NOTHING"));
  BERTH_ASSIGN(Statement live, db.prepare("INSERT INTO shadow_starts (shadow_id, job_id, live_time) "
                                          "SELECT ?1, ?2, ?3 WHERE EXISTS (SELECT 1 FROM jobs WHERE id = ?2) "
                                          "ON CONFLICT DO UPDATE SET live_time = coalesce(live_time, ?3)"));
  for (const std::int64_t job : seen.started_by_shadow) BERTH_TRY(by_shadow.run(shadow.id, job, now));
  for (const std::int64_t job : seen.started_live) BERTH_TRY(live.run(shadow.id, job, now));
  return {};
}

}  // namespace

Status add_shadow(Change& change, const ShadowRow& shadow) {
  BERTH_ASSIGN(Statement insert,
               change.db().prepare("INSERT INTO shadows (policy, order_policy, score_policy, since, created_by) "
                                   "VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING"));
  BERTH_TRY(insert.run(shadow.policy, shadow.order_policy, shadow.score_policy, change.now(), change.actor()));
  if (change.db().changed_rows() == 0)
    return Status(Code::kExists, fmt::format("policy '{}' is in shadow already", shadow.policy),
                  fmt::format("SHOW SHADOW {};", shadow.policy));
  return change.record("watch policy", shadow.policy);
}

Status drop_shadow(Change& change, std::string_view policy) {
  BERTH_ASSIGN(const ShadowRow shadow, find_shadow(change.db(), policy));
  BERTH_ASSIGN(Statement remove, change.db().prepare("DELETE FROM shadows WHERE id = ?1"));
  BERTH_TRY(remove.run(shadow.id));
  return change.record("unwatch policy", shadow.policy);
}

Result<std::vector<ShadowRow>> list_shadows(Database& db) {
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT id, policy, order_policy, score_policy, since FROM shadows "
                                          "ORDER BY id"));
  std::vector<ShadowRow> shadows;
  const auto text_or_nothing = [&](int column) {
    return rows.is_null(column) ? std::nullopt : std::optional(std::string(rows.text(column)));
  };
  while (rows.next()) {
    shadows.push_back({rows.integer(0), std::string(rows.text(1)), text_or_nothing(2), text_or_nothing(3),
                       rows.quantity<Seconds>(4)});
  }
  BERTH_TRY(rows.status());
  return shadows;
}

Result<ShadowRow> find_shadow(Database& db, std::string_view policy) {
  BERTH_ASSIGN(const std::vector<ShadowRow> shadows, list_shadows(db));
  const auto found = std::ranges::find_if(
      shadows, [&](const ShadowRow& shadow) { return equals_ignoring_case(shadow.policy, policy); });
  if (found == shadows.end()) return no_such_shadow(db, policy);
  return *found;
}

Status write_shadow_round(Database& db, const ShadowRow& shadow, std::int64_t round, Seconds now,
                          const ShadowRound& seen) {
  BERTH_ASSIGN(Transaction transaction, Transaction::begin_write(db));
  BERTH_ASSIGN(
      Statement insert,
      db.prepare("INSERT INTO shadow_rounds (shadow_id, round_id, state, detail, seconds, live_starts, shadow_starts, "
                 "only_live, only_shadow, elsewhere, live_gpu_milli, shadow_gpu_milli, live_evictions, "
                 "shadow_evictions, live_lost, shadow_lost) "
                 "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)"));
  BERTH_TRY(insert.run(shadow.id, round, shadow_state_name(seen.state), seen.detail, seen.seconds, seen.live_starts,
                       seen.shadow_starts, seen.only_live, seen.only_shadow, seen.elsewhere, seen.live_gpu,
                       seen.shadow_gpu, seen.live_evictions, seen.shadow_evictions, seen.live_lost, seen.shadow_lost));
  BERTH_ASSIGN(Statement difference, db.prepare("INSERT INTO shadow_differences (shadow_id, round_id, seq, job_id, "
                                                "live, shadow) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"));
  const std::size_t kept = std::min(seen.differences.size(), kMostShadowDifferences);
  for (std::size_t i = 0; i < kept; ++i) {
    const ShadowDifference& each = seen.differences[i];
    BERTH_TRY(difference.run(shadow.id, round, static_cast<std::int64_t>(i), each.job, each.live, each.shadow));
  }
  BERTH_TRY(write_starts(db, shadow, now, seen));
  return transaction.commit();
}

}  // namespace berth
