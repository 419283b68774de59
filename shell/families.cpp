#include "shell/families.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string>
#include <vector>

namespace berth {

namespace {

// Statements of these families may be looked at first: PLAN <statement>.
constexpr std::array<std::string_view, 9> kPlannedFamilies = {
    "cluster", "jobs", "queues", "quotas", "data", "settings", "predictions", "assertions", "policies"};

std::span<const CommandRow> plans_of(std::span<const std::span<const CommandRow>> families) {
  static std::deque<std::string> texts;
  static const std::vector<CommandRow> rows = [&] {
    std::vector<CommandRow> made;
    for (const std::span<const CommandRow> family : families) {
      for (const CommandRow& row : family) {
        if (!is_plannable(row)) continue;
        CommandRow plan = row;
        plan.syntax = texts.emplace_back(fmt::format("PLAN {}", row.syntax));
        plan.example = texts.emplace_back(fmt::format("PLAN {}", row.example));
        plan.summary = "Shows what the next round would do differently after that change; nothing changes.";
        plan.handler = plan_change_statement;
        plan.ask = nullptr;
        plan.plans = &row;
        made.push_back(plan);
      }
    }
    return made;
  }();
  return rows;
}

}  // namespace

bool is_plannable(const CommandRow& row) {
  return row.effect == Effect::kChanges && row.plannable &&
         std::ranges::find(kPlannedFamilies, row.family) != kPlannedFamilies.end();
}

std::span<const std::span<const CommandRow>> all_families() {
  static const auto kFamilies = [] {
    static const std::array families = {
        cluster_commands(),  queue_commands(),    quota_commands(),  loan_commands(),      job_commands(),
        round_commands(),    explain_commands(),  show_commands(),   map_commands(),       settings_commands(),
        simulate_commands(), backtest_commands(), data_commands(),   sql_commands(),       shell_commands(),
        job_show_commands(), predict_commands(),  replay_commands(), assertion_commands(), executor_commands(),
        log_commands(),      stray_commands(),    loop_commands(),   report_commands(),    shadow_commands(),
        history_commands(),  policy_commands(),   script_commands(),
    };
    std::vector<std::span<const CommandRow>> with_plans(families.begin(), families.end());
    with_plans.push_back(plans_of(families));
    return with_plans;
  }();
  return kFamilies;
}

const CommandTable& command_table() {
  static const CommandTable table = [] {
    Result<CommandTable> built = CommandTable::build(all_families());
    if (!built.ok()) {
      std::fprintf(stderr, "berth: %s\n", built.status().message().c_str());
      std::abort();
    }
    return *std::move(built);
  }();
  return table;
}

}  // namespace berth
