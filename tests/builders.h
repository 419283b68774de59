// Clusters and jobs from a line of text, so that a test shows its whole world.
//
//   cluster_from("4x8:H100 rack=a links=[0 1 2 3][4 5 6 7]; 2x4:A100 cpu=32 mem=128GiB; 3x0")
//   job_from("gpus=2 tasks=8 min=4 locality=rack", 7)
//
// A node is "<count>x<devices>[:<model>]" with cpu (default 8 cores a device, 64 without), mem (64 GiB a device, 256
// without), devmem (80 GiB), rack, pool, links, state, bad (unhealthy devices). A job is "key=value ..." with gpus,
// cpu, mem, gpumem, models=A|B, pool, tasks, min, locality, preferred=1, class, submit; several groups are separated by
// "/". Wrong text ends the test.
#pragma once

#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <string_view>

#include "engine/base/text.h"
#include "engine/model/snapshot.h"

namespace berth::test {

template <class T>
T must(Result<T> result) {
  if (!result.ok()) {
    std::cerr << "test text: " << result.status().message() << "\n";
    std::abort();
  }
  return *std::move(result);
}

class Words {
 public:
  explicit Words(std::string_view text) {
    std::string word;
    int depth = 0;
    for (const char c : std::string(text) + " ") {
      depth += c == '[' ? 1 : c == ']' ? -1 : 0;
      if (c != ' ' || depth > 0) {
        word += c;
        continue;
      }
      if (word.empty()) continue;
      const std::size_t equals = word.find('=');
      if (equals == std::string::npos) {
        first = word;
      } else {
        values_[word.substr(0, equals)] = word.substr(equals + 1);
      }
      word.clear();
    }
  }
  bool has(const std::string& key) const { return values_.contains(key); }
  std::string get(const std::string& key, const std::string& other = {}) const {
    const auto found = values_.find(key);
    return found == values_.end() ? other : found->second;
  }
  std::int64_t number(const std::string& key, std::int64_t other) const {
    return has(key) ? must(read_integer(get(key))) : other;
  }

  std::string first;

 private:
  std::map<std::string, std::string> values_;
};

inline std::int32_t index_of(std::vector<std::string>& names, const std::string& name) {
  if (name.empty()) return -1;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<std::int32_t>(i);
  }
  names.push_back(name);
  return static_cast<std::int32_t>(names.size() - 1);
}

inline std::int32_t model_index(Cluster& cluster, const std::string& name, MiB memory) {
  for (std::size_t i = 0; i < cluster.models.size(); ++i) {
    if (cluster.models[i].name == name) return static_cast<std::int32_t>(i);
  }
  cluster.models.push_back({static_cast<std::int64_t>(cluster.models.size() + 1), name, memory});
  return static_cast<std::int32_t>(cluster.models.size() - 1);
}

inline Cluster cluster_from(std::string_view text) {
  Cluster cluster;
  for (const std::string_view part : split(text, ';')) {
    if (trim(part).empty()) continue;
    const Words words{trim(part)};
    const std::size_t times = words.first.find('x');
    const std::size_t colon = words.first.find(':');
    const std::int64_t count = must(read_integer(words.first.substr(0, times)));
    const std::int64_t devices =
        must(read_integer(words.first.substr(times + 1, colon == std::string::npos ? colon : colon - times - 1)));
    NodeKind kind;
    kind.device_count = static_cast<std::int32_t>(devices);
    kind.cpu = must(read_cpu(words.get("cpu", std::to_string(devices == 0 ? 64 : devices * 8))));
    kind.memory = must(read_memory(words.get("mem", std::to_string(devices == 0 ? 256 : devices * 64) + "GiB")));
    if (devices > 0) {
      kind.device_memory = must(read_memory(words.get("devmem", "80GiB")));
      kind.model =
          model_index(cluster, colon == std::string::npos ? "gpu" : words.first.substr(colon + 1), kind.device_memory);
      kind.link_groups = must(read_link_groups(words.get("links"), kind.device_count));
    }
    kind.pool = index_of(cluster.pools, words.get("pool"));
    Node node;
    node.kind = cluster.add_kind(kind);
    node.rack = index_of(cluster.racks, words.get("rack"));
    node.state = must(read_node_state(words.get("state", "up")));
    node.unhealthy = must(read_device_mask(words.get("bad")));
    for (std::int64_t i = 0; i < count; ++i) {
      node.id = static_cast<std::int64_t>(cluster.nodes.size() + 1);
      cluster.nodes.push_back(node);
      cluster.node_names.push_back("n" + std::to_string(node.id));
    }
  }
  return cluster;
}

inline TaskGroup group_from(std::string_view text, Cluster& cluster) {
  const Words words{trim(text)};
  TaskGroup group;
  const MilliGpu gpus = must(read_gpu(words.get("gpus", "0")));
  group.shape.gpu_count = static_cast<std::int32_t>(divide_up(gpus.value(), 1000));
  group.shape.gpu_milli = gpus < kWholeDevice ? gpus : kWholeDevice;
  if (gpus == MilliGpu(0)) group.shape.gpu_milli = MilliGpu(0);
  group.shape.cpu = must(read_cpu(words.get("cpu", "1")));
  group.shape.memory = must(read_memory(words.get("mem", "1GiB")));
  group.shape.gpu_memory = must(read_memory(words.get("gpumem", "0")));
  if (words.has("models")) {
    const std::string models = words.get("models");  // outlives the views into it
    for (const std::string_view name : split(models, '|')) {
      group.shape.models |= ModelSet{1} << model_index(cluster, std::string(name), MiB(81920));
    }
  }
  group.shape.pool = index_of(cluster.pools, words.get("pool"));
  group.count = static_cast<std::int32_t>(words.number("tasks", 1));
  group.min_tasks = static_cast<std::int32_t>(words.number("min", group.count));
  group.locality = must(read_locality(words.get("locality", "any")));
  group.locality_required = !words.has("preferred");
  return group;
}

inline Job job_from(std::string_view text, std::int64_t id, Cluster& cluster) {
  Job job;
  job.id = id;
  const Words words{trim(split(text, '/').front())};
  job.submit = Seconds(words.number("submit", 0));
  job.priority_class = static_cast<std::int32_t>(words.number("class", -1));
  for (const std::string_view group : split(text, '/')) job.groups.push_back(group_from(group, cluster));
  return job;
}

// A snapshot with these jobs waiting, ids from 1.
inline Snapshot snapshot_from(std::string_view cluster, std::initializer_list<std::string_view> jobs) {
  Snapshot snapshot;
  snapshot.cluster = cluster_from(cluster);
  snapshot.now = Seconds(1000);
  snapshot.order_policy = "fifo";
  snapshot.score_policy = "best_fit";
  std::int64_t id = 0;
  for (const std::string_view job : jobs) snapshot.jobs.push_back(job_from(job, ++id, snapshot.cluster));
  return snapshot;
}

}  // namespace berth::test
