// The cluster in a few numbers, fast: one pass over nodes and allocations and one over the index of live jobs.
#pragma once

#include <string>
#include <vector>

#include "engine/store/sqlite.h"

namespace berth {

// Nodes of one type in one pool.
struct TypeTotals {
  std::string pool;  // empty = in no pool
  std::string type;
  std::string device_model;  // empty = none
  std::int64_t nodes = 0;
  std::int64_t nodes_up = 0;
  std::int64_t devices = 0;
  std::int64_t devices_unhealthy = 0;
  MilliGpu gpu_used;
  MilliCpu cpu;
  MilliCpu cpu_used;
  MiB memory;
  MiB memory_used;
  std::int64_t tasks = 0;
  std::int64_t devices_free = 0;  // wholly free, healthy, on nodes that are up
};

struct ClusterTotals {
  std::int64_t version = 0;
  std::vector<TypeTotals> types;  // by pool, then type
  TypeTotals all;                 // sum; names empty
  std::int64_t jobs_pending = 0;
  std::int64_t jobs_held = 0;
  std::int64_t jobs_running = 0;
};

Result<ClusterTotals> cluster_totals(Database& db);

}  // namespace berth
