// What a node is still worth: shadow prices of the demand to come.
//
// The tasks to come are unknown, but their mix is not: the typical workload, corrected by what has been asked for so
// far, tells how much of each shape the free part of the cluster will be asked to hold. Packing that demand into the
// cluster as it stands is a linear programme over nodes. Its Lagrangian dual has one price per shape - positive for
// what everybody can use as a filler, negative for awkward shapes, which the plan is paid to host - and inside every
// node one price of CPU and one of memory. An entropy term (temperature kTemperature) makes the dual smooth, and the
// value of a node falls apart into its devices:
//
//   V(node) = min over the grid of (CPU price c, memory price m) of
//             W(idle devices) + sum over started devices of U(free) + c s (free CPU) + m (free memory)
//   U(u) = T ln Z(u),  Z(u) = 1 + sum over one-device shapes j of a_j Z(u - size_j)
//          a_j = p_j exp((size_j - price_j - c cpu_j - m memory_j) / T)
//   W(k) = T ln(exp(k U(device) / T) + sum over shapes of n > 1 devices of
//          p_j exp((n devices - price_j - c cpu_j - m memory_j + W(k - n)) / T))
//
// with p_j the share of shape j in the demand, T the temperature and s the part of the CPU that CPU tasks will leave. V
// is the milli-GPU the node is still expected to take, net of prices. Scarce device models and wholly free nodes have a
// high V, so a placement that loses the least V leaves them to those who need them.
//
// refresh() moves the prices: several times it works out how much of each shape the cluster would take at the present
// prices (a backward pass through Z and W) and makes dearer what it would take too much of. Between two refreshes
// values are a pure function of the node. Devices count in kUnits parts. Assumes tasks of n > 1 devices take whole
// ones. Not looked at: pools, device memory, link groups, departures.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "engine/model/ledger.h"
#include "engine/model/snapshot.h"

namespace berth {

class ShadowPrices {
 public:
  static constexpr std::size_t kPoints = 16;  // of the grid of CPU and memory prices
  static constexpr std::int32_t kParts = 64;  // values count 1/64 milli-GPU

  // One number for each point of the grid.
  using Row = std::array<std::int32_t, kPoints>;

  // The typical workload counts as kTypicalTasks tasks seen.
  ShadowPrices(const Cluster& cluster, std::span<const WorkloadShape> workload);

  void count_task(const TaskShape& shape);
  // Prices for the nodes of `ledger` that accept tasks, as they stand. False when nothing is known about the demand
  // yet.
  bool refresh(const Ledger& ledger);

  // The parts of a node's value. `model` -1 = a node without devices.
  const Row& idle_value(std::int32_t model, int devices) const { return values_of(model).idle[as_index(devices)]; }
  const Row& started_value(std::int32_t model, std::int32_t free) const {
    return values_of(model).started[as_index(free / kUnitMilli)];
  }
  // The cheapest point of the grid for a node whose devices are worth `devices`, in 1/kParts milli-GPU.
  std::int32_t value(const Row& devices, MilliCpu cpu, MiB memory) const;

 private:
  static constexpr std::int32_t kUnits = 100;  // of a device
  static constexpr std::int32_t kUnitMilli = 10;
  static constexpr std::size_t kStates = kUnits + 1;

  using Point = std::array<double, kPoints>;

  // One shape of GPU task.
  struct Demand {
    std::int64_t cpu = 0;
    std::int32_t devices = 0;
    std::int32_t milli = 0;  // of each device
    ModelSet models = 0;     // never 0
    double weight = 0;       // tasks seen, the typical ones included
    double seen = 0;         // tasks seen, those not
    double memory = 0;       // MiB, mean of the tasks seen
    double priced_memory = -1;
    double price = 0;
    double wanted = 0;  // tasks to come while the free GPU lasts
    double used = 0;    // tasks that the cluster would take at the present prices
    Point discount{};   // exp(-(c cpu + m memory) / T)
    Point factor{};     // a_j, or its like for several devices
    std::size_t unit() const { return static_cast<std::size_t>((milli + kUnitMilli - 1) / kUnitMilli); }
  };
  // Models that the same shapes may use share tables; this is one such group.
  struct Tables {
    ModelSet model = 0;                // one of the group
    std::vector<std::size_t> members;  // indices of the shapes that may use it
    std::vector<std::size_t> sizes;    // distinct units of its one-device shapes, ascending
    // By units free on a device:
    std::array<Point, kStates> factor{};   // sum of a_j over the shapes of that size
    std::array<Point, kStates> weight{};   // Z
    std::array<Point, kStates> value{};    // U
    std::array<Point, kStates> present{};  // devices, then the flow of devices, in that state
    std::array<Point, kStates> taken{};    // tasks of that size the flow takes, for a factor of 1
    // By number of devices:
    std::vector<Point> block_factor;  // sum of a_j over the shapes of that many
    std::vector<Point> idle_value;    // W
    std::vector<Point> idle_nodes;    // nodes, then the flow of nodes, with that many idle
    std::vector<Point> block_taken;   // tasks of that many the flow takes, for a factor of 1
  };
  struct Values {
    std::vector<Row> idle;
    std::array<Row, kStates> started{};
  };
  // Equal nodes that stand next to each other in the cluster.
  struct NodeRun {
    std::size_t group = 0;
    std::size_t idle = 0;           // devices
    std::size_t first_started = 0;  // [first_started, end_started) in started_units_
    std::size_t end_started = 0;
    double cpu = 0;
    double memory = 0;
    double nodes = 0;
  };

  static std::size_t as_index(std::int32_t value) { return static_cast<std::size_t>(value); }
  std::size_t group_of(std::int32_t model) const { return group_[as_index(model + 1)]; }
  const Values& values_of(std::int32_t model) const { return values_[group_of(model)]; }

  Demand* add_weight(const TaskShape& shape, double weight);
  void group_models();
  void read_nodes(const Ledger& ledger);
  bool set_horizon();
  void compute_factors();
  void compute_tables(Tables& tables, bool all_states) const;
  void compute_idle_values(Tables& tables) const;
  std::size_t cheapest_point(const NodeRun& run) const;
  void spread_nodes();
  void flow_through_idle(Tables& tables) const;
  void flow_through_started(Tables& tables) const;
  void compute_use();
  void move_prices();
  void publish();

  ModelSet all_models_;
  std::size_t idle_states_;  // most devices of a node, plus one
  std::vector<Demand> demand_;
  std::map<std::tuple<std::int64_t, std::int32_t, std::int32_t, ModelSet>, std::size_t> demand_index_;
  double cpu_task_cpu_ = 0;  // milli-cores of the CPU tasks seen
  double gpu_task_cpu_share_ = 1;
  bool is_first_ = true;
  std::size_t grouped_ = 0;         // shapes there were when models were grouped
  std::vector<std::size_t> group_;  // model + 1 -> its tables
  std::vector<Tables> tables_;
  std::vector<Values> values_;
  std::vector<NodeRun> runs_;
  std::vector<std::uint8_t> started_units_;
  std::vector<std::size_t> present_units_;  // in which some device stands
};

}  // namespace berth
