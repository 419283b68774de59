#include "engine/store/wait_records.h"

#include <algorithm>
#include <optional>

namespace berth {

namespace {

std::optional<std::int64_t> known_queue(std::int64_t queue) { return queue == 0 ? std::nullopt : std::optional(queue); }

struct Found {
  WaitCause cause;
  std::int64_t beneficiary;  // queue; 0 = none
};

// Who took back what it ran on stays the one it waits for.
Found found_now(const Waiting& waiting, const LastReason* last) {
  if (last == nullptr) return {cause_of(waiting, WaitCause::kRound, false), waiting.beneficiary};
  const WaitCause cause = cause_of(waiting, last->cause, last->reclaimed);
  const bool goes_on = cause == WaitCause::kLenderReclaimed && last->cause == cause;
  return {cause, goes_on ? last->beneficiary : waiting.beneficiary};
}

// What a pending or held job waited for until now.
Status write_stretch(Change& change, std::int64_t job) {
  BERTH_ASSIGN(Statement insert,
               change.db().prepare("INSERT INTO wait_stretches (job_id, from_time, to_time, cause, beneficiary_id) "
                                   "SELECT id, coalesce(wait_since, submit_time), ?2, coalesce(wait_cause, 'round'), "
                                   "wait_beneficiary_id FROM jobs WHERE id = ?1 AND state IN ('pending', 'held') "
                                   "AND coalesce(wait_since, submit_time) < ?2"));
  return insert.run(job, change.now());
}

}  // namespace

Status end_wait(Change& change, std::int64_t job) {
  BERTH_TRY(write_stretch(change, job));
  BERTH_ASSIGN(Statement update,
               change.db().prepare("UPDATE jobs SET wait_reason = NULL, wait_cause = NULL, wait_beneficiary_id = NULL, "
                                   "wait_since = NULL WHERE id = ?1"));
  return update.run(job);
}

Status begin_wait(Change& change, std::int64_t job, WaitCause cause, std::int64_t beneficiary,
                  std::optional<Seconds> since) {
  BERTH_TRY(write_stretch(change, job));
  BERTH_ASSIGN(Statement update,
               change.db().prepare("UPDATE jobs SET wait_reason = NULL, wait_cause = ?2, wait_beneficiary_id = ?3, "
                                   "wait_since = max(?4, submit_time, coalesce(wait_since, 0), coalesce((SELECT "
                                   "max(to_time) FROM wait_stretches WHERE job_id = ?1), 0)) WHERE id = ?1"));
  const std::optional<std::string_view> name =
      cause == WaitCause::kRound ? std::nullopt : std::optional(wait_cause_name(cause));
  return update.run(job, name, known_queue(beneficiary), since.value_or(change.now()));
}

Result<std::vector<LastReason>> read_last_reasons(Database& db) {
  BERTH_ASSIGN(Statement rows,
               db.prepare("SELECT j.id, j.wait_reason, j.wait_cause, j.wait_beneficiary_id, "
                          "iif(j.state = 'running', -1, coalesce(j.wait_since, j.submit_time)), "
                          "iif(j.evictions = 0, NULL, (SELECT e.rule FROM evictions e WHERE e.victim_id = j.id AND "
                          "e.whole = 1 ORDER BY e.id DESC LIMIT 1)) FROM live_jobs j ORDER BY j.id"));
  std::vector<LastReason> reasons;
  while (rows.next()) {
    LastReason& last = reasons.emplace_back();
    last.job = rows.integer(0);
    last.since = rows.quantity<Seconds>(4);
    if (!rows.is_null(1)) {
      BERTH_ASSIGN(last.reason, read_reason(rows.text(1)));
    }
    if (!rows.is_null(2)) {
      BERTH_ASSIGN(last.cause, read_wait_cause(rows.text(2)));
    }
    last.beneficiary = rows.integer(3);
    if (rows.is_null(5)) continue;
    BERTH_ASSIGN(const EvictionRule rule, read_eviction_rule(rows.text(5)));
    last.reclaimed = is_reclaim(rule);
  }
  BERTH_TRY(rows.status());
  return reasons;
}

LastReasons::LastReasons(std::span<const LastReason> by_id) : by_id_(by_id) {
  if (by_id.empty()) return;
  first_ = by_id.front().job;
  const auto range = static_cast<std::size_t>(by_id.back().job - first_) + 1;
  if (range > kMostPlaces) return;
  place_.assign(range, 0);
  for (std::size_t i = 0; i < by_id.size(); ++i) {
    place_[static_cast<std::size_t>(by_id[i].job - first_)] = static_cast<std::uint32_t>(i + 1);
  }
}

const LastReason* LastReasons::find(std::int64_t job) const {
  if (!place_.empty()) {
    const auto at = static_cast<std::size_t>(job - first_);  // below first_: wraps beyond the end
    return at < place_.size() && place_[at] != 0 ? &by_id_[place_[at] - 1] : nullptr;
  }
  const auto last = std::ranges::lower_bound(by_id_, job, {}, &LastReason::job);
  return last != by_id_.end() && last->job == job ? &*last : nullptr;
}

Result<WaitWriter> WaitWriter::make(Change& change) {
  Database& db = change.db();
  BERTH_ASSIGN(Statement stretch,
               db.prepare("INSERT INTO wait_stretches (job_id, from_time, to_time, cause, beneficiary_id) "
                          "VALUES (?1, ?2, ?3, ?4, ?5)"));
  BERTH_ASSIGN(Statement move, db.prepare("UPDATE jobs SET wait_reason = ?2, wait_cause = ?3, wait_beneficiary_id = "
                                          "?4, wait_since = ?5 WHERE id = ?1"));
  BERTH_ASSIGN(Statement reason, db.prepare("UPDATE jobs SET wait_reason = ?2 WHERE id = ?1"));
  return WaitWriter(change.now(), std::move(stretch), std::move(move), std::move(reason));
}

Status WaitWriter::end(const LastReason& last) {
  if (last.since < Seconds(0) || last.since >= now_) return {};
  return stretch_.run(last.job, last.since, now_, wait_cause_name(last.cause), known_queue(last.beneficiary));
}

Status WaitWriter::judge(const Waiting& waiting, const LastReason* last) {
  const Found found = found_now(waiting, last);
  if (last != nullptr && last->cause == found.cause && last->beneficiary == found.beneficiary)
    return reason_.run(waiting.job, reason_name(waiting.reason));
  if (last != nullptr) BERTH_TRY(end(*last));
  return move_.run(waiting.job, reason_name(waiting.reason), wait_cause_name(found.cause),
                   known_queue(found.beneficiary), last != nullptr ? std::max(now_, last->since) : now_);
}

bool finds_the_same(const Waiting& waiting, const LastReason* last) {
  if (last == nullptr || last->reason != waiting.reason) return false;
  const Found found = found_now(waiting, last);
  return last->cause == found.cause && last->beneficiary == found.beneficiary;
}

}  // namespace berth
