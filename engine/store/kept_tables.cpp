#include "engine/store/kept_tables.h"

namespace berth {

namespace {

constexpr std::string_view kAccounts = "accounts tell the past themselves, day by day";
constexpr std::string_view kDeliveries = "it holds what is on its way to executors, and runs tell what became of it";
constexpr std::string_view kLearned = "it is learned from runs, of which there is a history";
constexpr std::string_view kRecords = "REPLAY ROUND reads it; it is never changed";
constexpr std::string_view kShadows = "it tells round by round what a policy in shadow would have done";
constexpr std::string_view kSimulations = "simulations are no part of the cluster's state";
constexpr std::string_view kWork = "it only says who is at work";

constexpr TableKeeping kTables[] = {
    {"decisions", Keeping::kRowsTell,
     "round_id IN (SELECT id FROM rounds WHERE state_version < ?1 AND started_at <= ?2)"},
    {"drift", Keeping::kRowsTell, "time <= ?2"},
    {"events", Keeping::kRowsTell, "state_version <= ?1 AND time <= ?2"},
    {"rounds", Keeping::kRowsTell, "state_version < ?1 AND started_at <= ?2"},
    {"account_*", Keeping::kNothing, kAccounts},
    {"backtest*", Keeping::kNothing, kSimulations},
    {"history_*", Keeping::kNothing, "it is the history"},
    {"leases", Keeping::kNothing, kWork},
    {"outbox", Keeping::kNothing, kDeliveries},
    {"plans", Keeping::kNothing, "plans are kept as they were made, for round_retention"},
    {"prediction_errors", Keeping::kNothing, kLearned},
    {"prediction_keys", Keeping::kNothing, kLearned},
    {"record_parts", Keeping::kNothing, kRecords},
    {"round_records", Keeping::kNothing, kRecords},
    {"scheduled_runs", Keeping::kNothing, kWork},
    {"shadow_*", Keeping::kNothing, kShadows},
    {"simulation*", Keeping::kNothing, kSimulations},
    {"strays", Keeping::kNothing, "it only says what executors have now"},
    {"sqlite_*", Keeping::kNothing, "it is SQLite's"},
};

}  // namespace

TableKeeping keeping_of(std::string_view table) {
  for (const TableKeeping& each : kTables) {
    const bool is_pattern = each.table.ends_with('*');
    const std::string_view name = is_pattern ? each.table.substr(0, each.table.size() - 1) : each.table;
    if (is_pattern ? table.starts_with(name) : table == name) return each;
  }
  return {table, Keeping::kChanges, {}};
}

}  // namespace berth
