#include "engine/store/redact.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <vector>

#include "engine/base/out_of_memory.h"
#include "engine/base/text.h"
#include "engine/policy/registry.h"
#include "engine/store/database_home.h"
#include "engine/store/migrate.h"
#include "engine/store/round_records.h"
#include "engine/store/row_sums.h"
#include "engine/store/settings.h"
#include "engine/store/sql_text.h"

namespace berth {

namespace {

// What becomes of the text columns of a table: "column=rule ...". keep; drop (no text); empty (no JSON members); nodes
// and labels (JSON with names); object (of an event); policy (kept when it is built in); else the kind of label. A text
// column that is not named gets labels of kind text; a table that is not here is emptied.
struct TableRules {
  std::string_view table;
  std::string_view columns;
};

constexpr TableRules kRules[] = {
    {"allocations", ""},
    {"borrowing_records", "resource=keep"},
    {"decayed_usage", ""},
    {"decisions", "kind=keep reason=keep detail=keep"},
    {"dependencies", "state=keep"},
    {"device_models", "name=keep family=keep"},
    {"device_slots", ""},
    {"devices", "health=keep"},
    {"drains", "reason=text"},
    {"evictions", "rule=keep state=keep why=keep"},
    {"executors", "name=executor type=keep options=empty state=keep error=drop"},
    {"foreign_use", "what=work"},
    {"gone_devices", ""},
    {"kept_out_launches", ""},
    {"launch_losses", ""},
    {"loans", "resource=keep state=keep"},
    {"meta", ""},
    {"node_closings", ""},
    {"node_health", "state=keep detail=drop"},
    {"node_types", "name=type link_groups=keep"},
    {"nodes", "name=node rack=rack state=keep labels=labels"},
    {"plans", "kind=keep plan_json=keep state=keep statement=statement files=empty"},
    {"pools", "name=pool"},
    {"prediction_errors", "level=keep"},
    {"priority_classes", "name=class"},
    {"queue_use", ""},
    {"queues", "name=queue rightsizing=keep"},
    {"quotas", "resource=keep"},
    {"jobs",
     "name=job state=keep user_name=user wait_reason=keep wait_cause=keep tag=tag predicted_level=keep command=command "
     "working_directory=drop environment=empty image=drop checkpoint_signal=keep"},
    {"record_parts", ""},
    {"requested_amounts", "policy=keep"},
    {"reservations", "kind=keep"},
    {"reserved_tasks", ""},
    {"round_records", "engine=keep"},
    {"rounds", "kind=keep actor=user order_policy=policy score_policy=policy"},
    {"run_changes", "from_state=keep to_state=keep detail=drop"},
    {"run_edges", "from_state=keep to_state=keep"},
    {"run_sizes", ""},
    {"run_tasks", "phase=keep external=drop detail=drop"},
    {"run_usage", ""},
    {"runs", "state=keep nodes=nodes detail=drop stop_state=keep"},
    {"settings", "key=keep value=keep"},
    {"standings", "resource=keep"},
    {"stopping_jobs", "rule=keep"},
    {"strays", "node=node verdict=keep"},
    {"task_groups", "name=group models=keep locality=keep"},
    {"wait_stretches", "cause=keep"},
    // Last: what it is about has got its label by then.
    {"events", "kind=keep object=object actor=user detail=drop statement=drop"},
};

bool is_built_in(std::string_view policy) {
  return std::ranges::any_of(all_policies(), [&](const PolicyRow& row) { return row.name == policy; });
}

class Labels {
 public:
  std::string of(std::string_view kind, std::string_view name) {
    if (name.empty()) return {};
    const auto [found, is_new] = labels_.try_emplace({std::string(kind), std::string(name)});
    if (!is_new) return found->second;
    std::string label;
    do label = fmt::format("{}-{:08x}", kind, random_() & 0xFFFFFFFF);
    while (!given_.insert(label).second);
    any_.emplace(name, label);
    return found->second = label;
  }

  // What an event is about: mostly the name of something.
  std::string of_object(std::string_view object) {
    if (const auto known = any_.find(object); known != any_.end()) return known->second;
    const bool is_plain = object.starts_with("round ") || read_integer(object).ok() || find_knob(object).ok();
    return is_plain ? std::string(object) : of("object", object);
  }

  std::string of_json(std::string_view kind, std::string_view json) {
    return relabelled(kind, nlohmann::json::parse(json, nullptr, false)).dump();
  }

  std::int64_t of_number(std::int64_t number) {
    if (number == 0) return 0;
    const auto [found, is_new] = numbers_.try_emplace(number);
    if (is_new) found->second = static_cast<std::int64_t>((std::uint64_t{random_()} << 31 | random_()) & INT64_MAX) | 1;
    return found->second;
  }

