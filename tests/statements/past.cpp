#include "tests/statements/past.h"

#include <algorithm>

#include "engine/runtime/runtime.h"
#include "engine/store/kept_tables.h"
#include "engine/store/past_tables.h"
#include "engine/store/sql_text.h"
#include "engine/store/undo_log.h"

namespace berth::test {

namespace {

Result<std::vector<std::string>> tables_with_history(Database& db) {
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT name FROM main.sqlite_schema WHERE type = 'table' ORDER BY name"));
  std::vector<std::string> names;
  while (rows.next()) {
    if (keeping_of(rows.text(0)).keeping == Keeping::kChanges) names.emplace_back(rows.text(0));
  }
  BERTH_TRY(rows.status());
  return names;
}

Result<std::string> rows_of(Database& db, const std::string& schema, const std::string& table) {
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT * FROM " + schema + "." + sql_name(table)));
  std::vector<std::string> lines;
  while (rows.next()) {
    std::string line;
    for (int i = 0; i < rows.column_count(); ++i) {
      line += i == 0 ? "" : "|";
      line += rows.is_null(i) ? "NULL" : std::string(rows.text(i));
    }
    lines.push_back(std::move(line));
  }
  BERTH_TRY(rows.status());
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace

Status KeptPast::keep(Session& session) {
  if (session.read_only) return {};
  Database& db = session.runtime->db();
  BERTH_ASSIGN(const std::int64_t moment, db.integer("SELECT coalesce(max(id), 0) FROM history_moments"));
  if (moment == 0) {
    kept_.clear();
    return {};
  }
  Tables tables;
  BERTH_ASSIGN(const std::vector<std::string> names, tables_with_history(db));
  for (const std::string& name : names) {
    BERTH_ASSIGN(tables[name], rows_of(db, "main", name));
  }
  // A snapshot may have taken the place of later ones.
  kept_.erase(kept_.upper_bound(moment), kept_.end());
  const auto last = kept_.find(moment);
  BERTH_ASSIGN(const std::int64_t loaded, db.integer("SELECT kind = 'load' FROM history_moments ORDER BY id DESC"));
  if (last != kept_.end() && loaded == 0) {
    for (const auto& [name, rows] : tables) {
      if (rows == last->second.at(name)) continue;
      return Status(Code::kInternal, "table " + name + " has changed past the history; before:\n" +
                                         last->second.at(name) + "now:\n" + rows);
    }
  }
  kept_[moment] = std::move(tables);
  return {};
}

Result<std::vector<std::string>> KeptPast::differences(Session& session) const {
  std::vector<std::string> found;
  Database& db = session.runtime->db();
  BERTH_ASSIGN(const std::int64_t oldest, db.integer("SELECT coalesce(min(id), 0) FROM history_moments"));
  BERTH_ASSIGN(const std::vector<std::string> names, tables_with_history(db));
  for (const auto& [id, tables] : kept_) {
    if (oldest == 0 || id < oldest) continue;
    BERTH_ASSIGN(MemoryImage image, past_tables(db, {id, Seconds(0), 0, Seconds(0)}, names));
    BERTH_ASSIGN(Database past, Database::open(":memory:", Access::kReadWrite));
    BERTH_TRY(std::move(image).attach(past, "past"));
    for (const std::string& name : names) {
      BERTH_ASSIGN(const std::string rows, rows_of(past, "past", name));
      if (rows == tables.at(name)) continue;
      found.push_back("moment " + std::to_string(id) + ", table " + name + "\n  it was:\n" + tables.at(name) +
                      "  the history says:\n" + rows);
    }
  }
  return found;
}

}  // namespace berth::test
