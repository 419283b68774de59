#include "engine/store/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "engine/store/catalog.h"
#include "engine/store/change.h"
#include "engine/store/load_quotas.h"
#include "engine/store/names.h"
#include "engine/store/settings.h"

namespace berth {

namespace {

// Indices of rows that arrive in id order.
class IdIndex {
 public:
  void add(std::int64_t id) { ids_.push_back(id); }
  // -1 when there is none. Looks next to the last answer first: most callers ask in rising order.
  std::int32_t find(std::int64_t id) {
    if (last_ < ids_.size() && ids_[last_] == id) return static_cast<std::int32_t>(last_);
    if (last_ + 1 < ids_.size() && ids_[last_ + 1] == id) return static_cast<std::int32_t>(++last_);
    const auto found = std::lower_bound(ids_.begin(), ids_.end(), id);
    if (found == ids_.end() || *found != id) return -1;
    last_ = static_cast<std::size_t>(found - ids_.begin());
    return static_cast<std::int32_t>(last_);
  }

 private:
  std::vector<std::int64_t> ids_;
  std::size_t last_ = 0;
};

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
    BERTH_TRY(load_jobs());
    finish_shapes();
    return std::move(loaded_);
  }

 private:
  Status load_settings();
  Status load_queues();
  Status load_nodes();
  Status load_unhealthy_devices();
  Status load_allocations();
  Status load_jobs();
  Status load_jobs_of(std::string_view table, std::string_view condition, std::optional<std::int64_t> id);
  Status start_job(const Statement& row);
  Status add_group(const Statement& row);
  void end_job();
  void finish_shapes();

  Database& db_;
  const LoadOptions& options_;
  Loaded loaded_;
  Catalog catalog_;
  IdIndex nodes_;
  IdIndex queues_;
  IdIndex classes_;

  // Tasks placed, per group of the jobs that run, sorted by job and group.
  struct PlacedCount {
    std::int64_t job;
    std::int32_t group;
    std::int32_t first_task;
    NodeIndex anchor;  // where the first task runs
    std::int32_t count;
    DeviceMask devices;  // of its tasks on the anchor
  };
  std::vector<PlacedCount> placed_;
  std::size_t next_placed_ = 0;

  std::optional<Job> job_;  // the one whose groups are being read
  Reason job_reason_ = Reason::kNone;
  struct ShapeKey {
    TaskShape shape;
    std::string models_text;
    bool operator==(const ShapeKey&) const = default;
  };
  struct ShapeKeyHash {
    std::size_t operator()(const ShapeKey& key) const {
      return TaskShapeHash()(key.shape) ^ std::hash<std::string_view>()(key.models_text);
    }
  };
  std::unordered_map<ShapeKey, std::size_t, ShapeKeyHash> shape_index_;
  std::map<std::string, ModelSet, std::less<>> model_sets_;
};

Status StateLoader::load_settings() {
  BERTH_ASSIGN(Settings settings, read_settings(db_));
  Snapshot& snapshot = loaded_.snapshot;
  BERTH_ASSIGN(snapshot.version, state_version(db_));
  snapshot.now = options_.now;
  snapshot.seed = settings.seed;
  snapshot.order_policy = std::move(settings.order_policy);
  snapshot.score_policy = std::move(settings.score_policy);
  snapshot.aging_interval = settings.aging_interval;
  return {};
}

Status StateLoader::load_queues() {
  BERTH_ASSIGN(QuotaState departments, load_quotas(db_, options_.now));
  for (const Queue& queue : departments.queues) queues_.add(queue.id);
  loaded_.snapshot.queues = std::move(departments.queues);
  loaded_.snapshot.quotas = std::move(departments.quotas);

  BERTH_ASSIGN(Statement classes, db_.prepare("SELECT id, name, value FROM priority_classes ORDER BY id"));
  while (classes.next()) {
    classes_.add(classes.integer(0));
    loaded_.snapshot.priority_classes.push_back({classes.integer(0), std::string(classes.text(1)), classes.integer(2)});
  }
  return classes.status();
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
  BERTH_ASSIGN(Statement rows,
               db_.prepare("SELECT node_id, job_id, group_index, task_index, device_mask, gpu_milli, gpu_memory_mib, "
                           "cpu_milli, memory_mib FROM allocations ORDER BY node_id, job_id, group_index, task_index"));
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
    allocations.push_back(allocation);
  }
  BERTH_TRY(rows.status());

  placed_.reserve(allocations.size());
  for (const Allocation& each : allocations) {
    placed_.push_back({each.job, each.group, each.task, each.node, 1, each.devices});
  }
  std::sort(placed_.begin(), placed_.end(), [](const PlacedCount& a, const PlacedCount& b) {
    return std::tie(a.job, a.group, a.first_task) < std::tie(b.job, b.group, b.first_task);
  });
  std::size_t kept = 0;
  for (const PlacedCount& each : placed_) {
    if (kept > 0 && placed_[kept - 1].job == each.job && placed_[kept - 1].group == each.group) {
      ++placed_[kept - 1].count;
      if (placed_[kept - 1].anchor == each.anchor) placed_[kept - 1].devices |= each.devices;
    } else {
      placed_[kept++] = each;
    }
  }
  placed_.resize(kept);
  return {};
}

