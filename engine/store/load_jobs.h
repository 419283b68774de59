// The jobs of a snapshot: those that wait and those that run.
//
// One walk over live jobs joined with their groups, in id order; placed counts, stops and open dependencies, sorted the
// same way, are merged in on the way. The history of evictions is asked for only of jobs that were evicted.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/store/catalog.h"
#include "engine/store/id_index.h"
#include "engine/store/load.h"

namespace berth {

class JobLoader {
 public:
  struct Names {
    const Catalog& catalog;
    IdIndex& queues;
    IdIndex& classes;
    std::optional<std::int64_t> also_job;  // see LoadOptions
  };
  struct Terms {
    bool predicts = true;  // what was predicted of the jobs counts, else their time limits do
    Seconds stop_grace;    // of tasks that are told to end
  };
  // `loaded` has its settings, queues and allocations.
  JobLoader(Database& db, const Names& names, Loaded& loaded, const Terms& terms);
  // Fills jobs, running, decayed usage of queues, shapes and last_reasons.
  Status load();

 private:
  // Tasks placed of one group of a job that runs.
  struct PlacedGroup {
    std::int64_t job;
    std::int32_t group;
    std::int32_t first_task;
    NodeIndex anchor;  // where the first task runs
    std::int32_t count;
    DeviceMask devices;  // of its tasks on the anchor
    double service;      // as decayed_service(), where use counts
  };
  struct Stop {
    std::int64_t job;
    std::int64_t beneficiary;
    EvictionRule rule;
    Seconds stop_at;
  };
  // A job that an executor runs.
  struct OnExecutor {
    std::int64_t job;
    Seconds ends_by;  // see RunningJob
  };
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

  void count_placed();
  Status read_stops();
  Status read_live_runs();
  Status read_dependencies();
  Status read_jobs(std::string_view table, std::string_view condition, std::optional<std::int64_t> id);
  Status start_job(const Statement& row);
  Status add_group(const Statement& row);
  Status end_job();
  Status add_eviction_history();
  void add_running();

  Database& db_;
  Names names_;
  Loaded& loaded_;
  Terms terms_;
  bool also_pass_ = false;                                        // reading the extra job alone
  std::vector<PlacedGroup> placed_;                               // by job, then group
  std::vector<OnExecutor> on_executors_;                          // by job
  std::vector<Stop> stops_;                                       // by job
  std::vector<std::pair<std::int64_t, std::int64_t>> dependent_;  // jobs with an unmet dependency, and on which
  std::size_t next_placed_ = 0;
  std::size_t next_stop_ = 0;
  std::size_t next_dependent_ = 0;

  std::optional<Job> job_;  // the one whose groups are being read
  LastReason last_;
  Seconds start_;
  std::uint32_t mark_ = 0;
  double service_ = 0;  // of its tasks
  std::unordered_map<ShapeKey, std::size_t, ShapeKeyHash> shape_index_;
  std::unordered_map<std::string, ModelSet> model_sets_;
};

}  // namespace berth
