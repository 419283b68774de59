#include "engine/sim/relaxation.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <tuple>
#include <vector>

namespace berth {

namespace {

constexpr std::int64_t kMostCpuUnits = 128;  // the largest node's CPU, in units

// A shape as the relaxation sees it: rounded so that it never asks for more than the real one.
struct RelaxedItem {
  int cpu = 0;
  int devices = 0;
  int units = 0;    // of its one device; a fraction only
  double size = 0;  // milli-GPU
  double demand = 0;
  ModelSet models = 0;
  std::int32_t pool = -1;

  bool is_fraction() const { return devices == 1 && size < static_cast<double>(kWholeDevice.value()); }
  bool may_use(std::int32_t model, std::int32_t node_pool) const {
    return (models == 0 || (models >> model & 1) != 0) && (pool < 0 || pool == node_pool);
  }
};

// Best packings of nodes with one device model and pool, for one set of prices; every size of node shares the tables.
class RelaxedFamily {
 public:
  // `device_units`: in how many units a device is counted.
  RelaxedFamily(std::int32_t model, std::int32_t pool, int device_units)
      : model_(model), pool_(pool), device_units_(device_units) {}

  void add_nodes(int devices, int cpu, double count) {
    sizes_[{devices, cpu}] += count;
    most_cpu_ = std::max(most_cpu_, cpu);
    most_devices_ = std::max(most_devices_, devices);
  }

  // Value of all nodes packed best; takes what that packing places off `left`, per item.
  double solve(std::span<const RelaxedItem> items, std::span<const double> price, std::vector<double>& left) {
    gain_.resize(items.size());
    std::vector<int> fractions;
    std::vector<int> wholes;
    for (std::size_t i = 0; i < items.size(); ++i) {
      gain_[i] = items[i].size - price[i];
      if (gain_[i] <= 0 || !items[i].may_use(model_, pool_)) continue;
      (items[i].is_fraction() ? fractions : wholes).push_back(static_cast<int>(i));
    }
    width_ = static_cast<std::size_t>(most_cpu_) + 1;
    fill_device(items, best_of_each_size(items, fractions));
    fill_one(items, wholes);
    fill_node(items, wholes);
    double value = 0;
    for (const auto& [size, count] : sizes_) {
      value += count * node_[at(size.first, size.second)];
      take(items, size.first, size.second, count, left);
    }
    return value;
  }

 private:
  static constexpr int kLeaveUnit = -1;
  static constexpr int kNothing = -2;
  static constexpr int kOneDevice = -1;

  std::size_t at(int row, int cpu) const {
    return static_cast<std::size_t>(row) * width_ + static_cast<std::size_t>(cpu);
  }
  double gain(int item) const { return gain_[static_cast<std::size_t>(item)]; }

  // Of items of equal size and CPU only the most valuable can be of use.
  std::vector<int> best_of_each_size(std::span<const RelaxedItem> items, const std::vector<int>& fractions) const {
    std::map<std::pair<int, int>, int> best;
    for (const int i : fractions) {
      const RelaxedItem& item = items[static_cast<std::size_t>(i)];
      const auto [known, is_new] = best.try_emplace({item.units, item.cpu}, i);
      if (!is_new && gain(i) > gain(known->second)) known->second = i;
    }
    std::vector<int> chosen;
    for (const auto& [size, item] : best) chosen.push_back(item);
    return chosen;
  }

  // device_[units, cpu]: most value of fractions on that much of a device with that much CPU.
  void fill_device(std::span<const RelaxedItem> items, const std::vector<int>& fractions) {
    device_.assign(static_cast<std::size_t>(device_units_ + 1) * width_, 0.0);
    device_choice_.assign(device_.size(), kLeaveUnit);
    for (int units = 1; units <= device_units_; ++units) {
      double* row = &device_[at(units, 0)];
      std::copy_n(&device_[at(units - 1, 0)], width_, row);
      for (const int i : fractions) {
        const RelaxedItem& item = items[static_cast<std::size_t>(i)];
        if (item.units > units) continue;
        const double* without = &device_[at(units - item.units, 0)];
        for (int cpu = item.cpu; cpu <= most_cpu_; ++cpu) {
          const double value = without[cpu - item.cpu] + gain(i);
          if (value <= row[cpu] + kTolerance) continue;
          row[cpu] = value;
          device_choice_[at(units, cpu)] = i;
        }
      }
    }
  }

