#include "engine/store/quota_records.h"

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <utility>

#include "engine/base/text.h"
#include "engine/store/names.h"
#include "engine/store/resource_names.h"

namespace berth {

namespace {

constexpr std::int64_t kMostBand = 1000000;
constexpr double kMostWeight = 1e9;

struct QuotaColumnRow {
  std::string_view word;
  std::string_view column;
};
// In the order of QuotaColumn.
constexpr QuotaColumnRow kQuotaColumns[] = {{"quota", "quota"},
                                            {"limit", "limit_amount"},
                                            {"borrow limit", "borrow_limit"},
                                            {"lend limit", "lend_limit"},
                                            {"weight", "weight"}};

const QuotaColumnRow& quota_column(QuotaColumn column) { return kQuotaColumns[static_cast<std::size_t>(column)]; }

Status check_weight(double weight) {
  if (weight >= 0 && weight <= kMostWeight) return {};
  return Status(Code::kInvalid, fmt::format("a weight lies between 0 and {}, not {}", kMostWeight, weight));
}

Status check_period(const QuotaPeriod& period, bool sets_something, Seconds now) {
  if (period.from && period.to && *period.from >= *period.to) {
    return Status(Code::kInvalid, fmt::format("a period that begins at {} cannot end at {}", print_time(*period.from),
                                              print_time(*period.to)))
        .about("to");
  }
  if (sets_something && period.to && *period.to <= now) {
    return Status(Code::kInvalid, fmt::format("a period that ends at {} is over", print_time(*period.to))).about("to");
  }
  return {};
}

Status check_settings(const ResourceNames& names, std::span<const QuotaSetting> settings) {
  if (settings.empty()) return Status(Code::kInvalid, "nothing to set");
  std::set<std::pair<QuotaColumn, std::string_view>> seen;
  for (const QuotaSetting& setting : settings) {
    if (setting.takes_back() ? false : (setting.column == QuotaColumn::kWeight) != setting.weight.has_value()) {
      return Status(Code::kInternal, "a weight is no amount");
    }
    if (!setting.takes_back()) BERTH_TRY(names.find(setting.resource).status());
    if (setting.weight) BERTH_TRY(check_weight(*setting.weight));
    if (setting.amount && *setting.amount < 0) {
      return Status(Code::kInvalid, fmt::format("a {} must not be negative", quota_column_word(setting.column)));
    }
    if (!seen.insert({setting.column, setting.resource}).second) {
      return Status(Code::kInvalid,
                    fmt::format("the {} of {} is given twice", quota_column_word(setting.column), setting.resource));
    }
  }
  return {};
}

std::string describe_period(const QuotaPeriod& period) {
  std::string text;
  if (period.from) text += " from " + print_time(*period.from);
  if (period.to) text += " to " + print_time(*period.to);
  return text;
}

std::string describe_setting(const ResourceNames& names, const QuotaSetting& setting) {
  std::string value = "none";
  if (setting.amount) value = print_amount(names.stored(setting.resource).kind, *setting.amount);
  if (setting.weight) value = fmt::format("{}", *setting.weight);
  return fmt::format("{} of {} {}", quota_column_word(setting.column), setting.resource, value);
}

Status write_setting(Database& db, std::int64_t queue, const QuotaSetting& setting, const QuotaPeriod& period) {
  const std::string_view column = quota_column(setting.column).column;
  const auto run = [&](Statement& statement) {
    return setting.column == QuotaColumn::kWeight
               ? statement.run(queue, setting.resource, period.from, period.to, setting.weight)
               : statement.run(queue, setting.resource, period.from, period.to, setting.amount);
  };
  BERTH_ASSIGN(Statement update,
               db.prepare(fmt::format("UPDATE quotas SET {0} = ?5 WHERE queue_id = ?1 AND resource = ?2 "
                                      "AND valid_from IS ?3 AND valid_to IS ?4 AND ({0} IS NOT NULL OR ?5 IS NOT NULL)",
                                      column)));
  BERTH_TRY(run(update));
  if (db.changed_rows() > 0) return {};
  if (setting.takes_back()) {
    return Status(Code::kNotFound,
                  fmt::format("there is no {} of {}{} to take back", quota_column_word(setting.column),
                              setting.resource, describe_period(period)),
                  "SHOW QUOTAS lists what there is");
  }
  BERTH_ASSIGN(Statement insert,
               db.prepare(fmt::format("INSERT INTO quotas (queue_id, resource, valid_from, valid_to, {}) "
                                      "VALUES (?1, ?2, ?3, ?4, ?5)",
                                      column)));
  return run(insert);
}

}  // namespace

std::string_view quota_column_word(QuotaColumn column) { return quota_column(column).word; }

Status set_quota(Change& change, const std::string& queue, std::span<const QuotaSetting> settings,
                 const QuotaPeriod& period) {
  Database& db = change.db();
  BERTH_ASSIGN(const std::int64_t id, find_id(db, Thing::kQueue, queue));
  BERTH_ASSIGN(const ResourceNames names, ResourceNames::read(db));
  BERTH_TRY(check_settings(names, settings));
  bool sets_something = false;
  for (const QuotaSetting& setting : settings) sets_something = sets_something || !setting.takes_back();
  BERTH_TRY(check_period(period, sets_something, change.now()));
  std::vector<std::string> words;
  for (const QuotaSetting& setting : settings) {
    BERTH_TRY(write_setting(db, id, setting, period));
    words.push_back(describe_setting(names, setting));
  }
  BERTH_ASSIGN(Statement empty_rows,
               db.prepare("DELETE FROM quotas WHERE queue_id = ?1 AND "
                          "coalesce(quota, limit_amount, borrow_limit, lend_limit, weight) IS NULL"));
  BERTH_TRY(empty_rows.run(id));
  change.use_changed();
  return change.record("set quota", queue, join(words, ", ") + describe_period(period));
}

Result<QuotaPeriod> period_in_force(Database& db, std::int64_t queue, std::string_view resource, QuotaColumn column,
                                    Seconds now) {
  BERTH_ASSIGN(Statement row, db.prepare(fmt::format(
                                  "SELECT valid_from, valid_to FROM quotas WHERE queue_id = ?1 AND resource = ?2 AND "
                                  "coalesce(valid_from <= ?3, 1) AND coalesce(?3 < valid_to, 1) AND {} IS NOT NULL "
                                  "ORDER BY coalesce(valid_from, valid_to) IS NOT NULL DESC, valid_from DESC, id DESC",
                                  quota_column(column).column)));
  QuotaPeriod period;
  if (row.with(queue, resource, now).next()) {
    if (!row.is_null(0)) period.from = row.quantity<Seconds>(0);
    if (!row.is_null(1)) period.to = row.quantity<Seconds>(1);
  }
  BERTH_TRY(row.status());
  return period;
}

std::string period_clause(const QuotaPeriod& period) {
  std::string clause;
  if (period.from) clause += fmt::format(" FROM '{}'", print_time(*period.from));
  if (period.to) clause += fmt::format(" TO '{}'", print_time(*period.to));
  return clause;
}

Status reset_quota(Change& change, const std::string& queue, std::span<const std::string> resources) {
  Database& db = change.db();
  BERTH_ASSIGN(const std::int64_t id, find_id(db, Thing::kQueue, queue));
  const auto nothing = [](std::string_view of) {
    return Status(Code::kNotFound, fmt::format("there is no quota{} to take back", of),
                  "SHOW QUOTAS lists what there is");
  };
  if (resources.empty()) {
    BERTH_ASSIGN(Statement remove, db.prepare("DELETE FROM quotas WHERE queue_id = ?1"));
    BERTH_TRY(remove.run(id));
    if (db.changed_rows() == 0) return nothing("");
  }
  for (const std::string& resource : resources) {
    BERTH_ASSIGN(Statement remove, db.prepare("DELETE FROM quotas WHERE queue_id = ?1 AND resource = ?2"));
    BERTH_TRY(remove.run(id, resource));
    if (db.changed_rows() == 0) return nothing(" of " + resource);
  }
  change.use_changed();
  return change.record("reset quota", queue, join(std::vector<std::string>(resources.begin(), resources.end()), ", "));
}

Result<std::vector<std::string>> quota_resources_of(Database& db, const std::string& queue) {
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT DISTINCT t.resource FROM quotas t JOIN queues q ON q.id = t.queue_id "
                                          "WHERE q.name = ?1 ORDER BY 1"));
  rows.with(queue);
  std::vector<std::string> resources;
  while (rows.next()) resources.emplace_back(rows.text(0));
  BERTH_TRY(rows.status());
  return resources;
}

