#include "engine/policy/shadow_prices.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace berth {

namespace {

constexpr double kTemperature = 14;     // milli-GPU
constexpr double kTypicalTasks = 500;   // that the typical workload counts as
constexpr double kLeastGpuShare = 0.5;  // of the CPU that is left to GPU tasks, whatever CPU tasks may take
constexpr int kFirstSteps = 40;
constexpr int kSteps = 3;
constexpr double kGain = 0.5;         // of a step
constexpr double kMostMove = 3;       // logarithm of use over demand beyond which a step grows no further
constexpr double kMostSubsidy = 0.5;  // of a shape's size
constexpr double kMemoryDrift = 256;  // MiB that the mean memory of a shape may move before it is priced anew
constexpr double kDevice = 1000;      // milli-GPU

// The grid: CPU price in milli-GPU a milli-core, memory price in milli-GPU a MiB.
constexpr std::array<double, ShadowPrices::kPoints> kCpuPrices{0,   .005, .01, .015, .02, .03, .045, .07,
                                                               .12, .2,   0,   .01,  0,   .01, .03,  0};
constexpr std::array<double, ShadowPrices::kPoints> kMemoryPrices{0, 0, 0,    0,    0,   0,   0,   0,
                                                                  0, 0, .003, .003, .01, .01, .01, .04};

// Amounts as values take them, so that price times amount fits 32 bits: CPU in 16 milli-cores, memory in 64 MiB.
constexpr std::int32_t kCpuUnit = 16;
constexpr std::int32_t kMemoryUnit = 64;
constexpr std::int32_t kPriceParts = 64;  // prices count 1/64 of 1/kParts milli-GPU
constexpr std::int64_t kMostUnits = 65535;

ShadowPrices::Row scaled_prices(const std::array<double, ShadowPrices::kPoints>& prices, std::int32_t unit) {
  ShadowPrices::Row row;
  for (std::size_t q = 0; q < row.size(); ++q) {
    row[q] = static_cast<std::int32_t>(std::lround(prices[q] * unit * ShadowPrices::kParts * kPriceParts));
  }
  return row;
}

double limited(double value, double most) { return std::clamp(value, -most, most); }

}  // namespace

ShadowPrices::ShadowPrices(const Cluster& cluster, std::span<const WorkloadShape> workload) : idle_states_(1) {
  const std::size_t models = cluster.models.size();
  all_models_ = models >= kMaxModels ? ~ModelSet{0} : (ModelSet{1} << models) - 1;
  for (const NodeKind& kind : cluster.kinds) {
    idle_states_ = std::max(idle_states_, static_cast<std::size_t>(kind.device_count) + 1);
  }
  group_.resize(models + 1);
  for (const WorkloadShape& entry : workload) {
    Demand* const demand = add_weight(entry.shape, kTypicalTasks * entry.popularity);
    // Until tasks of the shape have been seen.
    if (demand != nullptr) demand->memory = static_cast<double>(entry.shape.memory.value());
  }
  group_models();
  publish();
}

// CPU tasks have no price: nothing stops them from taking CPU, so what they will take is set aside (set_horizon).
ShadowPrices::Demand* ShadowPrices::add_weight(const TaskShape& shape, double weight) {
  if (shape.gpu_count == 0) {
    cpu_task_cpu_ += weight * static_cast<double>(shape.cpu.value());
    return nullptr;
  }
  const ModelSet models = (shape.models == 0 ? all_models_ : shape.models) & all_models_;
  if (models == 0 || as_index(shape.gpu_count) >= idle_states_) return nullptr;  // it can never run here
  const std::int32_t milli = static_cast<std::int32_t>(shape.gpu_milli.value());
  const auto [found, is_new] =
      demand_index_.try_emplace(std::tuple(shape.cpu.value(), shape.gpu_count, milli, models), demand_.size());
  if (is_new) {
    Demand demand;
    demand.cpu = shape.cpu.value();
    demand.devices = shape.gpu_count;
    demand.milli = milli;
    demand.models = models;
    demand_.push_back(demand);
  }
  Demand& demand = demand_[found->second];
  demand.weight += weight;
  return &demand;
}

void ShadowPrices::count_task(const TaskShape& shape) {
  Demand* const demand = add_weight(shape, 1);
  if (demand == nullptr) return;
  demand->seen += 1;
  demand->memory += (static_cast<double>(shape.memory.value()) - demand->memory) / demand->seen;
}

