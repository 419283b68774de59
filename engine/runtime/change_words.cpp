#include "engine/runtime/change_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/base/text.h"

namespace berth {

namespace {

enum class Format : std::uint8_t { kPlain, kName, kDuration, kCpu, kMemory, kGpu, kGpuHours, kAmount, kYesNo };

struct ColumnWords {
  std::string_view table;
  std::string_view column;
  std::string_view label;
  Format format = Format::kPlain;
  std::string_view names = {};  // kName: the table that has them
};

constexpr ColumnWords kColumns[] = {
    {"jobs", "queue_id", "queue", Format::kName, "queues"},
    {"jobs", "priority_class_id", "priority", Format::kName, "priority_classes"},
    {"jobs", "user_name", "user"},
    {"jobs", "time_limit_s", "time limit", Format::kDuration},
    {"jobs", "min_runtime_s", "min_runtime", Format::kDuration},
    {"jobs", "preemptible", "preemptible", Format::kYesNo},
    {"jobs", "command", "command"},
    {"nodes", "type_id", "type", Format::kName, "node_types"},
    {"nodes", "pool_id", "pool", Format::kName, "pools"},
    {"nodes", "rack", "rack"},
    {"nodes", "labels", "labels"},
    {"node_types", "cpu_milli", "cpu", Format::kCpu},
    {"node_types", "memory_mib", "memory", Format::kMemory},
    {"node_types", "device_model_id", "device model", Format::kName, "device_models"},
    {"node_types", "device_count", "devices"},
    {"node_types", "link_groups", "link groups"},
    {"device_models", "memory_mib", "memory", Format::kMemory},
    {"device_models", "speed", "speed"},
    {"device_models", "family", "family"},
    {"pools", "executor_id", "executor", Format::kName, "executors"},
    {"queues", "parent_id", "parent", Format::kName, "queues"},
    {"queues", "weight", "weight"},
    {"queues", "priority_band", "priority band"},
    {"queues", "eviction_budget_milli", "eviction budget in GPU-hours", Format::kGpuHours},
    {"queues", "rightsizing", "right-sizing"},
    {"quotas", "quota", "quota", Format::kAmount},
    {"quotas", "limit_amount", "limit", Format::kAmount},
    {"quotas", "borrow_limit", "borrow limit", Format::kAmount},
    {"quotas", "lend_limit", "lend limit", Format::kAmount},
    {"quotas", "weight", "weight", Format::kAmount},
    {"priority_classes", "value", "value"},
    {"executors", "type", "type"},
    {"executors", "options", "options"},
    {"executors", "is_default", "default", Format::kYesNo},
    {"executors", "state", "state"},
    {"assertions", "state", "state"},
    {"assertions", "query", "query"},
};

struct TableWords {
  std::string_view table;
  ChangeScope scope;
  std::string_view kind;
};

constexpr TableWords kTables[] = {
    {"jobs", ChangeScope::kJobs, "job"},
    {"nodes", ChangeScope::kNodes, "node"},
    {"devices", ChangeScope::kNodes, "node"},
    {"drains", ChangeScope::kNodes, "node"},
    {"node_types", ChangeScope::kNodes, "node type"},
    {"device_models", ChangeScope::kNodes, "device model"},
    {"pools", ChangeScope::kNodes, "pool"},
    {"queues", ChangeScope::kQueues, "queue"},
    {"quotas", ChangeScope::kQueues, "queue"},
    {"loans", ChangeScope::kQueues, "queue"},
    {"priority_classes", ChangeScope::kQueues, "priority class"},
    {"settings", ChangeScope::kSettings, "setting"},
    {"executors", ChangeScope::kSettings, "executor"},
    {"assertions", ChangeScope::kSettings, "assertion"},
};

// They follow from others, or say in detail what the tables above say in short.
constexpr std::string_view kWordless[] = {
    "allocations",   "assertion_holds", "assertion_refusals", "borrowing_records", "decayed_usage",  "dependencies",
    "device_slots",  "evictions",       "foreign_use",        "inventory_drift",   "launch_losses",  "meta",
    "node_health",   "queue_use",       "requested_amounts",  "reservations",      "reserved_tasks", "run_changes",
    "run_edges",     "run_sizes",       "run_tasks",          "run_usage",         "runs",           "standings",
    "stopping_jobs", "task_groups",     "wait_stretches"};

constexpr std::size_t kLongestValue = 60;

std::string amount_of(const std::string& resource, std::int64_t amount) {
  if (resource == "cpu") return print_cpu(MilliCpu(amount));
  if (resource == "memory") return print_memory(MiB(amount));
  return print_gpu(MilliGpu(amount));
}

std::string print_cell(const ColumnWords& column, const RowView& row, PastNames& names) {
  const TableValue& value = row.at(column.column);
  const auto* number = std::get_if<std::int64_t>(&value);
  if (value.index() == 0) return "none";
  if (number == nullptr) {
    const std::string text = print_value(value);
    return text.size() > kLongestValue ? text.substr(0, kLongestValue) + "..." : text;
  }
  switch (column.format) {
    case Format::kPlain: break;
    case Format::kName: return names.of(std::string(column.names), *number);
    case Format::kDuration: return print_duration(Seconds(*number));
    case Format::kCpu: return print_cpu(MilliCpu(*number));
    case Format::kMemory: return print_memory(MiB(*number));
    case Format::kGpu:
    case Format::kGpuHours: return print_gpu(MilliGpu(*number));
    case Format::kAmount: return amount_of(row.text("resource"), *number);
    case Format::kYesNo: return *number != 0 ? "yes" : "no";
  }
  return print_value(value);
}

// Of a job whose state differs.
std::string state_words(const RowView& before, const RowView& after) {
  const std::string from = before.text("state");
  const std::string to = after.text("state");
  const auto more = [&](std::string_view column) { return after.integer(column) > before.integer(column); };
  if (to == "running") return "started";
  if (to == "held") return "held";
  if (to == "pending" && from == "held") return "released";
  if (to == "pending") {
    return more("evictions") ? "evicted, waits again" : more("losses") ? "lost, waits again" : "waits again";
  }
  return from == "running" || to == "cancelled" ? to : "ran and " + to;
}

void job_words(const RowView& before, const RowView& after, PastNames& names, std::vector<std::string>& words) {
  if (!before) {
    std::string came = "submitted to " + names.of("queues", after.integer("queue_id"));
    if (after.text("state") != "pending") came += ", " + after.text("state");
    return words.push_back(std::move(came));
  }
  if (!after) return words.push_back("deleted with its history");
  const std::string from = before.text("state");
  const std::string to = after.text("state");
  if (from != to) {
    words.push_back(state_words(before, after));
  } else if (to == "running" && before.integer("start_time") != after.integer("start_time")) {
    words.push_back("started anew");
  } else if (to == "pending" && before.text("wait_cause") != after.text("wait_cause")) {
    words.push_back(
        fmt::format("waits for {}", after.at("wait_cause").index() == 0 ? "a round" : after.text("wait_cause")));
  }
}

std::string loan_words(const RowView& before, const RowView& after, bool by_lender, PastNames& names) {
  const RowView& loan = after ? after : before;
  const std::string what =
      fmt::format("{} of {} {} {} (loan {})", amount_of(loan.text("resource"), loan.integer("amount")),
                  loan.text("resource"), by_lender ? "to" : "from",
                  names.of("queues", loan.integer(by_lender ? "borrower_id" : "lender_id")), loan.integer("id"));
  const std::string_view verb = by_lender ? "lend" : "borrow";
  if (!before) return fmt::format("{}s {}", verb, what);
  if (!after || before.text("state") != after.text("state")) return fmt::format("no longer {}s {}", verb, what);
  return fmt::format("changed its loan of {}", what);
}

void column_words(const std::string& table, const RowView& before, const RowView& after, PastNames& names,
                  std::vector<std::string>& words) {
  for (const ColumnWords& column : kColumns) {
    if (column.table != table) continue;
    const std::string from = before ? print_cell(column, before, names) : "none";
    const std::string to = after ? print_cell(column, after, names) : "none";
    if (from == to) continue;
    const std::string resource =
        column.format == Format::kAmount ? " of " + (after ? after : before).text("resource") : "";
    words.push_back(fmt::format("{}{} {} -> {}", column.label, resource, from, to));
  }
}

// A checksum that was written after its row tells nobody anything.
bool differ_in_sum_alone(const RowView& before, const RowView& after) {
  for (std::size_t i = 0; i < before.columns->size(); ++i) {
    if ((*before.columns)[i] != "checksum" && (*before.row)[i] != (*after.row)[i]) return false;
  }
  return true;
}

// Of a table that is not known here.
void all_column_words(const RowView& before, const RowView& after, std::vector<std::string>& words) {
  for (std::size_t i = 0; i < before.columns->size(); ++i) {
    const TableValue& from = (*before.row)[i];
    const TableValue& to = (*after.row)[i];
    const std::string& column = (*before.columns)[i];
    if (from == to || column == "name") continue;
    std::string was = print_value(from);
    std::string is = print_value(to);
    if (std::max(was.size(), is.size()) > kLongestValue) {
      words.push_back(column + " changed");
    } else {
      words.push_back(fmt::format("{} {} -> {}", column, was.empty() ? "none" : was, is.empty() ? "none" : is));
    }
  }
}

// "policies" -> "policy"
std::string singular(std::string table) {
  std::ranges::replace(table, '_', ' ');
  if (table.ends_with("ies")) return table.substr(0, table.size() - 3) + "y";
  return table.ends_with("s") ? table.substr(0, table.size() - 1) : table;
}

const TableWords* find_words(const std::string& table) {
  const auto* found = std::ranges::find(kTables, table, &TableWords::table);
  return found == std::end(kTables) ? nullptr : found;
}

void named_words(const std::string& table, const RowView& before, const RowView& after, PastNames& names,
                 std::vector<std::string>& words) {
  if (!before) return words.push_back("created");
  if (!after) return words.push_back("dropped");
  if (before.text("name") != after.text("name")) words.push_back("renamed from " + before.text("name"));
  if (table == "nodes" && before.text("state") != after.text("state"))
    words.push_back(fmt::format("{} -> {}", before.text("state"), after.text("state")));
  if (find_words(table) == nullptr) return all_column_words(before, after, words);
  column_words(table, before, after, names, words);
}

}  // namespace

ChangeScope scope_of_table(const std::string& table) {
  if (const TableWords* words = find_words(table); words != nullptr) return words->scope;
  return std::ranges::find(kWordless, table) != std::end(kWordless) ? ChangeScope::kNone : ChangeScope::kSettings;
}

ObjectChange words_of_change(const std::string& table, const RowView& before, const RowView& after, PastNames& names) {
  const RowView& row = after ? after : before;
  if (!row) return {};
  ObjectChange change{scope_of_table(table), {}, row.text("name"), {}};
  if (change.scope == ChangeScope::kNone) return change;
  const TableWords* known = find_words(table);
  change.kind = known != nullptr ? std::string(known->kind) : singular(table);
  std::vector<std::string>& words = change.words;
  if (before && after && differ_in_sum_alone(before, after)) return change;
  if (table == "settings") {
    change.name = row.text("key");
    words.push_back(
        fmt::format("{} -> {}", before ? before.text("value") : "default", after ? after.text("value") : "default"));
  } else if (table == "devices") {
    change.name = names.of("nodes", row.integer("node_id"));
    if (before && after)
      words.push_back(
          fmt::format("device {} {} -> {}", row.integer("device_index"), before.text("health"), after.text("health")));
  } else if (table == "drains") {
    change.name = names.of("nodes", row.integer("node_id"));
    // That it drains, its state says.
    if (after && !after.text("reason").starts_with("drained")) words.push_back("drains for: " + after.text("reason"));
  } else if (table == "quotas") {
    change.name = names.of("queues", row.integer("queue_id"));
    column_words(table, before, after, names, words);
    const bool is_dated = row.integer("valid_from") != 0 || row.integer("valid_to") != 0;
    for (std::string& each : words) each += is_dated ? " (dated)" : "";
  } else if (table == "loans") {
    change.name = names.of("queues", row.integer("lender_id"));
    words.push_back(loan_words(before, after, true, names));
  } else if (table == "jobs") {
    job_words(before, after, names, words);
    if (before && after && before.text("name") != after.text("name"))
      words.push_back("renamed from " + before.text("name"));
    if (before && after) column_words(table, before, after, names, words);
  } else if (change.name.empty()) {
    change.kind.clear();  // of what it has no name for people
  } else {
    named_words(table, before, after, names, words);
  }
  return change;
}

std::string borrower_words(const RowView& before, const RowView& after, PastNames& names) {
  return loan_words(before, after, false, names);
}

}  // namespace berth
