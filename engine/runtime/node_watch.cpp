#include "engine/runtime/node_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "engine/base/text.h"
#include "engine/store/cluster_records.h"
#include "engine/store/foreign_use.h"
#include "engine/store/launch_losses.h"
#include "engine/store/node_closings.h"
#include "engine/store/settings.h"

namespace berth {

namespace {

struct HealthRow {
  std::int64_t node = 0;
  std::string node_state;
  std::string health;  // empty = in order
  Seconds since;
  std::int64_t failures = 0;
  Seconds window;
  bool is_drained = false;  // by a statement: so it stays, whatever becomes of it
};

std::string_view present_health(const NodeObservation& seen) {
  return !seen.is_ready ? "bad" : seen.is_cordoned ? "cordoned" : "good";
}

class NodeWatch {
 public:
  NodeWatch(Runtime& runtime, const ExecutorRecord& executor, const Settings& settings, SyncReport& report)
      : runtime_(runtime), executor_(executor), settings_(settings), report_(report) {}

  Status watch(const NodeObservation& seen) {
    BERTH_ASSIGN(const std::optional<HealthRow> row, read(seen.node));
    if (!row) return {};
    const std::string_view present = present_health(seen);
    if (present == "bad") return watch_bad(*row, seen);
    if (present == "cordoned") return watch_cordoned(*row, seen);
    return row->health.empty() ? Status() : watch_good(*row, seen);
  }

  // As if somebody had cordoned them; one that was resumed since stays so.
  Status close_all() {
    BERTH_ASSIGN(const std::vector<std::string> nodes, nodes_of_executor(runtime_.db(), executor_));
    std::vector<std::string> names;
    std::vector<HealthRow> rows;
    for (const std::string& node : nodes) {
      BERTH_ASSIGN(const std::optional<HealthRow> row, read(node));
      if (!row || row->node_state != "up" || row->health == "cordoned") continue;
      names.push_back(node);
      rows.push_back(*row);
    }
    if (names.empty()) return {};
    const std::string why = fmt::format("executor {} does not answer", executor_.name);
    const Result<std::int64_t> changed = runtime_.change([&](Change& change) -> Status {
      for (const HealthRow& row : rows) BERTH_TRY(put(change, row, "cordoned", why));
      return set_node_state(change, names, NodeState::kDraining);
    });
    BERTH_TRY(changed.status());
    return note(
        {"executor", executor_.name, "answers", executor_.error,
         fmt::format("nothing new is placed on {}", print_counted(static_cast<std::int64_t>(names.size()), "node"))});
  }

 private:
  Seconds now() const { return runtime_.now(); }

  Result<std::optional<HealthRow>> read(const std::string& node) {
    BERTH_ASSIGN(Statement row,
                 runtime_.db().prepare("SELECT n.id, n.state, coalesce(h.state, ''), coalesce(h.since, 0), "
                                       "coalesce(h.failures, 0), coalesce(h.window, 0), d.node_id IS NOT "
                                       "NULL FROM nodes n LEFT JOIN node_health h ON h.node_id = n.id LEFT JOIN "
                                       "drains d ON d.node_id = n.id WHERE n.name = ?1"));
    if (!row.with(node).next()) {
      BERTH_TRY(row.status());
      return std::optional<HealthRow>();
    }
    HealthRow health{row.integer(0), std::string(row.text(1)), std::string(row.text(2)), row.quantity<Seconds>(3),
                     row.integer(4), row.quantity<Seconds>(5), row.integer(6) != 0};
    const bool was_resumed = health.node_state == "up" && health.health != "cordoned";  // by an admin
    if (health.health == "good" || was_resumed) health.health.clear();
    return std::optional(std::move(health));
  }

  Status put(Change& change, const HealthRow& row, std::string_view health, const std::string& detail) {
    BERTH_ASSIGN(Statement put,
                 change.db().prepare("INSERT OR REPLACE INTO node_health (node_id, state, since, failures, "
                                     "window, detail) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"));
    return put.run(row.node, health, now(), row.failures, row.window, detail);
  }

