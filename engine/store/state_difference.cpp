#include "engine/store/state_difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "engine/store/past_rows.h"
#include "engine/store/sql_text.h"

namespace berth {

namespace {

std::optional<TableRow> past_row(const PastRows& past, const std::string& key, std::optional<TableRow> later) {
  const auto found = past.rows().find(key);
  if (found == past.rows().end()) return later;
  if (!found->second.was_there) return std::nullopt;
  return past.restore(key, found->second, later ? &*later : nullptr);
}

}  // namespace

const TableValue& RowView::at(std::string_view column) const {
  static const TableValue null;
  const auto found = std::ranges::find(*columns, column);
  return found == columns->end() ? null : (*row)[static_cast<std::size_t>(found - columns->begin())];
}

std::int64_t RowView::integer(std::string_view column) const {
  const auto* number = std::get_if<std::int64_t>(&at(column));
  return number == nullptr ? 0 : *number;
}

std::string RowView::text(std::string_view column) const { return print_value(at(column)); }

Status for_each_difference(Database& db, const std::string& table, const Moment& from, const Moment& to,
                           const std::function<Status(const RowView& before, const RowView& after)>& each) {
  BERTH_ASSIGN(const PastRows between, PastRows::read(db, table, from.id, to.id));
  BERTH_ASSIGN(const PastRows since, PastRows::read(db, table, to.id));
  BERTH_ASSIGN(PresentRows present, PresentRows::make(db, since.present()));
  std::vector<const std::string*> keys;
  for (const auto& [key, row] : between.rows()) keys.push_back(&key);
  std::ranges::sort(keys, {}, [](const std::string* key) { return read_values(*key); });
  for (const std::string* key : keys) {
    BERTH_ASSIGN(std::optional<TableRow> row, present.find(*key));
    const std::optional<TableRow> after = past_row(since, *key, std::move(row));
    const std::optional<TableRow> before = past_row(between, *key, after);
    if (before == after) continue;
    const std::vector<std::string>* columns = &since.present().columns;
    BERTH_TRY(each({columns, before ? &*before : nullptr}, {columns, after ? &*after : nullptr}));
  }
  return {};
}

Status for_each_step(
    Database& db, const std::string& table, const std::function<bool(const std::vector<TableValue>& key)>& wanted,
    const std::function<Status(const RowStep& step, const RowView& before, const RowView& after)>& each) {
  BERTH_ASSIGN(const std::vector<RowChange> changes, changes_of_rows(db, table, wanted));
  BERTH_ASSIGN(const PastRows nothing, PastRows::read(db, table, INT64_MAX));
  BERTH_ASSIGN(PresentRows present, PresentRows::make(db, nothing.present()));
  const std::vector<std::string>& columns = nothing.present().columns;
  std::map<std::string, std::optional<TableRow>> state;  // by key, from now backwards
  std::vector<std::pair<std::optional<TableRow>, std::optional<TableRow>>> steps(changes.size());
  for (std::size_t i = changes.size(); i-- > 0;) {
    const RowChange& change = changes[i];
    if (!state.contains(change.key)) {
      BERTH_ASSIGN(state[change.key], present.find(change.key));
    }
    std::optional<TableRow>& row = state[change.key];
    steps[i].second = row;
    if (change.kind == UndoKind::kInserted) {
      row.reset();
    } else {
      row = nothing.restore(change.key, change.before(), row ? &*row : nullptr);
    }
    steps[i].first = row;
  }
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const auto& [before, after] = steps[i];
    if (!before && !after) continue;  // only in a damaged history
    BERTH_TRY(each({changes[i].moment, changes[i].time, changes[i].version}, {&columns, before ? &*before : nullptr},
                   {&columns, after ? &*after : nullptr}));
  }
  return {};
}

std::string PastNames::of(const std::string& table, std::int64_t id) {
  if (id == 0) return {};
  const auto [known, is_new] = known_.try_emplace({table, id});
  if (!is_new) return known->second;
  Result<Statement> row = db_->prepare(fmt::format("SELECT name FROM main.{} WHERE id = ?1", sql_name(table)));
  if (row.ok() && row->with(id).next()) return known->second = row->text(0);
  if (!gone_.contains(table)) {
    std::map<std::int64_t, std::string>& names = gone_[table];
    (void)for_each_step(
        *db_, table, [](const std::vector<TableValue>&) { return true; },
        [&](const RowStep&, const RowView& before, const RowView& after) {
          if (!after) names[before.integer("id")] = before.text("name");
          return Status();
        });
  }
  const auto gone = gone_[table].find(id);
  return known->second = gone != gone_[table].end() ? gone->second : fmt::format("number {}", id);
}

}  // namespace berth
