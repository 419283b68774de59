#include "engine/store/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "engine/base/plain_text.h"
#include "engine/base/text.h"

namespace berth {

namespace {

struct ThingTable {
  std::string_view word;
  std::string_view table;
};

// In the order of Thing.
constexpr ThingTable kThingTables[] = {
    {"pool", "pools"},
    {"device model", "device_models"},
    {"node type", "node_types"},
    {"node", "nodes"},
    {"queue", "queues"},
    {"priority class", "priority_classes"},
    {"job", "jobs"},
    {"executor", "executors"},
    {"assertion", "assertions"},
    {"policy", "policies"},
};

const ThingTable& thing_table(Thing thing) { return kThingTables[static_cast<std::size_t>(thing)]; }

constexpr std::size_t kNamesToCompare = 20000;  // for suggestions
constexpr std::size_t kLongestName = 200;

// The id, or 0.
Result<std::int64_t> look_up(Database& db, Thing thing, std::string_view name) {
  const std::string_view rank = thing == Thing::kJob ? " ORDER BY end_time IS NOT NULL, id DESC LIMIT 1" : "";
  BERTH_ASSIGN(Statement row,
               db.prepare(fmt::format("SELECT id FROM {} WHERE name = ?1{}", thing_table(thing).table, rank)));
  row.with(name);
  const std::int64_t id = row.next() ? row.integer(0) : 0;
  BERTH_TRY(row.status());
  return id;
}

Status unknown_name(Database& db, Thing thing, std::string_view name) {
  BERTH_ASSIGN(const std::vector<std::string> names, names_of(db, thing, kNamesToCompare));
  std::string hint = suggest(name, names);
  if (hint.empty() && names.empty()) hint = fmt::format("there is no {} yet", thing_word(thing));
  return Status(Code::kNotFound, fmt::format("no {} '{}'", thing_word(thing), name), std::move(hint))
      .about(thing_word(thing), name);
}

}  // namespace

std::string_view thing_word(Thing thing) { return thing_table(thing).word; }

Result<std::int64_t> find_id(Database& db, Thing thing, std::string_view name) {
  BERTH_ASSIGN(const std::int64_t id, look_up(db, thing, name));
  if (id != 0) return id;
  return unknown_name(db, thing, name);
}

Result<std::int64_t> find_job(Database& db, std::string_view name_or_id) {
  BERTH_ASSIGN(const std::int64_t named, look_up(db, Thing::kJob, name_or_id));
  if (named != 0) return named;
  std::int64_t id = 0;
  const auto [end, failure] = std::from_chars(name_or_id.data(), name_or_id.data() + name_or_id.size(), id);
  if (failure == std::errc() && end == name_or_id.data() + name_or_id.size()) {
    BERTH_ASSIGN(Statement row, db.prepare("SELECT 1 FROM jobs WHERE id = ?1"));
    if (row.with(id).next()) return id;
    BERTH_TRY(row.status());
  }
  return unknown_name(db, Thing::kJob, name_or_id);
}

Result<std::string> name_of(Database& db, Thing thing, std::int64_t id) {
  BERTH_ASSIGN(Statement row, db.prepare(fmt::format("SELECT name FROM {} WHERE id = ?1", thing_table(thing).table)));
  if (row.with(id).next()) return std::string(row.text(0));
  BERTH_TRY(row.status());
  return Status(Code::kNotFound, fmt::format("no {} with id {}", thing_word(thing), id));
}

Result<std::vector<std::string>> names_of(Database& db, Thing thing, std::size_t most) {
  BERTH_ASSIGN(
      Statement rows,
      db.prepare(fmt::format("SELECT name FROM {}{} ORDER BY {} LIMIT ?1", thing_table(thing).table,
                             thing == Thing::kJob ? " GROUP BY name" : "", thing == Thing::kJob ? "max(id)" : "id")));
  rows.with(most);
  std::vector<std::string> names;
  while (rows.next()) names.emplace_back(rows.text(0));
  BERTH_TRY(rows.status());
  return names;
}

Status check_plain_text(std::string_view what, std::string_view text) {
  if (!is_utf8(text)) return Status(Code::kInvalid, fmt::format("{} must be text in UTF-8", what));
  if (has_unseen(text))
    return Status(Code::kInvalid, fmt::format("{} must not have control characters or others that do not show", what));
  return {};
}

Status check_name_text(Thing thing, std::string_view name) {
  if (name.empty()) return Status(Code::kInvalid, fmt::format("the name of a {} must not be empty", thing_word(thing)));
  if (name.size() > kLongestName) {
    return Status(Code::kInvalid, fmt::format("the name of a {} may have {} bytes, this one has {}", thing_word(thing),
                                              kLongestName, name.size()));
  }
  if (trim(name).empty())
    return Status(Code::kInvalid, fmt::format("the name of a {} must not be blank", thing_word(thing)));
  BERTH_TRY(check_plain_text(fmt::format("the name of a {}", thing_word(thing)), name));
  if (thing == Thing::kJob && std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    return Status(Code::kInvalid, fmt::format("'{}' cannot name a job: numbers are the ids of jobs", name),
                  "put a letter into it");
  }
  return {};
}

Result<bool> has_name(Database& db, Thing thing, std::string_view name) {
  BERTH_ASSIGN(const std::int64_t id, look_up(db, thing, name));
  return id != 0;
}

Status check_new_name(Database& db, Thing thing, std::string_view name, std::int64_t renamed) {
  BERTH_TRY(check_name_text(thing, name));
  const bool is_job = thing == Thing::kJob;
  const std::string_view table = thing_table(thing).table;
  const std::string_view live = is_job ? " AND end_time IS NULL" : "";
  BERTH_ASSIGN(Statement same, db.prepare(fmt::format("SELECT 1 FROM {} WHERE name = ?1{}", table, live)));
  const bool is_taken = same.with(name).next();
  BERTH_TRY(same.status());
  if (is_taken) return Status(Code::kExists, fmt::format("{} '{}' exists already", thing_word(thing), name));
  if (is_job) return {};  // users name them by the thousand
  BERTH_ASSIGN(Statement row,
               db.prepare(fmt::format("SELECT name FROM {} WHERE name = ?1 COLLATE NOCASE AND id <> ?2", table)));
  if (row.with(name, renamed).next()) {
    return Status(Code::kExists,
                  fmt::format("{} '{}' exists already; names must differ in more than upper and lower case",
                              thing_word(thing), row.text(0)));
  }
  return row.status();
}

Status check_unused(Database& db, Thing thing, std::string_view name, std::int64_t id, std::span<const Use> uses) {
  std::vector<std::string> found;
  std::string hint;
  for (const Use& use : uses) {
    BERTH_ASSIGN(Statement row, db.prepare(use.sql));
    const bool by_name = row.parameter_count() > 1;
    const std::int64_t count = (by_name ? row.with(id, name) : row.with(id)).next() ? row.integer(0) : 0;
    BERTH_TRY(row.status());
    if (count == 0) continue;
    found.push_back(fmt::format("{} {}{}", print_count(count), use.word, count == 1 ? "" : "s"));
    if (use.word == "job") hint = "ended jobs count too: they stay until the setting job_retention removes them";
  }
  if (found.empty()) return {};
  return Status(Code::kConflict, fmt::format("{} '{}' is in use: {}", thing_word(thing), name, join(found, ", ")),
                std::move(hint));
}

std::string summarize_names(std::span<const std::string> names) {
  if (names.empty()) return {};
  if (names.size() == 1) return names.front();
  return fmt::format("{} .. {} ({})", names.front(), names.back(), names.size());
}

}  // namespace berth
