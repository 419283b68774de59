// The list of command families, in HELP's order. A new cmd_*.cpp adds its line in families.cpp.
#pragma once

#include <span>

#include "shell/commands.h"

namespace berth {

struct BrokenAssertion;
struct RoundReport;
struct SavedPlan;

std::span<const CommandRow> cluster_commands();  // cmd_cluster.cpp: pools, device models, node types, nodes
std::span<const CommandRow> queue_commands();    // cmd_queue.cpp: queues, priority classes, SHOW QUEUES
std::span<const CommandRow> quota_commands();    // cmd_quota.cpp: quotas, weights
std::span<const CommandRow> loan_commands();     // cmd_loan.cpp: loans, borrowing
std::span<const CommandRow> report_commands();   // cmd_report.cpp: REPORT CHARGEBACK
std::span<const CommandRow> script_commands();   // cmd_script.cpp: RUN SCRIPT
std::span<const CommandRow> job_commands();      // cmd_job.cpp
// May PLAN look at it first? Then it changes the database alone, in one transaction.
bool is_plannable(const CommandRow& row);
// PLAN <statement>: the handler of every such row (cmd_plan.cpp).
Result<Output> plan_change_statement(Session& session, const Arguments& arguments);
// APPLY PLAN of the plan of a change (cmd_plan.cpp).
Result<RoundReport> apply_change(Session& session, const SavedPlan& saved);
// What it would break if it were applied now.
Result<std::vector<BrokenAssertion>> broken_by_change(Session& session, const SavedPlan& saved);

std::span<const CommandRow> round_commands();      // cmd_round.cpp: RUN, PLAN, APPLY, EXPLAIN PLAN
std::span<const CommandRow> assertion_commands();  // cmd_assertion.cpp
std::span<const CommandRow> policy_commands();     // cmd_policy.cpp: policies in Lua, SHOW POLICIES
std::span<const CommandRow> shadow_commands();     // cmd_shadow.cpp: ALTER POLICY ... SET MODE, SHOW SHADOWS
std::span<const CommandRow> replay_commands();     // cmd_replay.cpp: REPLAY, VACUUM ROUNDS
std::span<const CommandRow> history_commands();    // cmd_history.cpp: DIFF STATE, SHOW HISTORY
std::span<const CommandRow> executor_commands();   // cmd_executor.cpp: executors, RUN SYNC
std::span<const CommandRow> log_commands();        // cmd_log.cpp: SHOW LOG
std::span<const CommandRow> stray_commands();      // cmd_stray.cpp: STOP STRAYS, KEEP STRAYS
std::span<const CommandRow> loop_commands();       // cmd_loop.cpp: RUN ALL, SHOW SCHEDULED RUNS, EXPORT METRICS
std::span<const CommandRow> explain_commands();    // cmd_explain.cpp: EXPLAIN JOB
std::span<const CommandRow> show_commands();       // cmd_show.cpp
std::span<const CommandRow> job_show_commands();   // cmd_show_job.cpp: SHOW JOB, WAITS, EVICTIONS, RESERVATIONS, ROUND
std::span<const CommandRow> map_commands();        // cmd_map.cpp: SHOW MAP
std::span<const CommandRow> predict_commands();    // cmd_predict.cpp: predictions, usage, right-sizing
std::span<const CommandRow> settings_commands();   // cmd_settings.cpp
std::span<const CommandRow> simulate_commands();   // cmd_simulate.cpp
std::span<const CommandRow> backtest_commands();   // cmd_backtest.cpp
std::span<const CommandRow> data_commands();       // cmd_data.cpp: IMPORT, EXPORT, SNAPSHOT, CHECK
std::span<const CommandRow> shell_commands();      // cmd_shell.cpp: HELP and the dot commands
std::span<const CommandRow> sql_commands();        // cmd_sql.cpp: SELECT and its kin

std::span<const std::span<const CommandRow>> all_families();

// Built once; a wrong row ends the process with the reason (the unit tests build the table first).
const CommandTable& command_table();

}  // namespace berth