Status alter_queue_share(Change& change, const std::string& queue, const ShareAlteration& alteration) {
  Database& db = change.db();
  BERTH_ASSIGN(const std::int64_t id, find_id(db, Thing::kQueue, queue));
  std::vector<std::string> words;
  const auto set = [&](std::string_view column, const auto& value, std::string word) -> Status {
    BERTH_ASSIGN(Statement update, db.prepare(fmt::format("UPDATE queues SET {} = ?2 WHERE id = ?1", column)));
    words.push_back(std::move(word));
    return update.run(id, value);
  };
  if (alteration.weight) {
    BERTH_TRY(check_weight(*alteration.weight));
    BERTH_TRY(set("weight", *alteration.weight, fmt::format("weight {}", *alteration.weight)));
  }
  if (alteration.priority_band) {
    if (std::abs(*alteration.priority_band) > kMostBand) {
      return Status(Code::kInvalid, fmt::format("a priority band lies between -{0} and {0}, not {1}",
                                                print_count(kMostBand), *alteration.priority_band));
    }
    BERTH_TRY(
        set("priority_band", *alteration.priority_band, fmt::format("priority band {}", *alteration.priority_band)));
  }
  if (alteration.eviction_budget) {
    const std::int64_t budget = *alteration.eviction_budget;
    BERTH_TRY(set("eviction_budget_milli", budget < 0 ? std::nullopt : std::optional(budget),
                  budget < 0 ? "eviction budget none"
                             : fmt::format("eviction budget {} GPU-hours an hour", print_gpu(MilliGpu(budget)))));
  }
  if (alteration.rightsizing) {
    BERTH_TRY(set("rightsizing", *alteration.rightsizing, "rightsizing " + *alteration.rightsizing));
  }
  return change.record("alter queue", queue, join(words, ", "));
}

}  // namespace berth