  // Nodes that an admin drains or has taken down stay as they are: nothing new goes there anyway, and they are not up
  // again when their machine is.
  static Status take_down(Change& change, const HealthRow& row, const std::string& node) {
    const bool is_ours = row.node_state == "up" || (row.node_state != "down" && !row.is_drained);
    return is_ours ? set_node_state(change, std::span(&node, 1), NodeState::kDown) : Status();
  }

  Status watch_bad(const HealthRow& before, const NodeObservation& seen) {
    HealthRow row = before;
    if (row.health == "down" || row.health == "aside") return {};
    if (row.health != "suspect") {
      if (row.node_state == "down") return {};  // nobody expects it to be in order
      if (now() - row.window > settings_.node_flap_window) {
        row.window = now();
        row.failures = 0;
      }
      ++row.failures;
      const bool flaps = row.failures >= settings_.node_flap_limit && settings_.node_flap_limit > 1;
      const Result<std::int64_t> changed = runtime_.change([&](Change& change) -> Status {
        BERTH_TRY(take_down(change, row, seen.node));
        BERTH_TRY(put(change, row, "suspect", seen.detail));
        if (!flaps) return {};
        return change.record(
            "node flaps", seen.node,
            fmt::format("{} failures within {}", row.failures, print_duration(settings_.node_flap_window)));
      });
      BERTH_TRY(changed.status());
      return note({"node", seen.node, "in order", seen.detail, "suspect: nothing new is placed there"});
    }
    if (now() - row.since < std::max(settings_.node_down_after, seen.patience)) return {};
    ++report_.nodes_lost;
    const Result<std::int64_t> changed = runtime_.change([&](Change& change) -> Status {
      BERTH_TRY(put(change, row, row.failures >= settings_.node_flap_limit ? "aside" : "down", seen.detail));
      BERTH_TRY(lose_tasks(change, row.node));
      return change.record("node lost", seen.node, seen.detail);
    });
    BERTH_TRY(changed.status());
    return note({"node", seen.node, "in order", seen.detail, "down: what ran there is lost"});
  }

  Status watch_cordoned(const HealthRow& row, const NodeObservation& seen) {
    const bool was_bad = row.health == "suspect" || row.health == "down" || row.health == "back";
    if (row.node_state != "up" && !was_bad) return {};  // resumed or not: it is not ours to lift
    const bool is_to_drain = row.node_state == "up" || row.node_state == "down";
    const Result<std::int64_t> changed = runtime_.change([&](Change& change) -> Status {
      if (is_to_drain) BERTH_TRY(set_node_state(change, std::span(&seen.node, 1), NodeState::kDraining));
      return put(change, row, "cordoned", seen.detail);
    });
    BERTH_TRY(changed.status());
    return note({"node", seen.node, "in order", seen.detail.empty() ? "cordoned" : seen.detail, "draining"});
  }

  // In order again.
  Status watch_good(const HealthRow& row, const NodeObservation& seen) {
    if (row.health == "aside") return {};  // until somebody resumes it
    if (row.health == "down") {
      return runtime_.change([&](Change& change) { return put(change, row, "back", "in order again"); }).status();
    }
    if (row.health == "back" && now() - row.since < settings_.node_back_after) return {};
    ++report_.nodes_back;
    return runtime_
        .change([&](Change& change) -> Status {
          const bool is_out = row.node_state == "down" || row.node_state == "draining" || row.node_state == "drained";
          const std::span<const std::string> names(&seen.node, 1);
          if (is_out && !row.is_drained) BERTH_TRY(set_node_state(change, names, NodeState::kUp));
          if (row.node_state == "down" && row.is_drained)
            BERTH_TRY(set_node_state(change, names, NodeState::kDraining));
          BERTH_TRY(put_in_order(change, row));
          return change.record("node back", seen.node);
        })
        .status();
  }

