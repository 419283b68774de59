#include "engine/store/totals.h"

#include <algorithm>
#include <bit>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/model/cluster.h"
#include "engine/store/change.h"

namespace berth {

namespace {

// Counts different ids: a bit each, and a set for those too large for that.
class DistinctIds {
 public:
  void add(std::int64_t id) {
    const auto place = static_cast<std::size_t>(id);
    if (place >= kMostBits) {
      size_ += large_.insert(id).second ? 1 : 0;
      return;
    }
    if (place >= seen_.size()) seen_.resize(std::max(place + 1, 2 * seen_.size()));
    if (!seen_[place]) ++size_;
    seen_[place] = true;
  }
  std::int64_t size() const { return size_; }

 private:
  static constexpr std::size_t kMostBits = std::size_t{1} << 28;
  std::vector<bool> seen_;
  std::unordered_set<std::int64_t> large_;
  std::int64_t size_ = 0;
};

// Nodes and allocations come in node order, so one merge does it.
class TotalsReader {
 public:
  explicit TotalsReader(Database& db) : db_(db) {}

  Result<ClusterTotals> read() {
    BERTH_ASSIGN(const Transaction one_view, Transaction::begin_read(db_));
    BERTH_ASSIGN(totals_.version, state_version(db_));
    BERTH_TRY(read_unhealthy());
    BERTH_TRY(read_types());
    BERTH_TRY(read_nodes());
    BERTH_TRY(read_jobs());
    sum_and_sort();
    return std::move(totals_);
  }

 private:
  struct Type {
    std::string name;
    std::string model;
    MilliCpu cpu;
    MiB memory;
    int devices = 0;
  };
  Status read_unhealthy();
  Status read_types();
  Status read_nodes();
  Status read_jobs();
  TypeTotals& row_of(std::int64_t type, std::int64_t pool);
  void add_node(const Statement& node, Statement& tasks, bool& more);
  void sum_and_sort();

  Database& db_;
  ClusterTotals totals_;
  std::unordered_map<std::int64_t, DeviceMask> unhealthy_;
  DistinctIds running_;  // jobs that hold something
  std::map<std::int64_t, Type> types_;
  std::map<std::int64_t, std::string> pools_;
  std::map<std::pair<std::int64_t, std::int64_t>, TypeTotals> rows_;  // by (type, pool)
};

Status TotalsReader::read_unhealthy() {
  BERTH_ASSIGN(Statement rows, db_.prepare("SELECT node_id, device_index FROM devices WHERE health <> 'healthy'"));
  while (rows.next()) unhealthy_[rows.integer(0)] |= DeviceMask{1} << rows.integer(1);
  return rows.status();
}

Status TotalsReader::read_types() {
  BERTH_ASSIGN(Statement types, db_.prepare("SELECT t.id, t.name, coalesce(m.name, ''), t.cpu_milli, t.memory_mib, "
                                            "t.device_count FROM node_types t LEFT JOIN device_models m "
                                            "ON m.id = t.device_model_id"));
  while (types.next()) {
    types_[types.integer(0)] = {std::string(types.text(1)), std::string(types.text(2)), types.quantity<MilliCpu>(3),
                                types.quantity<MiB>(4), static_cast<int>(types.integer(5))};
  }
  BERTH_TRY(types.status());
  BERTH_ASSIGN(Statement pools, db_.prepare("SELECT id, name FROM pools"));
  while (pools.next()) pools_[pools.integer(0)] = pools.text(1);
  return pools.status();
}

TypeTotals& TotalsReader::row_of(std::int64_t type, std::int64_t pool) {
  const auto [row, is_new] = rows_.try_emplace({type, pool});
  if (is_new) {
    row->second.type = types_[type].name;
    row->second.device_model = types_[type].model;
    row->second.pool = pools_[pool];
  }
  return row->second;
}

void TotalsReader::add_node(const Statement& node, Statement& tasks, bool& more) {
  const std::int64_t id = node.integer(0);
  const Type& type = types_[node.integer(1)];
  TypeTotals& row = row_of(node.integer(1), node.integer(2));
  const bool up = node.text(3) == "up";
  DeviceMask taken = 0;
  if (const auto bad = unhealthy_.find(id); bad != unhealthy_.end()) {
    row.devices_unhealthy += std::popcount(bad->second);
    taken = bad->second;
  }
  ++row.nodes;
  row.nodes_up += up ? 1 : 0;
  row.devices += type.devices;
  row.cpu += type.cpu;
  row.memory += type.memory;
  while (more && tasks.integer(0) < id) more = tasks.next();
  for (; more && tasks.integer(0) == id; more = tasks.next()) {
    const auto mask = static_cast<DeviceMask>(tasks.integer(1));
    row.gpu_used += tasks.quantity<MilliGpu>(2) * std::popcount(mask);
    row.cpu_used += tasks.quantity<MilliCpu>(3);
    row.memory_used += tasks.quantity<MiB>(4);
    ++row.tasks;
    taken |= mask;
    running_.add(tasks.integer(5));
  }
  if (up) row.devices_free += type.devices - std::popcount(taken);
}

Status TotalsReader::read_nodes() {
  BERTH_ASSIGN(Statement tasks, db_.prepare("SELECT node_id, device_mask, gpu_milli, cpu_milli, memory_mib, job_id "
                                            "FROM allocations ORDER BY node_id"));
  BERTH_ASSIGN(Statement nodes, db_.prepare("SELECT id, type_id, coalesce(pool_id, 0), state FROM nodes ORDER BY id"));
  bool more = tasks.next();
  while (nodes.next()) add_node(nodes, tasks, more);
  BERTH_TRY(tasks.status());
  return nodes.status();
}

// Counted along the indexes, without a look at the jobs' rows: a job runs when it holds something (a promise of CHECK).
Status TotalsReader::read_jobs() {
  BERTH_ASSIGN(const std::int64_t live,
               db_.integer("SELECT count(*) FROM jobs INDEXED BY jobs_live WHERE end_time IS NULL"));
  BERTH_ASSIGN(totals_.jobs_held, db_.integer("SELECT count(*) FROM jobs WHERE state = 'held'"));
  totals_.jobs_running = running_.size();
  totals_.jobs_pending = live - totals_.jobs_held - totals_.jobs_running;
  return {};
}

void TotalsReader::sum_and_sort() {
  TypeTotals& all = totals_.all;
  for (auto& [key, row] : rows_) {
    all.nodes += row.nodes;
    all.nodes_up += row.nodes_up;
    all.devices += row.devices;
    all.devices_unhealthy += row.devices_unhealthy;
    all.devices_free += row.devices_free;
    all.gpu_used += row.gpu_used;
    all.cpu += row.cpu;
    all.cpu_used += row.cpu_used;
    all.memory += row.memory;
    all.memory_used += row.memory_used;
    all.tasks += row.tasks;
    totals_.types.push_back(std::move(row));
  }
  std::sort(totals_.types.begin(), totals_.types.end(), [](const TypeTotals& a, const TypeTotals& b) {
    return a.pool != b.pool ? a.pool < b.pool : a.type < b.type;
  });
}

}  // namespace

Result<ClusterTotals> cluster_totals(Database& db) { return TotalsReader(db).read(); }

}  // namespace berth
