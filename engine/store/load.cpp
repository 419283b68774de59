#include "engine/store/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "engine/store/assertion_holds.h"
#include "engine/store/catalog.h"
#include "engine/store/change.h"
#include "engine/store/foreign_use.h"
#include "engine/store/id_index.h"
#include "engine/store/launch_losses.h"
#include "engine/store/load_jobs.h"
#include "engine/store/load_quotas.h"
#include "engine/store/names.h"
#include "engine/store/node_closings.h"
#include "engine/store/queue_records.h"
#include "engine/store/reservation_records.h"
#include "engine/store/settings.h"

namespace berth {

namespace {

// Reads the parts one after the other; each part uses the ids of those before it.
class StateLoader {
 public:
  StateLoader(Database& db, const LoadOptions& options) : db_(db), options_(options) {}

  Result<Loaded> load() {
    BERTH_ASSIGN(const Transaction one_view, Transaction::begin_read(db_));
    BERTH_TRY(load_settings());
    BERTH_ASSIGN(catalog_, Catalog::read(db_));
    BERTH_TRY(load_queues());
    BERTH_TRY(load_nodes());
    BERTH_TRY(load_unhealthy_devices());
    BERTH_TRY(load_allocations());
    JobLoader jobs(db_, {catalog_, queues_, classes_, options_.also_job}, loaded_, job_terms_);
    BERTH_TRY(jobs.load());
    BERTH_ASSIGN(loaded_.snapshot.reservations, read_reservations(db_, nodes_, loaded_.snapshot.cluster));
    BERTH_TRY(load_lost_work());
    if (holds_back_) {
      BERTH_ASSIGN(loaded_.snapshot.holds, read_assertion_holds(db_));
      BERTH_ASSIGN(loaded_.snapshot.surplus_holds, read_surplus_holds(db_));
      BERTH_ASSIGN(loaded_.snapshot.refused, read_assertion_refusals(db_, options_.now, loaded_.snapshot.rules));
    }
    BERTH_TRY(load_foreign_use(db_, nodes_, loaded_.snapshot));
    BERTH_ASSIGN(loaded_.snapshot.kept_out, kept_out_nodes(db_, nodes_, options_.now));
    BERTH_ASSIGN(loaded_.snapshot.evict_nobody, jobs_kept_out(db_, options_.now));
    apply_kept_out(loaded_.snapshot);
    return std::move(loaded_);
  }

 private:
  Status load_settings();
  Status load_queues();
  Status load_nodes();
  Status load_unhealthy_devices();
  Status load_allocations();
  Status load_lost_work();