  // The failures of the present window are remembered.
  Status put_in_order(Change& change, const HealthRow& row) {
    const bool remembers = row.failures > 0 && now() - row.window <= settings_.node_flap_window;
    BERTH_ASSIGN(Statement done,
                 change.db().prepare(remembers ? "UPDATE node_health SET state = 'good' WHERE node_id = ?1"
                                               : "DELETE FROM node_health WHERE node_id = ?1"));
    return done.run(row.node);
  }

  Status lose_tasks(Change& change, std::int64_t node) {
    BERTH_ASSIGN(
        Statement lose,
        change.db().prepare("UPDATE run_tasks SET phase = 'lost', end_time = ?3, detail = 'its node is down' WHERE "
                            "executor_id = ?1 AND node_id = ?2 AND (phase = 'pending' OR phase = 'starting' OR "
                            "phase = 'running')"));
    return lose.run(executor_.id, node, now());
  }

  Status note(const Drift& drift) {
    ++report_.drifts;
    return note_drift(runtime_, executor_, drift);
  }

  Runtime& runtime_;
  const ExecutorRecord& executor_;
  const Settings& settings_;
  SyncReport& report_;
};

// Of its nodes; 0 = unknown.
Result<std::vector<std::int64_t>> ids_of_nodes(Database& db, const Observation& seen) {
  BERTH_ASSIGN(Statement row, db.prepare("SELECT id FROM nodes WHERE name = ?1"));
  std::vector<std::int64_t> ids;
  for (const NodeObservation& each : seen.nodes) {
    ids.push_back(row.with(each.node).next() ? row.integer(0) : 0);
    BERTH_TRY(row.status());
  }
  return ids;
}

// What the system has planned for them.
Status watch_closings(Runtime& runtime, const ExecutorRecord& executor, const Observation& seen,
                      const std::vector<std::int64_t>& ids, SyncReport& report) {
  NodeClosings now;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const NodeObservation& node = seen.nodes[i];
    if (ids[i] == 0 || node.closes_at < Seconds(0)) continue;
    NodeClosing& closing = now[ids[i]];
    closing.closes_at = node.closes_at;
    if (node.usual_limit < Seconds(kNoLimit)) closing.usual_limit = node.usual_limit;
  }
  BERTH_ASSIGN(const NodeClosings before, read_node_closings(runtime.db(), ids));
  if (now == before) return {};
  BERTH_TRY(runtime.change([&](Change& change) { return write_node_closings(change, before, now); }).status());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto closing = now.find(ids[i]);
    if (closing == now.end() || before.contains(ids[i])) continue;
    ++report.drifts;
    BERTH_TRY(note_drift(runtime, executor,
                         {"node", seen.nodes[i].node, "in order",
                          fmt::format("kept for something else from {} on", print_time(closing->second.closes_at)),
                          "takes no job that may still run then"}));
  }
  return {};
}

// What else runs on these nodes: a change of the state, for rounds count it as used.
Status watch_foreign(Runtime& runtime, const ExecutorRecord& executor, const Observation& seen,
                     const std::vector<std::int64_t>& nodes, SyncReport& report) {
  BERTH_ASSIGN(Statement node, runtime.db().prepare("SELECT id FROM nodes WHERE name = ?1"));
  const auto id_of = [&](const std::string& name) -> Result<std::int64_t> {
    const std::int64_t id = node.with(name).next() ? node.integer(0) : 0;
    BERTH_TRY(node.status());
    return id;
  };
  ForeignUseRows now;
  for (const ForeignUse& use : seen.foreign) {
    BERTH_ASSIGN(const std::int64_t id, id_of(use.node));
    if (id == 0) continue;
    ForeignUseRow& row = now[{id, use.what}];
    row.cpu += use.cpu;
    row.memory += use.memory;
    row.gpu_count += use.gpu_count;
    row.devices |= use.devices;
  }
  BERTH_ASSIGN(const ForeignUseRows before, read_foreign_use(runtime.db(), nodes));
  if (now == before) return {};
  const Result<std::int64_t> changed =
      runtime.change([&](Change& change) { return write_foreign_use(change, before, now); });
  BERTH_TRY(changed.status());
  for (const ForeignUse& use : seen.foreign) {
    BERTH_ASSIGN(const std::int64_t id, id_of(use.node));
    if (id == 0 || before.contains({id, use.what})) continue;
    ++report.drifts;
    BERTH_TRY(note_drift(runtime, executor, {"foreign work", use.node, "nothing", use.what, "counted as used"}));
  }
  return {};
}

}  // namespace