  // one_[cpu]: most value of one device with that much CPU, by fractions or by a task that takes all of it.
  void fill_one(std::span<const RelaxedItem> items, const std::vector<int>& wholes) {
    one_.assign(&device_[at(device_units_, 0)], &device_[at(device_units_, 0)] + width_);
    one_choice_.assign(width_, kNothing);
    for (const int i : wholes) {
      const RelaxedItem& item = items[static_cast<std::size_t>(i)];
      if (item.devices != 1) continue;
      for (int cpu = item.cpu; cpu <= most_cpu_; ++cpu) {
        const auto c = static_cast<std::size_t>(cpu);
        if (gain(i) <= one_[c] + kTolerance) continue;
        one_[c] = gain(i);
        one_choice_[c] = i;
      }
    }
  }

  // node_[devices, cpu]: most value of that many devices with that much CPU between them.
  void fill_node(std::span<const RelaxedItem> items, const std::vector<int>& wholes) {
    node_.assign(static_cast<std::size_t>(most_devices_ + 1) * width_, 0.0);
    node_choice_.assign(node_.size(), {kNothing, 0});
    for (int devices = 1; devices <= most_devices_; ++devices) {
      for (int cpu = 0; cpu <= most_cpu_; ++cpu) {
        double best = -1;
        for (int mine = 0; mine <= cpu; ++mine) {
          const double value = node_[at(devices - 1, cpu - mine)] + one_[static_cast<std::size_t>(mine)];
          if (value <= best + kTolerance) continue;
          best = value;
          node_choice_[at(devices, cpu)] = {kOneDevice, mine};
        }
        node_[at(devices, cpu)] = best;
      }
      for (const int i : wholes) {
        const RelaxedItem& item = items[static_cast<std::size_t>(i)];
        if (item.devices < 2 || item.devices > devices) continue;
        for (int cpu = item.cpu; cpu <= most_cpu_; ++cpu) {
          const double value = node_[at(devices - item.devices, cpu - item.cpu)] + gain(i);
          if (value <= node_[at(devices, cpu)] + kTolerance) continue;
          node_[at(devices, cpu)] = value;
          node_choice_[at(devices, cpu)] = {i, 0};
        }
      }
    }
  }

  // Walks back through the tables: what the best packing of such a node consists of.
  void take(std::span<const RelaxedItem> items, int devices, int cpu, double count, std::vector<double>& left) const {
    while (devices > 0) {
      const auto [choice, mine] = node_choice_[at(devices, cpu)];
      if (choice == kOneDevice) {
        take_one(items, mine, count, left);
        cpu -= mine;
        --devices;
        continue;
      }
      const RelaxedItem& item = items[static_cast<std::size_t>(choice)];
      left[static_cast<std::size_t>(choice)] -= count;
      cpu -= item.cpu;
      devices -= item.devices;
    }
  }

  void take_one(std::span<const RelaxedItem> items, int cpu, double count, std::vector<double>& left) const {
    if (const int whole = one_choice_[static_cast<std::size_t>(cpu)]; whole >= 0) {
      left[static_cast<std::size_t>(whole)] -= count;
      return;
    }
    for (int units = device_units_; units > 0;) {
      const int choice = device_choice_[at(units, cpu)];
      if (choice == kLeaveUnit) {
        --units;
        continue;
      }
      left[static_cast<std::size_t>(choice)] -= count;
      units -= items[static_cast<std::size_t>(choice)].units;
      cpu -= items[static_cast<std::size_t>(choice)].cpu;
    }
  }

  static constexpr double kTolerance = 1e-9;

  std::int32_t model_;
  std::int32_t pool_;
  int device_units_;
  std::map<std::pair<int, int>, double> sizes_;  // (devices, CPU units) -> nodes
  int most_cpu_ = 0;
  int most_devices_ = 0;
  std::size_t width_ = 0;
  std::vector<double> gain_;
  std::vector<double> device_;
  std::vector<int> device_choice_;
  std::vector<double> one_;
  std::vector<int> one_choice_;
  std::vector<double> node_;
  std::vector<std::pair<int, int>> node_choice_;
};

class DemandRelaxation {
 public:
  DemandRelaxation(const Cluster& cluster, std::span<const ShapeDemand> demand) {
    std::int64_t most_cpu = 1;
    for (const NodeKind& kind : cluster.kinds) most_cpu = std::max(most_cpu, kind.cpu.value());
    cpu_unit_ = divide_up(most_cpu, kMostCpuUnits);
    // Hundredths of a device, unless a task takes less than one: a task of size 0 would be free.
    milli_per_unit_ = 10;
    for (const ShapeDemand& one : demand) {
      if (one.shape.gpu_count > 0 && one.shape.gpu_milli < MilliGpu(milli_per_unit_)) milli_per_unit_ = 1;
    }
    add_families(cluster);
    add_items(demand);
  }