// Group 0 is that of nodes without devices.
void ShadowPrices::group_models() {
  if (grouped_ == demand_.size() && !tables_.empty()) return;
  grouped_ = demand_.size();
  std::map<std::vector<std::size_t>, std::size_t> groups;
  tables_.assign(1, Tables());
  groups[{}] = 0;
  for (std::size_t model = 0; model + 1 < group_.size(); ++model) {
    std::vector<std::size_t> members;
    for (std::size_t j = 0; j < demand_.size(); ++j) {
      if ((demand_[j].models >> model & 1) != 0) members.push_back(j);
    }
    const auto [found, is_new] = groups.try_emplace(members, tables_.size());
    group_[model + 1] = found->second;
    if (!is_new) continue;
    Tables tables;
    for (const std::size_t j : members) {
      if (demand_[j].devices == 1) tables.sizes.push_back(demand_[j].unit());
    }
    std::ranges::sort(tables.sizes);
    tables.sizes.erase(std::unique(tables.sizes.begin(), tables.sizes.end()), tables.sizes.end());
    tables.members = std::move(members);
    tables_.push_back(std::move(tables));
  }
  for (Tables& tables : tables_) {
    for (auto* rows : {&tables.block_factor, &tables.idle_value, &tables.idle_nodes, &tables.block_taken}) {
      rows->assign(idle_states_, Point{});
    }
    for (auto* rows : {&tables.factor, &tables.weight, &tables.value, &tables.present, &tables.taken}) {
      rows->fill(Point{});
    }
  }
}

void ShadowPrices::read_nodes(const Ledger& ledger) {
  runs_.clear();
  started_units_.clear();
  std::array<bool, kStates> present{};
  present[kUnits] = true;
  for (NodeIndex node = 0; node < static_cast<NodeIndex>(ledger.node_count()); ++node) {
    if (!ledger.accepts_tasks(node)) continue;
    const NodeView view = ledger.view(node);
    NodeRun run{.group = group_of(view.kind->model), .first_started = started_units_.size()};
    run.cpu = static_cast<double>(view.cpu.value());
    run.memory = static_cast<double>(view.memory.value());
    run.nodes = 1;
    for (const std::int32_t milli : view.milli) {
      if (milli == kWholeDevice.value()) {
        ++run.idle;
      } else if (milli >= kUnitMilli) {
        started_units_.push_back(static_cast<std::uint8_t>(milli / kUnitMilli));
        present[as_index(milli / kUnitMilli)] = true;
      }
    }
    run.end_started = started_units_.size();
    const auto units = [&](const NodeRun& of) {
      return std::span(started_units_).subspan(of.first_started, of.end_started - of.first_started);
    };
    if (!runs_.empty()) {
      NodeRun& last = runs_.back();
      if (last.group == run.group && last.idle == run.idle && last.cpu == run.cpu && last.memory == run.memory &&
          std::ranges::equal(units(last), units(run))) {
        last.nodes += 1;
        started_units_.resize(run.first_started);
        continue;
      }
    }
    runs_.push_back(run);
  }
  present_units_.clear();
  for (std::size_t unit = 0; unit < kStates; ++unit) {
    if (present[unit]) present_units_.push_back(unit);
  }
}

// Expects as much GPU demand, in the present mix, as there is free GPU. False when no demand is known.
bool ShadowPrices::set_horizon() {
  double free = 0;
  double cpu = 0;
  for (const NodeRun& run : runs_) {
    double units = static_cast<double>(run.idle) * kUnits;
    for (std::size_t i = run.first_started; i < run.end_started; ++i) units += started_units_[i];
    free += run.nodes * units * kUnitMilli;
    cpu += run.nodes * run.cpu;
  }
  double asked = 0;
  for (const Demand& demand : demand_) asked += demand.weight * demand.devices * demand.milli;
  if (asked <= 0) return false;
  const double horizon = free / asked;
  gpu_task_cpu_share_ = std::max(kLeastGpuShare, 1 - cpu_task_cpu_ * horizon / std::max(1.0, cpu));
  for (Demand& demand : demand_) {
    demand.wanted = demand.weight * horizon;
    if (demand.priced_memory >= 0 && std::abs(demand.memory - demand.priced_memory) < kMemoryDrift) continue;
    demand.priced_memory = demand.memory;
    for (std::size_t q = 0; q < kPoints; ++q) {
      const double price = kCpuPrices[q] * static_cast<double>(demand.cpu) + kMemoryPrices[q] * demand.memory;
      demand.discount[q] = std::exp(-price / kTemperature);
    }
  }
  return true;
}