  Database& db_;
  const LoadOptions& options_;
  Loaded loaded_;
  JobLoader::Terms job_terms_;
  bool holds_back_ = true;
  Catalog catalog_;
  IdIndex nodes_;
  IdIndex queues_;
  IdIndex classes_;
};

Status StateLoader::load_settings() {
  BERTH_ASSIGN(Settings settings, read_settings(db_));
  Snapshot& snapshot = loaded_.snapshot;
  BERTH_ASSIGN(snapshot.version, state_version(db_));
  snapshot.now = options_.now;
  snapshot.seed = settings.seed;
  snapshot.order_policy = std::move(settings.order_policy);
  snapshot.score_policy = std::move(settings.score_policy);
  snapshot.filter_policy = std::move(settings.filter_policy);
  snapshot.victim_policy = std::move(settings.victim_policy);
  snapshot.aging_interval = settings.aging_interval;
  snapshot.rules = settings.rules;
  job_terms_ = {.predicts = settings.predictor.is_on, .stop_grace = settings.stop_grace};
  holds_back_ = settings.holds_back;
  snapshot.order_knobs = std::move(settings.order_knobs);
  return {};
}

Status StateLoader::load_queues() {
  BERTH_ASSIGN(QuotaState departments, load_quotas(db_, options_.now));
  for (const Queue& queue : departments.queues) queues_.add(queue.id);
  loaded_.snapshot.queues = std::move(departments.queues);
  loaded_.snapshot.quotas = std::move(departments.quotas);

  BERTH_ASSIGN(loaded_.snapshot.priority_classes, read_priority_classes(db_));
  for (const PriorityClass& each : loaded_.snapshot.priority_classes) classes_.add(each.id);
  return {};
}

Status StateLoader::load_nodes() {
  Cluster& cluster = loaded_.snapshot.cluster;
  cluster.models = catalog_.models();
  cluster.pools = catalog_.pools();
  std::map<std::pair<std::int64_t, std::int64_t>, std::int32_t> kinds;  // (type, pool) -> index
  std::unordered_map<std::string, std::int32_t> racks;
  BERTH_ASSIGN(Statement rows, db_.prepare("SELECT id, type_id, coalesce(pool_id, 0), state, rack, name FROM nodes "
                                           "ORDER BY id"));
  while (rows.next()) {
    Node node;
    node.id = rows.integer(0);
    const auto [kind, is_new] = kinds.try_emplace({rows.integer(1), rows.integer(2)}, 0);
    if (is_new) {
      BERTH_ASSIGN(const NodeKind content, catalog_.kind(rows.integer(1), rows.integer(2)));
      kind->second = cluster.add_kind(content);
    }
    node.kind = kind->second;
    const std::string_view state = rows.text(3);
    if (state != "up") {
      BERTH_ASSIGN(node.state, read_node_state(state));
    }
    if (const std::string_view rack = rows.text(4); !rack.empty()) {
      const auto [place, is_new_rack] =
          racks.try_emplace(std::string(rack), static_cast<std::int32_t>(cluster.racks.size()));
      if (is_new_rack) cluster.racks.emplace_back(rack);
      node.rack = place->second;
    }
    nodes_.add(node.id);
    cluster.nodes.push_back(node);
    if (options_.node_names) cluster.node_names.emplace_back(rows.text(5));
  }
  return rows.status();
}

Status StateLoader::load_unhealthy_devices() {
  BERTH_ASSIGN(Statement rows, db_.prepare("SELECT node_id, device_index FROM devices WHERE health <> 'healthy' "
                                           "ORDER BY node_id"));
  while (rows.next()) {
    const std::int32_t node = nodes_.find(rows.integer(0));
    if (node >= 0) {
      loaded_.snapshot.cluster.nodes[static_cast<std::size_t>(node)].unhealthy |= DeviceMask{1} << rows.integer(1);
    }
  }
  return rows.status();
}

Status StateLoader::load_allocations() {
  BERTH_ASSIGN(
      Statement rows,
      db_.prepare(
          "SELECT node_id, job_id, group_index, task_index, device_mask, gpu_milli, gpu_memory_mib, "
          "cpu_milli, memory_mib, start_time FROM allocations ORDER BY node_id, job_id, group_index, task_index"));
  std::vector<Allocation>& allocations = loaded_.snapshot.allocations;
  while (rows.next()) {
    Allocation allocation;
    allocation.node = nodes_.find(rows.integer(0));
    if (allocation.node < 0) {
      return Status(Code::kCorrupt,
                    fmt::format("job {} holds part of node {}, which does not exist", rows.integer(1), rows.integer(0)),
                    "CHECK names all such rows");
    }
    allocation.job = rows.integer(1);
    allocation.group = static_cast<std::int32_t>(rows.integer(2));
    allocation.task = static_cast<std::int32_t>(rows.integer(3));
    allocation.devices = static_cast<DeviceMask>(rows.integer(4));
    allocation.gpu_milli = rows.quantity<MilliGpu>(5);
    allocation.gpu_memory = rows.quantity<MiB>(6);
    allocation.cpu = rows.quantity<MilliCpu>(7);
    allocation.memory = rows.quantity<MiB>(8);
    allocation.start = rows.quantity<Seconds>(9);
    allocations.push_back(allocation);
  }
  return rows.status();
}

// What evictions cost each queue in the hour before now.
Status StateLoader::load_lost_work() {
  constexpr Seconds kHour(3600);
  BERTH_ASSIGN(Statement rows, db_.prepare("SELECT victim_queue_id, sum(lost_gpu_milli_s) FROM evictions "
                                           "WHERE time > ?1 GROUP BY victim_queue_id ORDER BY 1"));
  rows.with(options_.now - kHour);
  while (rows.next()) {
    const std::int32_t queue = queues_.find(rows.integer(0));
    if (queue >= 0) loaded_.snapshot.queues[static_cast<std::size_t>(queue)].lost_this_hour = rows.integer(1);
  }
  return rows.status();
}

}  // namespace

Result<Loaded> load_state(Database& db, const LoadOptions& options) { return StateLoader(db, options).load(); }

Result<std::vector<PriorityClass>> read_priority_classes(Database& db) {
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT id, name, value FROM priority_classes ORDER BY id"));
  std::vector<PriorityClass> classes;
  // What another program has put there must not overflow where it is added to (CHECK tells of it).
  while (rows.next())
    classes.push_back(
        {rows.integer(0), std::string(rows.text(1)), std::clamp(rows.integer(2), -kMostPriority, kMostPriority)});
  BERTH_TRY(rows.status());
  return classes;
}

Result<std::string> job_name(Database& db, std::int64_t job) { return name_of(db, Thing::kJob, job); }

}  // namespace berth
