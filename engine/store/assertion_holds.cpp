#include "engine/store/assertion_holds.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/text.h"
#include "engine/store/names.h"
#include "engine/store/settings.h"

namespace berth {

namespace {

struct HoldRow {
  AssertionHold hold;
  bool only_surplus = false;

  bool operator==(const HoldRow&) const = default;
};

std::int64_t job_of(const HoldRow& row) { return row.hold.job; }

Result<std::vector<HoldRow>> read_rows(Database& db) {
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT job_id, assertion_id, coalesce(like_job_id, 0), only_surplus FROM "
                                          "assertion_holds ORDER BY job_id"));
  std::vector<HoldRow> all;
  while (rows.next()) all.push_back({{rows.integer(0), rows.integer(1), rows.integer(2)}, rows.integer(3) != 0});
  BERTH_TRY(rows.status());
  return all;
}

std::vector<HoldRow> rows_of(std::span<const AssertionHold> holds, std::span<const AssertionHold> surplus_holds) {
  std::vector<HoldRow> rows;
  for (const AssertionHold& hold : holds) rows.push_back({hold, false});
  for (const AssertionHold& hold : surplus_holds) rows.push_back({hold, true});
  std::ranges::sort(rows, {}, job_of);
  return rows;
}

Result<std::vector<AssertionHold>> read_those(Database& db, bool only_surplus) {
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT h.job_id, h.assertion_id, coalesce(h.like_job_id, 0) FROM "
                                          "assertion_holds h JOIN assertions a ON a.id = h.assertion_id AND a.state = "
                                          "'on' WHERE h.only_surplus = ?1 ORDER BY h.job_id"));
  rows.with(static_cast<std::int64_t>(only_surplus));
  std::vector<AssertionHold> holds;
  while (rows.next()) holds.push_back({rows.integer(0), rows.integer(1), rows.integer(2)});
  BERTH_TRY(rows.status());
  return holds;
}

// What counts no more goes; what was held by itself in this round is refused now.
Status write_refusals(Change& change, std::span<const AssertionRefusal> counting,
                      std::span<const AssertionHold> holds) {
  Database& db = change.db();
  BERTH_ASSIGN(Statement all, db.prepare("SELECT job_id FROM assertion_refusals"));
  std::vector<std::int64_t> over;
  while (all.next()) {
    if (find_refusal(counting, all.integer(0)) == nullptr) over.push_back(all.integer(0));
  }
  BERTH_TRY(all.status());
  for (const std::int64_t job : over) BERTH_TRY(drop_refusal(change, job));
  // One that runs already and may not grow has no claim anyway.
  BERTH_ASSIGN(Statement put,
               db.prepare("INSERT INTO assertion_refusals (job_id, assertion_id, refused_at) SELECT id, ?2, ?3 FROM "
                          "jobs WHERE id = ?1 AND state = 'pending' ON CONFLICT (job_id) DO UPDATE SET assertion_id = "
                          "?2, refused_at = ?3"));
  for (const AssertionHold& hold : holds) {
    if (hold.like_job == 0) BERTH_TRY(put.run(hold.job, hold.assertion, change.now()));
  }
  return {};
}

Status note_new_hold(Change& change, const HoldRow& row, std::span<const AssertionHold> holds,
                     std::span<const HeldBackJob> seen) {
  const AssertionHold& hold = row.hold;
  BERTH_ASSIGN(const std::string job, name_of(change.db(), Thing::kJob, hold.job));
  const auto why = std::ranges::find(seen, hold.job, &HeldBackJob::job);
  std::string detail;
  if (why != seen.end()) {
    detail = describe(why->broken);
  } else {
    BERTH_ASSIGN(const std::string assertion, name_of(change.db(), Thing::kAssertion, hold.assertion));
    detail = fmt::format("assertion {}", assertion);
  }
  const auto like = std::ranges::count(holds, hold.job, &AssertionHold::like_job);
  if (like > 0) detail += fmt::format("; {} like it held back untried", print_counted(like, "job"));
  return change.record(row.only_surplus ? "hold back surplus" : "hold back job", job, detail);
}

}  // namespace

Result<std::vector<AssertionHold>> read_assertion_holds(Database& db) { return read_those(db, false); }

Result<std::vector<AssertionHold>> read_surplus_holds(Database& db) { return read_those(db, true); }

Result<std::vector<AssertionRefusal>> read_assertion_refusals(Database& db, Seconds now, const RoundRules& rules) {
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT r.job_id, r.assertion_id, r.refused_at FROM assertion_refusals r "
                                          "JOIN jobs j ON j.id = r.job_id AND j.state = 'pending' "
                                          "JOIN assertions a ON a.id = r.assertion_id AND a.state = 'on' "
                                          "ORDER BY r.job_id"));
  std::vector<AssertionRefusal> refusals;
  while (rows.next()) {
    const AssertionRefusal refusal{rows.integer(0), rows.integer(1), rows.quantity<Seconds>(2)};
    if (refusal.counts(now, rules)) refusals.push_back(refusal);
  }
  BERTH_TRY(rows.status());
  return refusals;
}

Status drop_refusal(Change& change, std::int64_t job) {
  BERTH_ASSIGN(Statement remove, change.db().prepare("DELETE FROM assertion_refusals WHERE job_id = ?1"));
  return remove.run(job);
}

Status write_assertion_holds(Change& change, std::span<const AssertionHold> holds,
                             std::span<const AssertionHold> surplus_holds, std::span<const HeldBackJob> seen) {
  Database& db = change.db();
  BERTH_ASSIGN(const Settings settings, read_settings(db));
  BERTH_ASSIGN(const std::vector<AssertionRefusal> refused, read_assertion_refusals(db, change.now(), settings.rules));
  BERTH_TRY(write_refusals(change, refused, holds));
  BERTH_ASSIGN(const std::vector<HoldRow> before, read_rows(db));
  const std::vector<HoldRow> after = rows_of(holds, surplus_holds);
  if (before == after) return {};
  BERTH_ASSIGN(Statement remove, db.prepare("DELETE FROM assertion_holds WHERE job_id = ?1"));
  for (const HoldRow& old : before) {
    if (!std::ranges::binary_search(after, job_of(old), {}, job_of)) BERTH_TRY(remove.run(job_of(old)));
  }
  BERTH_ASSIGN(Statement put,
               db.prepare("INSERT INTO assertion_holds (job_id, assertion_id, like_job_id, only_surplus) VALUES (?1, "
                          "?2, nullif(?3, 0), ?4) ON CONFLICT (job_id) DO UPDATE SET assertion_id = ?2, like_job_id = "
                          "nullif(?3, 0), only_surplus = ?4"));
  for (const HoldRow& row : after) {
    const AssertionHold& hold = row.hold;
    const auto old = std::ranges::lower_bound(before, hold.job, {}, job_of);
    const bool is_kept = old != before.end() && job_of(*old) == hold.job;
    if (is_kept && *old == row) continue;
    BERTH_TRY(put.run(hold.job, hold.assertion, hold.like_job, static_cast<std::int64_t>(row.only_surplus)));
    const AssertionRefusal* const refusal = find_refusal(refused, hold.job);
    const bool is_news = (!is_kept || old->hold.assertion != hold.assertion || old->only_surplus != row.only_surplus) &&
                         (refusal == nullptr || refusal->assertion != hold.assertion);
    if (hold.like_job == 0 && is_news) BERTH_TRY(note_new_hold(change, row, holds, seen));
  }
  return {};
}

}  // namespace berth
