// A made-up cluster with queues and jobs, for tests of policies: short texts and tables to a snapshot.
//
//   cluster  "4x8:A100 pool=train cpu=64; 2x4:T4 memory=128GiB": <count>x<devices>[:<model>] with pool, rack, cpu
//   (cores;
//            default 8 a device, 64 without), memory (64GiB a device, 256GiB without). Nodes are named n1, n2, ...
//   job      {name = "a", queue = "nlp", gpus = 2, tasks = 1, min_tasks = 1, cpu = 4, memory = "8GiB",
//             models = {"A100"}, pool = "train", priority = 10, waited = 600, time_limit = 0, expected = 3600}
//   queue    {name = "nlp", parent = "root", weight = 1, priority_band = 0}
//
// Whatever is misspelt is an error with the nearest word.
#pragma once

#include <string>

#include "engine/lua/value.h"
#include "engine/model/snapshot.h"

namespace berth {

class PolicyFixture {
 public:
  PolicyFixture();

  Status set_cluster(std::string_view text);
  Status add_queue(const ScriptTable& table);
  Status add_job(const ScriptTable& table);
  void set_now(Seconds now);

  // Jobs and nodes have names here.
  const Snapshot& snapshot() const { return snapshot_; }
  Result<const Job*> find_job(std::string_view name) const;
  Result<NodeIndex> find_node(std::string_view name) const;
  const std::string& job_name(std::int64_t id) const { return job_names_[static_cast<std::size_t>(id - 1)]; }

 private:
  Status add_nodes(std::string_view text);
  Result<ModelSet> models_of(const ScriptTable& names);
  std::int32_t model_index(std::string_view name);
  std::int32_t queue_index(std::string_view name);

  Snapshot snapshot_;
  std::vector<std::string> job_names_;
};

}  // namespace berth