void ShadowPrices::compute_factors() {
  double total = 0;
  for (const Demand& demand : demand_) total += demand.weight;
  for (Demand& demand : demand_) {
    // Several devices: without their size, which W adds.
    const double size = demand.devices > 1 ? 0 : demand.milli;
    const double own = demand.weight / total * std::exp((size - demand.price) / kTemperature);
    for (std::size_t q = 0; q < kPoints; ++q) demand.factor[q] = own * demand.discount[q];
  }
}

void ShadowPrices::compute_tables(Tables& tables, bool all_states) const {
  for (const std::size_t size : tables.sizes) tables.factor[size].fill(0);
  for (Point& factor : tables.block_factor) factor.fill(0);
  for (const std::size_t j : tables.members) {
    const Demand& demand = demand_[j];
    Point& sum = demand.devices == 1 ? tables.factor[demand.unit()] : tables.block_factor[as_index(demand.devices)];
    for (std::size_t q = 0; q < kPoints; ++q) sum[q] += demand.factor[q];
  }
  for (std::size_t unit = 0; unit < kStates; ++unit) {
    Point weight;
    weight.fill(1);
    for (const std::size_t size : tables.sizes) {
      if (size > unit) break;
      const Point& factor = tables.factor[size];
      const Point& rest = tables.weight[unit - size];
      for (std::size_t q = 0; q < kPoints; ++q) weight[q] += factor[q] * rest[q];
    }
    tables.weight[unit] = weight;
  }
  const auto take_logarithm = [&](std::size_t unit) {
    for (std::size_t q = 0; q < kPoints; ++q) tables.value[unit][q] = kTemperature * std::log(tables.weight[unit][q]);
  };
  if (all_states) {
    for (std::size_t unit = 0; unit < kStates; ++unit) take_logarithm(unit);
  } else {
    for (const std::size_t unit : present_units_) take_logarithm(unit);
  }
  compute_idle_values(tables);
}

namespace {

// exp((value of the rest + the devices' size - value to compare with) / T), kept finite.
double block_odds(double rest, std::size_t devices, double against) {
  return std::exp(limited((rest + static_cast<double>(devices) * kDevice - against) / kTemperature, 600));
}

}  // namespace

void ShadowPrices::compute_idle_values(Tables& tables) const {
  tables.idle_value[0].fill(0);
  for (std::size_t k = 1; k < idle_states_; ++k) {
    for (std::size_t q = 0; q < kPoints; ++q) {
      const double singles = static_cast<double>(k) * tables.value[kUnits][q];
      double weight = 1;
      for (std::size_t n = 2; n <= k; ++n) {
        if (tables.block_factor[n][q] <= 0) continue;
        weight += tables.block_factor[n][q] * block_odds(tables.idle_value[k - n][q], n, singles);
      }
      tables.idle_value[k][q] = singles + kTemperature * std::log(weight);
    }
  }
}

std::size_t ShadowPrices::cheapest_point(const NodeRun& run) const {
  const Tables& tables = tables_[run.group];
  Point value = tables.idle_value[run.idle];
  for (std::size_t i = run.first_started; i < run.end_started; ++i) {
    const Point& started = tables.value[started_units_[i]];
    for (std::size_t q = 0; q < kPoints; ++q) value[q] += started[q];
  }
  std::size_t best = 0;
  double least = std::numeric_limits<double>::max();
  for (std::size_t q = 0; q < kPoints; ++q) {
    const double all = value[q] + kCpuPrices[q] * gpu_task_cpu_share_ * run.cpu + kMemoryPrices[q] * run.memory;
    if (all >= least) continue;
    least = all;
    best = q;
  }
  return best;
}

void ShadowPrices::spread_nodes() {
  for (Tables& tables : tables_) {
    tables.present.fill(Point{});
    std::ranges::fill(tables.idle_nodes, Point{});
  }
  for (const NodeRun& run : runs_) {
    const std::size_t q = cheapest_point(run);
    Tables& tables = tables_[run.group];
    for (std::size_t i = run.first_started; i < run.end_started; ++i) tables.present[started_units_[i]][q] += run.nodes;
    tables.idle_nodes[run.idle][q] += run.nodes;
  }
}

// Nodes with k idle devices either start them one by one, or give n of them to one task and go on with k - n.
void ShadowPrices::flow_through_idle(Tables& tables) const {
  std::ranges::fill(tables.block_taken, Point{});
  for (std::size_t k = idle_states_ - 1; k >= 1; --k) {
    for (std::size_t q = 0; q < kPoints; ++q) {
      const double nodes = tables.idle_nodes[k][q];
      if (nodes <= 0) continue;
      const double devices = static_cast<double>(k);
      const double value = tables.idle_value[k][q];
      tables.present[kUnits][q] +=
          nodes * devices * std::exp((devices * tables.value[kUnits][q] - value) / kTemperature);
      for (std::size_t n = 2; n <= k; ++n) {
        if (tables.block_factor[n][q] <= 0) continue;
        const double taken = nodes * block_odds(tables.idle_value[k - n][q], n, value);
        tables.block_taken[n][q] += taken;
        tables.idle_nodes[k - n][q] += taken * tables.block_factor[n][q];
      }
    }
  }
}