  std::string apply(std::string_view rule, std::string_view text) {
    if (rule == "nodes") return of_json("node", text);
    if (rule == "labels") return of_json("label", text);
    if (rule == "object") return of_object(text);
    if (rule == "policy") return is_built_in(text) ? std::string(text) : of("policy", text);
    return of(rule, text);
  }

 private:
  nlohmann::json relabelled(std::string_view kind, const nlohmann::json& value) {
    if (value.is_string()) return of(kind, value.get<std::string>());
    nlohmann::json out = value.is_object() ? nlohmann::json::object() : nlohmann::json::array();
    if (!value.is_structured()) return value.is_number() || value.is_boolean() ? value : out;
    for (const auto& [key, member] : value.items()) {
      if (value.is_object()) {
        out[of(kind, key)] = relabelled(kind, member);
      } else {
        out.push_back(relabelled(kind, member));
      }
    }
    return out;
  }

  std::random_device random_;
  std::map<std::pair<std::string, std::string>, std::string> labels_;  // by kind and name
  std::map<std::string, std::string, std::less<>> any_;                // by name
  std::set<std::string> given_;
  std::map<std::int64_t, std::int64_t> numbers_;
};

// redact(rule, text) and redact_number(number) in SQL.
void redact_text(sqlite3_context* context, int, sqlite3_value** arguments) {
  const auto text = [&](int i) {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_value_text(arguments[i]));
    return std::string_view(bytes == nullptr ? "" : bytes, static_cast<std::size_t>(sqlite3_value_bytes(arguments[i])));
  };
  if (sqlite3_value_type(arguments[1]) == SQLITE_NULL) return sqlite3_result_null(context);
  const bool has_memory = has_memory_for([&] {
    const std::string out = static_cast<Labels*>(sqlite3_user_data(context))->apply(text(0), text(1));
    sqlite3_result_text(context, out.data(), static_cast<int>(out.size()), SQLITE_TRANSIENT);
  });
  if (!has_memory) sqlite3_result_error_nomem(context);
}

void redact_number(sqlite3_context* context, int, sqlite3_value** arguments) {
  Labels* labels = static_cast<Labels*>(sqlite3_user_data(context));
  const bool has_memory =
      has_memory_for([&] { sqlite3_result_int64(context, labels->of_number(sqlite3_value_int64(arguments[0]))); });
  if (!has_memory) sqlite3_result_error_nomem(context);
}

std::string_view rule_of(std::string_view rules, std::string_view column) {
  for (const std::string_view each : split(rules, ' ')) {
    const std::size_t equals = each.find('=');
    if (each.substr(0, equals) == column) return each.substr(equals + 1);
  }
  return "text";
}

using Names = std::vector<std::string>;

Result<Names> column_of(Database& db, std::string_view sql) {
  BERTH_ASSIGN(Statement rows, db.prepare(sql));
  Names names;
  while (rows.next()) names.emplace_back(rows.text(0));
  BERTH_TRY(rows.status());
  return names;
}

class Redactor {
 public:
  explicit Redactor(Database& db) : db_(db) {}

  Status run() {
    BERTH_TRY(add_functions());
    BERTH_TRY(db_.execute("PRAGMA foreign_keys = OFF; PRAGMA secure_delete = ON; BEGIN"));
    BERTH_TRY(drop_what_others_made());
    BERTH_ASSIGN(const Names triggers, column_of(db_, "SELECT sql FROM sqlite_schema WHERE type = 'trigger'"));
    BERTH_ASSIGN(const Names names, column_of(db_, "SELECT name FROM sqlite_schema WHERE type = 'trigger'"));
    for (const std::string& name : names) BERTH_TRY(db_.execute("DROP TRIGGER " + sql_name(name)));
    BERTH_TRY(empty_unknown_tables());
    for (const TableRules& rules : kRules) BERTH_TRY(redact_table(rules));
    BERTH_TRY(redact_the_rest());
    BERTH_TRY(redact_records());
    for (const std::string& sql : triggers) BERTH_TRY(db_.execute(sql));
    // Between the pages of the old file something may be left.
    return db_.execute("COMMIT; VACUUM");
  }

 private:
  Status add_functions() {
    sqlite3* connection = db_.handle();
    constexpr int kFlags = SQLITE_UTF8;
    int code = sqlite3_create_function(connection, "redact", 2, kFlags, &labels_, redact_text, nullptr, nullptr);
    if (code == SQLITE_OK)
      code = sqlite3_create_function(connection, "redact_number", 1, kFlags, &labels_, redact_number, nullptr, nullptr);
    return code == SQLITE_OK ? Status() : db_.error(code, "redact the database");
  }

