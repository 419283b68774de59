// Reads the openb cluster, its tasks, and the orders and ranks of the published fgd runs; replays arrivals under a
// policy.
//
// Only for tests and benches: every file is expected to be well formed, and what is missing ends in an empty result.
#pragma once

#include <bit>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/text.h"
#include "engine/model/ledger.h"
#include "engine/policy/candidates.h"
#include "engine/policy/device_choice.h"
#include "engine/policy/workload.h"

namespace berth::test {

// Where the traces and golden files lie: $BERTH_SHARED, else ../shared.
inline std::string shared_folder() {
  const char* folder = std::getenv("BERTH_SHARED");
  return folder != nullptr ? folder : "../shared";
}

inline bool shared_folder_exists() {
  return std::ifstream(shared_folder() + "/traces/openb/openb_node_list_gpu_node.csv").good();
}

// Rows of a comma separated file without quotes, each a map of column name to cell.
class CsvRows {
 public:
  explicit CsvRows(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    for (const std::string_view name : split(trim(line), ',')) columns_[std::string(name)] = columns_.size();
    while (std::getline(file, line)) {
      std::vector<std::string> cells;
      for (const std::string_view cell : split(trim(line), ',')) cells.emplace_back(cell);
      cells.resize(columns_.size());
      rows_.push_back(std::move(cells));
    }
  }
  std::size_t size() const { return rows_.size(); }
  bool has(const std::string& column) const { return columns_.contains(column); }
  const std::string& text(std::size_t row, const std::string& column) const { return rows_[row][columns_.at(column)]; }
  std::int64_t number(std::size_t row, const std::string& column) const { return std::stoll("0" + text(row, column)); }

 private:
  std::map<std::string, std::size_t> columns_;
  std::vector<std::vector<std::string>> rows_;
};

inline std::vector<std::int32_t> read_numbers(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::int32_t> numbers;
  for (std::int32_t number = 0; file >> number;) numbers.push_back(number);
  return numbers;
}

// The 1,213 nodes, `copies` times over.
inline Cluster openb_cluster(std::size_t copies = 1) {
  const CsvRows rows(shared_folder() + "/traces/openb/openb_node_list_gpu_node.csv");
  Cluster cluster;
  std::map<std::string, std::int32_t> models;
  for (std::size_t copy = 0; copy < copies; ++copy) {
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const std::string& name = rows.text(row, "model");
      const auto [model, is_new] = models.try_emplace(name, static_cast<std::int32_t>(cluster.models.size()));
      if (is_new) cluster.models.push_back({.id = model->second + 1, .name = name, .memory = MiB(0)});
      NodeKind kind;
      kind.cpu = MilliCpu(rows.number(row, "cpu_milli"));
      kind.memory = MiB(rows.number(row, "memory_mib"));
      kind.model = model->second;
      kind.device_count = static_cast<std::int32_t>(rows.number(row, "gpu"));
      Node node;
      node.id = static_cast<std::int64_t>(cluster.nodes.size() + 1);
      node.kind = cluster.add_kind(kind);
      cluster.nodes.push_back(node);
      cluster.node_names.push_back(rows.text(row, "sn"));
    }
  }
  return cluster;
}

struct OpenbTasks {
  std::vector<TaskShape> shapes;
  std::vector<std::string> models_text;

  std::vector<WorkloadShape> workload() const {
    std::vector<WorkloadTask> tasks;
    for (std::size_t i = 0; i < shapes.size(); ++i)
      tasks.push_back({.shape = shapes[i], .models_text = models_text[i]});
    return typical_workload(tasks);
  }
};

inline OpenbTasks openb_tasks(const std::string& path, const Cluster& cluster) {
  const CsvRows rows(path);
  OpenbTasks tasks;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    TaskShape shape;
    shape.cpu = MilliCpu(rows.number(row, "cpu_milli"));
    shape.memory = MiB(rows.number(row, "memory_mib"));
    shape.gpu_count = static_cast<std::int32_t>(rows.number(row, "num_gpu"));
    shape.gpu_milli = MilliGpu(shape.gpu_count == 0 ? 0 : rows.number(row, "gpu_milli"));
    const std::string spec = rows.has("gpu_spec") ? rows.text(row, "gpu_spec") : "";
    for (const std::string_view name : split(spec, '|')) {
      for (std::size_t model = 0; model < cluster.models.size(); ++model) {
        if (cluster.models[model].name == name) shape.models |= ModelSet{1} << model;
      }
    }
    tasks.shapes.push_back(shape);
    tasks.models_text.push_back(spec);
  }
  return tasks;
}

inline OpenbTasks openb_workload_tasks(const std::string& workload, const Cluster& cluster) {
  return openb_tasks(shared_folder() + "/traces/openb/openb_pod_list_" + workload + ".csv", cluster);
}

struct Arrival {
  NodeIndex node = -1;  // -1 = it did not fit
  DeviceMask devices = 0;
  std::int64_t arrived = 0;  // milli-GPU asked for so far, with this task
  std::int64_t used = 0;     // milli-GPU in use after it
};

// Tasks arrive one after the other and never leave; one that does not fit is dropped. `order` = indices into shapes.
inline std::vector<Arrival> replay_arrivals(const Cluster& cluster, std::span<const TaskShape> shapes,
                                            std::span<const std::int32_t> order, std::span<const std::int32_t> rank,
                                            NodeScore& policy, std::uint64_t seed = 0) {
  Ledger ledger(cluster);
  Candidates candidates(ledger, policy, rank, seed);
  std::vector<Arrival> arrivals;
  arrivals.reserve(order.size());
  std::int64_t arrived = 0;
  for (const std::int32_t index : order) {
    const TaskShape& shape = shapes[static_cast<std::size_t>(index)];
    arrived += shape.gpu_total().value();
    Arrival arrival{.arrived = arrived};
    if (const std::optional<NodeIndex> node = candidates.best(shape)) {
      const NodeView view = ledger.view(*node);
      const std::optional<DeviceMask> devices = choose_devices(view, shape, policy);
      if (devices && ledger.place(holding_for(shape, *view.kind, *node, *devices)).ok()) {
        arrival.node = *node;
        arrival.devices = *devices;
        ledger.commit();
      }
    }
    arrival.used = ledger.gpu_used().value();
    arrivals.push_back(arrival);
  }
  return arrivals;
}

// Allocated GPU % when k % of the cluster's GPUs have been asked for, k = 0..130, formed as the published curves are
// (fgd.md section 6); NaN where no event lies near.
inline std::vector<double> allocation_curve(std::span<const Arrival> arrivals, std::int64_t capacity) {
  std::vector<double> sum(132);
  std::vector<double> events(132);
  const double percent = static_cast<double>(capacity) / 100;
  for (const Arrival& arrival : arrivals) {
    const double column = std::nearbyint(static_cast<double>(arrival.arrived) / percent);
    if (column > 131) continue;
    const std::size_t at = static_cast<std::size_t>(column);
    sum[at] += std::nearbyint(static_cast<double>(arrival.used) / percent * 100) / 100;
    ++events[at];
  }
  std::vector<double> curve;
  for (std::size_t k = 0; k <= 130; ++k) {
    double total = sum[k];
    double count = events[k];
    if (count == 0) {
      total = (k > 0 ? sum[k - 1] : 0) + sum[k + 1];
      count = (k > 0 ? events[k - 1] : 0) + events[k + 1];
    }
    curve.push_back(std::nearbyint(total / count * 100) / 100);
  }
  return curve;
}

}  // namespace berth::test