// A device with u units free takes a task of each size x with probability a_x Z(u - x) / Z(u), and has u - x left.
void ShadowPrices::flow_through_started(Tables& tables) const {
  for (const std::size_t size : tables.sizes) tables.taken[size].fill(0);
  for (std::size_t unit = kUnits; unit > 0; --unit) {
    Point share = tables.present[unit];
    for (std::size_t q = 0; q < kPoints; ++q) share[q] /= tables.weight[unit][q];
    for (const std::size_t size : tables.sizes) {
      if (size > unit) break;
      const Point& rest = tables.weight[unit - size];
      const Point& factor = tables.factor[size];
      Point& taken = tables.taken[size];
      Point& next = tables.present[unit - size];
      for (std::size_t q = 0; q < kPoints; ++q) {
        const double tasks = share[q] * rest[q];
        taken[q] += tasks;
        next[q] += tasks * factor[q];
      }
    }
  }
}

void ShadowPrices::compute_use() {
  for (Demand& demand : demand_) demand.used = 0;
  for (Tables& tables : tables_) {
    flow_through_idle(tables);
    flow_through_started(tables);
    for (const std::size_t j : tables.members) {
      Demand& demand = demand_[j];
      const Point& taken =
          demand.devices == 1 ? tables.taken[demand.unit()] : tables.block_taken[as_index(demand.devices)];
      for (std::size_t q = 0; q < kPoints; ++q) demand.used += demand.factor[q] * taken[q];
    }
  }
}

// What the cluster would take more of than will come gets dearer, what it would take less of gets cheaper.
void ShadowPrices::move_prices() {
  constexpr double kAlmostNone = 1e-6;
  for (Demand& demand : demand_) {
    const double excess = std::log((demand.used + kAlmostNone) / (demand.wanted + kAlmostNone));
    const double step = limited(excess, kMostMove) * kGain * kTemperature * (demand.devices > 1 ? 2 : 1);
    demand.price = std::max(-kMostSubsidy * demand.devices * demand.milli, demand.price + step);
  }
}

void ShadowPrices::publish() {
  const auto rounded = [](const Point& point) {
    Row row;
    for (std::size_t q = 0; q < kPoints; ++q) row[q] = static_cast<std::int32_t>(std::lround(point[q] * kParts));
    return row;
  };
  values_.resize(tables_.size());
  for (std::size_t group = 0; group < tables_.size(); ++group) {
    Values& values = values_[group];
    values.idle.clear();
    for (const Point& point : tables_[group].idle_value) values.idle.push_back(rounded(point));
    std::ranges::transform(tables_[group].value, values.started.begin(), rounded);
  }
}

bool ShadowPrices::refresh(const Ledger& ledger) {
  group_models();
  read_nodes(ledger);
  if (!set_horizon()) return false;
  for (int step = is_first_ ? kFirstSteps : kSteps; step > 0; --step) {
    compute_factors();
    for (Tables& tables : tables_) compute_tables(tables, false);
    spread_nodes();
    compute_use();
    move_prices();
  }
  is_first_ = false;
  compute_factors();
  for (Tables& tables : tables_) compute_tables(tables, true);
  publish();
  return true;
}

std::int32_t ShadowPrices::value(const Row& devices, MilliCpu cpu, MiB memory) const {
  static const Row cpu_prices = scaled_prices(kCpuPrices, kCpuUnit);
  static const Row memory_prices = scaled_prices(kMemoryPrices, kMemoryUnit);
  const std::int64_t gpu_task_cpu =
      static_cast<std::int64_t>(gpu_task_cpu_share_ * static_cast<double>(cpu.value())) / kCpuUnit;
  const std::int32_t cpu_units = static_cast<std::int32_t>(std::min(gpu_task_cpu, kMostUnits));
  const std::int32_t memory_units = static_cast<std::int32_t>(std::min(memory.value() / kMemoryUnit, kMostUnits));
  std::int32_t least = std::numeric_limits<std::int32_t>::max();
  for (std::size_t q = 0; q < kPoints; ++q) {
    const std::int32_t held = (cpu_prices[q] * cpu_units + memory_prices[q] * memory_units) / kPriceParts;
    least = std::min(least, devices[q] + held);
  }
  return least;
}

}  // namespace berth