  // Tables, views, indices and triggers that are not the schema's have names of their own.
  Status drop_what_others_made() {
    BERTH_ASSIGN(Database fresh, Database::open(":memory:", Access::kReadWrite));
    BERTH_TRY(migrate(fresh, embedded_schema(), KeepCopy::kNo));
    constexpr std::string_view kObjects =
        "SELECT type || ' ' || name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY type = 'table', name";
    BERTH_ASSIGN(const Names ours, column_of(fresh, kObjects));
    BERTH_ASSIGN(const Names present, column_of(db_, kObjects));
    for (const std::string& object : present) {
      if (std::ranges::find(ours, object) != ours.end()) continue;
      const std::size_t space = object.find(' ');
      // An index or trigger may have gone with its table.
      BERTH_TRY(db_.execute(fmt::format("DROP {} IF EXISTS {}", object.substr(0, space),
                                        sql_name(std::string_view(object).substr(space + 1)))));
    }
    return {};
  }

  Status empty_unknown_tables() {
    BERTH_ASSIGN(const Names tables, column_of(db_,
                                               "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT "
                                               "LIKE 'sqlite_%'"));
    for (const std::string& table : tables) {
      if (std::ranges::find(kRules, table, &TableRules::table) == std::end(kRules))
        BERTH_TRY(db_.execute("DELETE FROM " + sql_name(table)));
    }
    return {};
  }

  Status redact_table(const TableRules& rules) {
    BERTH_ASSIGN(const Names columns, column_of(db_, fmt::format("SELECT name FROM pragma_table_info({}) WHERE type IN "
                                                                 "('TEXT', 'ANY')",
                                                                 sql_string(rules.table))));
    std::string changes;
    for (const std::string& column : columns) {
      const std::string_view rule = rule_of(rules.columns, column);
      if (rule == "keep" || rules.table == "meta") continue;
      const std::string name = sql_name(column);
      std::string value = fmt::format("redact('{}', {})", rule, name);
      if (rule == "drop") value = fmt::format("iif({0} IS NULL, NULL, '')", name);
      if (rule == "empty") value = "'{}'";
      changes += fmt::format("{}{} = {}", changes.empty() ? "" : ", ", name, value);
    }
    if (changes.empty()) return {};
    return db_.execute(fmt::format("UPDATE {} SET {}", rules.table, changes))
        .prefixed(fmt::format("redacting {}", rules.table));
  }

  Status redact_the_rest() {
    BERTH_TRY(
        db_.execute("DELETE FROM meta WHERE key LIKE 'home%' OR key LIKE 'asked%' OR key IN ('generation', "
                    "'restored_jobs')"));
    BERTH_TRY(forget_row_sums(db_));
    BERTH_TRY(give_new_tag(db_));
    BERTH_TRY(db_.execute("UPDATE executors SET type = 'simulated'"));
    BERTH_TRY(db_.execute("UPDATE run_usage SET recurrence = redact_number(recurrence)"));
    // What is not built in is not there any more.
    return db_.execute(
        "DELETE FROM settings WHERE key LIKE '%\\_policy' ESCAPE '\\' AND redact('policy', value) <> value");
  }

  // Of policies that are not built in, records and plans may hold anything.
  Status redact_records() {
    BERTH_TRY(
        db_.execute("DELETE FROM plans WHERE redact('policy', plan_json ->> 'order_policy') <> plan_json ->> "
                    "'order_policy' OR redact('policy', plan_json ->> 'score_policy') <> plan_json ->> "
                    "'score_policy'"));
    return rewrite_recorded_snapshots(db_, [this](Snapshot& snapshot) {
      if (!is_built_in(snapshot.order_policy) || !is_built_in(snapshot.score_policy)) return false;
      if (!snapshot.filter_policy.empty() || !snapshot.victim_policy.empty()) return false;
      const auto relabel = [this](std::string_view kind, std::vector<std::string>& names) {
        for (std::string& name : names) name = labels_.of(kind, name);
      };
      relabel("pool", snapshot.cluster.pools);
      relabel("rack", snapshot.cluster.racks);
      relabel("node", snapshot.cluster.node_names);
      for (Queue& queue : snapshot.queues) queue.name = labels_.of("queue", queue.name);
      for (PriorityClass& each : snapshot.priority_classes) each.name = labels_.of("class", each.name);
      return true;
    });
  }

  Database& db_;
  Labels labels_;
};

}  // namespace

Status redact_database(Database& db) { return Redactor(db).run(); }

}  // namespace berth