  double bound(std::int32_t steps) {
    std::vector<double> price;
    double asked = 0;
    for (const RelaxedItem& item : items_) {
      price.push_back(kFirstPrice * item.size);
      asked += item.size * item.demand;
    }
    double best = std::min(asked, capacity_);
    std::vector<double> direction(items_.size(), 0.0);
    for (std::int32_t step = 0; step < steps; ++step) {
      std::vector<double> left;
      double value = 0;
      for (std::size_t i = 0; i < items_.size(); ++i) {
        value += price[i] * items_[i].demand;
        left.push_back(items_[i].demand);
      }
      for (RelaxedFamily& family : families_) value += family.solve(items_, price, left);
      best = std::min(best, value);
      if (!move_prices(left, kFirstStep * kSlowing / (kSlowing + step), direction, price)) break;
    }
    return best;
  }

 private:
  static constexpr double kFirstPrice = 0.12;  // of the size; any start does, this one saves steps
  static constexpr double kFirstStep = 30;     // milli-GPU per device, root mean square over the shapes
  static constexpr double kSlowing = 12;       // steps until steps are half as long
  static constexpr double kMomentum = 0.5;

  // What is asked for more than placed gets cheaper, what is overplaced dearer; each by the root of its demand, so that
  // rare shapes move too. False when there is nothing to move.
  bool move_prices(const std::vector<double>& left, double length, std::vector<double>& direction,
                   std::vector<double>& price) const {
    double squares = 0;
    for (std::size_t i = 0; i < price.size(); ++i) {
      const double slope = left[i] / std::sqrt(std::max(1.0, items_[i].demand));
      direction[i] = kMomentum * direction[i] + (1 - kMomentum) * slope;
      if (price[i] <= 0 && direction[i] > 0) direction[i] = 0;
      squares += direction[i] * direction[i];
    }
    if (squares < 1e-12) return false;
    const double scale = length * std::sqrt(static_cast<double>(price.size()) / squares);
    for (std::size_t i = 0; i < price.size(); ++i) {
      price[i] = std::max(0.0, price[i] - scale * direction[i] * items_[i].devices);
    }
    return true;
  }

  void add_families(const Cluster& cluster) {
    std::map<std::pair<std::int32_t, std::int32_t>, std::size_t> index;
    for (std::size_t n = 0; n < cluster.nodes.size(); ++n) {
      const NodeKind& kind = cluster.kind_of(n);
      const int devices = kind.device_count - std::popcount(cluster.nodes[n].unhealthy);
      if (devices <= 0 || cluster.nodes[n].state != NodeState::kUp) continue;
      const auto [known, is_new] = index.try_emplace({kind.model, kind.pool}, families_.size());
      if (is_new)
        families_.emplace_back(kind.model, kind.pool, static_cast<int>(kWholeDevice.value() / milli_per_unit_));
      families_[known->second].add_nodes(devices, static_cast<int>(divide_up(kind.cpu.value(), cpu_unit_)), 1);
      capacity_ += static_cast<double>(devices * kWholeDevice.value());
    }
  }

  // Shapes that differ only in what is dropped are one item.
  void add_items(std::span<const ShapeDemand> demand) {
    std::map<std::tuple<int, std::int32_t, std::int64_t, ModelSet, std::int32_t>, std::size_t> index;
    for (const ShapeDemand& one : demand) {
      const TaskShape& shape = one.shape;
      if (shape.gpu_count == 0) continue;
      const int cpu = static_cast<int>(std::min(shape.cpu.value() / cpu_unit_, kMostCpuUnits + 1));
      const auto [known, is_new] =
          index.try_emplace({cpu, shape.gpu_count, shape.gpu_milli.value(), shape.models, shape.pool}, items_.size());
      if (is_new) {
        RelaxedItem item;
        item.cpu = cpu;
        item.devices = shape.gpu_count;
        item.units = static_cast<int>(shape.gpu_milli.value() / milli_per_unit_);
        item.size = static_cast<double>(shape.gpu_total().value());
        item.models = shape.models;
        item.pool = shape.pool;
        items_.push_back(item);
      }
      items_[known->second].demand += static_cast<double>(one.tasks);
    }
  }

  std::int64_t cpu_unit_ = 1;
  std::int64_t milli_per_unit_ = 10;
  double capacity_ = 0;
  std::vector<RelaxedFamily> families_;
  std::vector<RelaxedItem> items_;
};

}  // namespace

double allocation_bound(const Cluster& cluster, std::span<const ShapeDemand> demand, std::int32_t steps) {
  return DemandRelaxation(cluster, demand).bound(steps);
}

}  // namespace berth
