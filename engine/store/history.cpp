#include "engine/store/history.h"

#include <fmt/format.h>

#include "engine/base/text.h"

namespace berth {

namespace {

struct FoundMoment {
  Moment moment;
  bool is_load = false;
};

// The last one of which `condition` is true.
template <class Value>
Result<std::optional<FoundMoment>> find_moment(Database& db, std::string_view condition, const Value& value) {
  BERTH_ASSIGN(Statement row, db.prepare(fmt::format("SELECT id, time, state_version, kind FROM history_moments "
                                                     "WHERE {} ORDER BY id DESC LIMIT 1",
                                                     condition)));
  if (!row.with(value).next()) {
    BERTH_TRY(row.status());
    return std::optional<FoundMoment>();
  }
  const Moment moment{row.integer(0), row.quantity<Seconds>(1), row.integer(2), row.quantity<Seconds>(1)};
  return std::optional(FoundMoment{moment, row.text(3) == "load"});
}

// Why nothing is known before `oldest`.
Result<std::string> why_no_older(Database& db, const Moment& oldest) {
  BERTH_ASSIGN(Statement row,
               db.prepare("SELECT 1 FROM events WHERE state_version = ?1 AND object = 'record_history'"));
  const bool was_off = row.with(oldest.version).next();
  BERTH_TRY(row.status());
  return std::string(was_off ? "record_history was off until then"
                             : "history_retention and history_mib say how long history is kept");
}

Status before_oldest(Database& db, std::string_view what) {
  BERTH_ASSIGN(Statement row, db.prepare("SELECT id, time, state_version FROM history_moments ORDER BY id LIMIT 1"));
  if (!row.next()) {
    BERTH_TRY(row.status());
    return Status(Code::kNotFound, "there is no history yet",
                  "it begins with the next change, unless record_history is false");
  }
  const Moment oldest{row.integer(0), row.quantity<Seconds>(1), row.integer(2), {}};
  BERTH_ASSIGN(std::string hint, why_no_older(db, oldest));
  return Status(Code::kNotFound,
                fmt::format("{} is before the history, which begins at {} (version {})", what, print_time(oldest.time),
                            oldest.version),
                std::move(hint));
}

// The one after `moment`, when it is the loading of a snapshot.
Result<std::optional<Seconds>> load_after(Database& db, const Moment& moment) {
  BERTH_ASSIGN(Statement row, db.prepare("SELECT time, kind FROM history_moments WHERE id > ?1 ORDER BY id LIMIT 1"));
  const bool is_load = row.with(moment.id).next() && row.text(1) == "load";
  std::optional<Seconds> time;
  if (is_load) time = row.quantity<Seconds>(0);
  BERTH_TRY(row.status());
  return time;
}

Result<Moment> moment_of_round(Database& db, std::int64_t round) {
  BERTH_ASSIGN(Statement row,
               db.prepare("SELECT max(state_version) FROM events WHERE object = 'round ' || ?1 AND kind LIKE 'run %'"));
  if (!row.with(round).next() || row.is_null(0)) {
    BERTH_TRY(row.status());
    return Status(Code::kNotFound, fmt::format("no round {}, or its event is gone", round));
  }
  return moment_of_version(db, row.integer(0));
}

}  // namespace

Result<Moment> moment_at(Database& db, Seconds time, Seconds now) {
  if (time > now) {
    return Status(Code::kInvalid, fmt::format("{} has not come yet: it is {}", print_time(time), print_time(now)));
  }
  BERTH_ASSIGN(std::optional<FoundMoment> found, find_moment(db, "time <= ?1", time));
  if (!found) {
    return before_oldest(db, print_time(time));
  }
  BERTH_ASSIGN(const std::optional<Seconds> loaded, load_after(db, found->moment));
  if (loaded && time > found->moment.time) {
    return Status(Code::kNotFound,
                  fmt::format("what was there at {} was replaced by a snapshot, loaded at {}", print_time(time),
                              print_time(*loaded)),
                  fmt::format("before it the history ends at {}", print_time(found->moment.time)));
  }
  found->moment.asked = time;
  return found->moment;
}

Result<Moment> moment_of_version(Database& db, std::int64_t version) {
  BERTH_ASSIGN(const std::int64_t present, db.integer("SELECT value FROM meta WHERE key = 'state_version'"));
  if (version > present)
    return Status(Code::kNotFound, fmt::format("no version {} yet: the state is at {}", version, present));
  BERTH_ASSIGN(std::optional<FoundMoment> found, find_moment(db, "state_version <= ?1", version));
  if (!found) return before_oldest(db, fmt::format("version {}", version));
  if (version > found->moment.version) {
    BERTH_ASSIGN(const std::optional<Seconds> loaded, load_after(db, found->moment));
    if (loaded) {
      return Status(Code::kNotFound,
                    fmt::format("version {} was replaced by a snapshot, loaded at {}", version, print_time(*loaded)),
                    fmt::format("before it the history ends at version {}", found->moment.version));
    }
  }
  return found->moment;
}

namespace {

// "version 12", "round 7"
Result<std::optional<Moment>> read_numbered_moment(Database& db, std::string_view words) {
  const std::size_t space = words.find(' ');
  const std::string first = to_lower(words.substr(0, space));
  if (space == std::string_view::npos || (first != "version" && first != "round")) return std::optional<Moment>();
  BERTH_ASSIGN(const std::int64_t number, read_integer(trim(words.substr(space))));
  Result<Moment> moment = first == "round" ? moment_of_round(db, number) : moment_of_version(db, number);
  if (!moment.ok()) return std::move(moment).status();
  return std::optional(*moment);
}

// "now", "90m ago", "2026-11-01 09:00"
Result<Seconds> read_time_before(std::string_view words, Seconds now) {
  if (equals_ignoring_case(words, "now")) return now;
  if (words.size() > 4 && equals_ignoring_case(words.substr(words.size() - 4), " ago")) {
    BERTH_ASSIGN(const Seconds ago, read_duration(trim(words.substr(0, words.size() - 4))));
    return now - ago;
  }
  Result<Seconds> time = read_time(words);
  if (time.ok()) return time;
  return Status(Code::kInvalid, fmt::format("'{}' is no moment", words),
                "such as '2026-11-01 09:00' (UTC), '90m ago', 'version 12', 'round 7'");
}

}  // namespace

Result<Moment> read_moment(Database& db, std::string_view text, Seconds now) {
  BERTH_ASSIGN(const std::optional<Moment> numbered, read_numbered_moment(db, trim(text)));
  if (numbered) return *numbered;
  BERTH_ASSIGN(const Seconds time, read_time_before(trim(text), now));
  return moment_at(db, time, now);
}

Result<Seconds> read_past_time(Database& db, std::string_view text, Seconds now) {
  BERTH_ASSIGN(const std::optional<Moment> numbered, read_numbered_moment(db, trim(text)));
  if (numbered) return numbered->time;
  return read_time_before(trim(text), now);
}

Result<std::int64_t> prune_moments(Database& db, Seconds keep_since, std::int64_t most_bytes) {
  // What is left of the last that goes is the oldest that is known.
  BERTH_ASSIGN(Statement row,
               db.prepare("SELECT max(id) FROM (SELECT id, time, sum(bytes) OVER (ORDER BY id DESC) AS bytes FROM "
                          "history_moments) WHERE time < ?1 OR bytes > ?2"));
  const bool any = row.with(keep_since, most_bytes).next() && !row.is_null(0);
  const std::int64_t last = any ? row.integer(0) : 0;
  BERTH_TRY(row.status());
  if (!any) return 0;
  BERTH_ASSIGN(Statement changes, db.prepare("DELETE FROM history_changes WHERE moment_id <= ?1"));
  BERTH_TRY(changes.run(last));
  BERTH_ASSIGN(Statement begin, db.prepare("UPDATE history_moments SET kind = 'begin', bytes = 0 WHERE id = ?1"));
  BERTH_TRY(begin.run(last));
  BERTH_ASSIGN(Statement moments, db.prepare("DELETE FROM history_moments WHERE id < ?1"));
  BERTH_TRY(moments.run(last));
  const std::int64_t pruned = db.changed_rows();
  if (pruned > 0) {
    BERTH_TRY(db.execute("DELETE FROM history_layouts WHERE id NOT IN (SELECT layout_id FROM history_changes)"));
  }
  return pruned;
}

Result<HistoryStatistics> history_statistics(Database& db) {
  BERTH_ASSIGN(Statement row, db.prepare("SELECT count(*), coalesce(sum(bytes), 0), (SELECT time FROM history_moments "
                                         "ORDER BY id LIMIT 1) FROM history_moments"));
  if (!row.next()) return row.status();
  HistoryStatistics statistics{row.integer(0), row.integer(1), std::nullopt};
  if (!row.is_null(2)) statistics.since = row.quantity<Seconds>(2);
  return statistics;
}

}  // namespace berth