Drift waiting_task(std::int64_t job, std::int64_t attempt, std::string why) {
  return {"waiting task", fmt::format("job {} attempt {}", job, attempt), "starts", std::move(why),
          "none: it keeps its room until it starts or is cancelled"};
}

Drift unstopped_task(std::int64_t job, std::int64_t attempt, std::string_view why) {
  return {"unstopped task", fmt::format("job {} attempt {}", job, attempt), "it has ended after its grace",
          fmt::format("it still runs{}{}", why.empty() ? "" : ": ", why), "Berth tells its executor again to stop it"};
}

Status note_drift(Runtime& runtime, const ExecutorRecord& executor, const Drift& drift) {
  BERTH_ASSIGN(Statement insert,
               runtime.db().prepare("INSERT INTO drift (time, executor_id, kind, object, expected, found, "
                                    "repair) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"));
  return insert.run(runtime.now(), executor.id, drift.kind, drift.object, drift.expected, drift.found, drift.repair);
}

Result<bool> is_news(Database& db, const ExecutorRecord& executor, const Drift& drift) {
  BERTH_ASSIGN(Statement last,
               db.prepare("SELECT found = ?4 AND repair = ?5 FROM drift WHERE executor_id = ?1 AND kind = "
                          "?2 AND object = ?3 ORDER BY id DESC LIMIT 1"));
  const bool is_known =
      last.with(executor.id, drift.kind, drift.object, drift.found, drift.repair).next() && last.integer(0) != 0;
  BERTH_TRY(last.status());
  return !is_known;
}

Status close_resting_nodes(Runtime& runtime, Observation& seen) {
  BERTH_ASSIGN(const std::vector<RestingNode> resting, resting_nodes(runtime.db(), runtime.now()));
  for (const RestingNode& each : resting) {
    const auto node = std::ranges::find(seen.nodes, each.node, &NodeObservation::node);
    if (node == seen.nodes.end() || !node->is_ready || node->is_cordoned || node->has_our_cordon) continue;
    node->is_cordoned = true;
    node->detail = fmt::format("the last {} launches there were lost before they began: nothing new until {}",
                               each.losses, print_time(each.until));
  }
  return {};
}

Status close_silent_nodes(Runtime& runtime, SyncReport& report) {
  BERTH_ASSIGN(const std::vector<ExecutorRecord> executors, list_executors(runtime.db()));
  const auto is_down = [](const ExecutorRecord& executor) { return executor.state == "down"; };
  if (std::ranges::none_of(executors, is_down)) return {};
  BERTH_ASSIGN(const Settings settings, read_settings(runtime.db()));
  for (const ExecutorRecord& executor : executors) {
    const Seconds silent = runtime.now() - executor.last_contact.value_or(Seconds(0));
    if (is_down(executor) && silent >= settings.node_down_after)
      BERTH_TRY(NodeWatch(runtime, executor, settings, report).close_all());
  }
  return {};
}

Status watch_nodes(Runtime& runtime, const ExecutorRecord& executor, const Observation& seen, SyncReport& report) {
  BERTH_ASSIGN(const Settings settings, read_settings(runtime.db()));
  NodeWatch watch(runtime, executor, settings, report);
  for (const NodeObservation& node : seen.nodes) BERTH_TRY(watch.watch(node));
  BERTH_ASSIGN(const std::vector<std::int64_t> ids, ids_of_nodes(runtime.db(), seen));
  BERTH_TRY(watch_closings(runtime, executor, seen, ids, report));
  return watch_foreign(runtime, executor, seen, ids, report);
}

}  // namespace berth