// Live jobs joined with their groups, both in id order. INDEXED BY and CROSS JOIN hold SQLite to the walk along the
// index of live jobs, so that ended ones cost nothing.
Status StateLoader::load_jobs() {
  BERTH_TRY(load_jobs_of("jobs j INDEXED BY jobs_live", "j.end_time IS NULL AND j.state <> 'held' AND ?1 IS NULL",
                         std::nullopt));
  if (!options_.also_job) return {};
  std::vector<Job>& jobs = loaded_.snapshot.jobs;
  if (std::any_of(jobs.begin(), jobs.end(), [&](const Job& job) { return job.id == *options_.also_job; })) return {};
  BERTH_TRY(load_jobs_of("jobs j", "j.id = ?1", options_.also_job));
  std::sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) { return a.id < b.id; });
  std::sort(loaded_.last_reasons.begin(), loaded_.last_reasons.end(),
            [](const LastReason& a, const LastReason& b) { return a.job < b.job; });
  return {};
}

Status StateLoader::load_jobs_of(std::string_view table, std::string_view condition, std::optional<std::int64_t> id) {
  BERTH_ASSIGN(
      Statement rows,
      db_.prepare(fmt::format(
          "SELECT j.id, j.queue_id, coalesce(j.priority_class_id, 0), j.state, j.submit_time, j.time_limit_s, "
          "j.wait_reason, "
          "       g.group_index, g.task_count, g.min_tasks, g.cpu_milli, g.memory_mib, g.gpu_count, g.gpu_milli, "
          "       g.gpu_memory_mib, g.models, coalesce(g.pool_id, 0), g.locality, g.locality_required "
          "FROM {} CROSS JOIN task_groups g ON g.job_id = j.id WHERE {} ORDER BY j.id, g.group_index",
          table, condition)));
  rows.with(id);
  next_placed_ = 0;
  while (rows.next()) {
    if (!job_ || job_->id != rows.integer(0)) {
      end_job();
      BERTH_TRY(start_job(rows));
    }
    BERTH_TRY(add_group(rows));
  }
  end_job();
  return rows.status();
}

Status StateLoader::start_job(const Statement& row) {
  Job& job = job_.emplace();
  job.id = row.integer(0);
  job.queue = queues_.find(row.integer(1));
  job.priority_class = classes_.find(row.integer(2));
  BERTH_ASSIGN(job.state, read_job_state(row.text(3)));
  job.submit = row.quantity<Seconds>(4);
  job.time_limit = row.quantity<Seconds>(5);
  job_reason_ = Reason::kNone;
  if (const std::string_view reason = row.text(6); !reason.empty()) {
    BERTH_ASSIGN(job_reason_, read_reason(reason));
  }
  return {};
}

Status StateLoader::add_group(const Statement& row) {
  const auto group_index = static_cast<std::int32_t>(row.integer(7));
  TaskGroup group;
  group.count = static_cast<std::int32_t>(row.integer(8));
  group.min_tasks = static_cast<std::int32_t>(row.integer(9));
  TaskShape& shape = group.shape;
  shape.cpu = row.quantity<MilliCpu>(10);
  shape.memory = row.quantity<MiB>(11);
  shape.gpu_count = static_cast<std::int32_t>(row.integer(12));
  shape.gpu_milli = row.quantity<MilliGpu>(13);
  shape.gpu_memory = row.quantity<MiB>(14);
  const std::string_view models = row.text(15);
  if (!models.empty()) {
    auto known = model_sets_.find(models);
    if (known == model_sets_.end()) known = model_sets_.emplace(models, catalog_.models_of(models)).first;
    shape.models = known->second;
  }
  shape.pool = catalog_.pool_index(row.integer(16));
  BERTH_ASSIGN(group.locality, read_locality(row.text(17)));
  group.locality_required = row.integer(18) != 0;

  while (next_placed_ < placed_.size() &&
         (placed_[next_placed_].job < job_->id ||
          (placed_[next_placed_].job == job_->id && placed_[next_placed_].group < group_index))) {
    ++next_placed_;
  }
  if (next_placed_ < placed_.size() && placed_[next_placed_].job == job_->id &&
      placed_[next_placed_].group == group_index) {
    group.placed = placed_[next_placed_].count;
    group.anchor = placed_[next_placed_].anchor;
    group.anchor_devices = placed_[next_placed_].devices;
  }
  if (job_->groups.size() != static_cast<std::size_t>(group_index)) {
    return Status(Code::kCorrupt, fmt::format("task groups of job {} are not numbered from 0", job_->id));
  }
  job_->groups.push_back(group);

  const auto [entry, is_new] = shape_index_.try_emplace({shape, std::string(models)}, loaded_.shapes.size());
  if (is_new) loaded_.shapes.push_back({shape, std::string(models), 0});
  loaded_.shapes[entry->second].tasks += group.count;
  return {};
}

// Keeps the job that has been read when there is something to decide about it.
void StateLoader::end_job() {
  if (!job_) return;
  const bool waits = std::any_of(job_->groups.begin(), job_->groups.end(),
                                 [](const TaskGroup& group) { return group.placed < group.count; });
  if (waits || options_.also_job == job_->id) {
    loaded_.last_reasons.push_back({job_->id, job_reason_});
    loaded_.snapshot.jobs.push_back(*std::move(job_));
  }
  job_.reset();
}

void StateLoader::finish_shapes() {
  std::stable_sort(loaded_.shapes.begin(), loaded_.shapes.end(),
                   [](const ShapeCount& a, const ShapeCount& b) { return a.tasks > b.tasks; });
}

}  // namespace

Result<Loaded> load_state(Database& db, const LoadOptions& options) { return StateLoader(db, options).load(); }

Result<std::string> job_name(Database& db, std::int64_t job) { return name_of(db, Thing::kJob, job); }

}  // namespace berth
