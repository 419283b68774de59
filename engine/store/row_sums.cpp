#include "engine/store/row_sums.h"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <sqlite3.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace berth {

namespace {

// What is never changed, or by us alone.
struct SummedTable {
  std::string_view name;
  std::string_view keys;     // "a, b"
  std::string_view columns;  // of which the checksum is made, with the keys
};

constexpr SummedTable kSummedTables[] = {
    {"events", "id", "time, state_version, kind, object, actor, detail, statement"},
    {"plans", "id", "created_at, state_version, kind, plan_json, statement, files"},
    {"jobs", "id",
     "name, user_name, submit_time, time_limit_s, tag, command, working_directory, environment, image, "
     "checkpoint_signal, retry_limit"},
    {"task_groups", "job_id, group_index",
     "name, task_count, min_tasks, cpu_milli, memory_mib, gpu_count, gpu_milli, gpu_memory_mib, models, pool_id, "
     "locality, locality_required"},
    {"policy_versions", "policy_id, version", "source, hooks, summary, created_at, created_by"},
    {"assertions", "id", "name, query, created_at, created_by"},
    {"rounds", "id",
     "kind, state_version, started_at, actor, order_policy, score_policy, seed, placed_tasks, started_jobs, "
     "waiting_jobs, decisions"},
    {"loans", "id", "lender_id, borrower_id, resource, amount, valid_from, valid_to, return_grace_s, state"},
};

// Each value with its type and length, so that no two rows look alike.
void row_sum(sqlite3_context* context, int count, sqlite3_value** values) {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  for (int i = 0; i < count; ++i) {
    const int type = sqlite3_value_type(values[i]);
    std::int64_t number = 0;
    const void* bytes = nullptr;
    if (type == SQLITE_INTEGER) number = sqlite3_value_int64(values[i]);
    if (type == SQLITE_FLOAT) {
      const double real = sqlite3_value_double(values[i]);
      std::memcpy(&number, &real, sizeof number);
    }
    if (type == SQLITE_TEXT || type == SQLITE_BLOB) {
      bytes = sqlite3_value_blob(values[i]);
      number = sqlite3_value_bytes(values[i]);
    }
    XXH3_64bits_update(&state, &type, sizeof type);
    XXH3_64bits_update(&state, &number, sizeof number);
    if (bytes != nullptr) XXH3_64bits_update(&state, bytes, static_cast<std::size_t>(number));
  }
  sqlite3_result_int64(context, static_cast<sqlite3_int64>(XXH3_64bits_digest(&state)));
}

Status add_sum_function(Database& db) {
  const int code = sqlite3_create_function(db.handle(), "berth_row_sum", -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
                                           nullptr, row_sum, nullptr, nullptr);
  return code == SQLITE_OK ? Status() : db.error(code, "add up rows");
}

std::string sum_of(const SummedTable& table) { return fmt::format("berth_row_sum({}, {})", table.keys, table.columns); }

// "id = NEW.id AND ..."
std::string same_row(const SummedTable& table) {
  std::string condition;
  std::string_view rest = table.keys;
  while (!rest.empty()) {
    const std::string_view key = rest.substr(0, rest.find(", "));
    condition += fmt::format("{}{} = NEW.{}", condition.empty() ? "" : " AND ", key, key);
    rest.remove_prefix(std::min(rest.size(), key.size() + 2));
  }
  return condition;
}

}  // namespace

Status keep_row_sums(Database& db) {
  BERTH_TRY(add_sum_function(db));
  for (const SummedTable& table : kSummedTables) {
    const std::string write =
        fmt::format("BEGIN UPDATE {} SET checksum = {} WHERE {}; END", table.name, sum_of(table), same_row(table));
    BERTH_TRY(db.execute(
        fmt::format("CREATE TEMP TRIGGER sum_inserted_{0} AFTER INSERT ON main.{0} {1}", table.name, write)));
    BERTH_TRY(db.execute(fmt::format("CREATE TEMP TRIGGER sum_changed_{0} AFTER UPDATE OF {1}, {2} ON main.{0} {3}",
                                     table.name, table.keys, table.columns, write)));
  }
  return {};
}

Result<std::vector<ChangedRow>> find_changed_rows(Database& db) {
  BERTH_TRY(add_sum_function(db));
  std::vector<ChangedRow> changed;
  for (const SummedTable& table : kSummedTables) {
    BERTH_ASSIGN(Statement rows,
                 db.prepare(fmt::format("SELECT json_array({}) FROM {} WHERE checksum IS NOT NULL AND checksum <> {}",
                                        table.keys, table.name, sum_of(table))));
    while (rows.next()) changed.push_back({std::string(table.name), std::string(rows.text(0))});
    BERTH_TRY(rows.status());
  }
  return changed;
}

Status forget_row_sums(Database& db) {
  for (const SummedTable& table : kSummedTables)
    BERTH_TRY(db.execute(fmt::format("UPDATE {} SET checksum = NULL", table.name)));
  return {};
}

}  // namespace berth
