#include "engine/sim/pai_like_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "engine/base/text.h"
#include "engine/sim/pai_like.h"

namespace berth {

namespace {

constexpr std::int64_t kPaiNodesPerRack = 16;  // ours

// NSDI'22 and pai_machine_spec of its trace: 1,897 machines, 6,742 GPUs. Device memory is ours: P100, T4, V100 and
// V100M32 as sold; the undisclosed MISC as the consumer cards of the time.
constexpr std::array<PaiMachine, 7> kPaiMachines = {{
    {"P100", 798, 2, 64, 512, 16},
    {"T4", 497, 2, 96, 512, 16},
    {"MISC", 280, 8, 96, 512, 12},
    {"V100M32", 135, 8, 96, 384, 32},
    {"V100", 59, 8, 96, 512, 16},
    {"V100", 45, 8, 96, 384, 16},
    {"", 83, 0, 96, 512, 0},
}};

}  // namespace

std::span<const PaiMachine> pai_machines() { return kPaiMachines; }

std::vector<std::int64_t> pai_machine_counts(std::int64_t gpus) {
  std::vector<std::int64_t> counts;
  std::vector<std::size_t> by_remainder(kPaiMachines.size());
  std::iota(by_remainder.begin(), by_remainder.end(), std::size_t{0});
  std::int64_t made = 0;
  for (const PaiMachine& machine : kPaiMachines) {
    counts.push_back(machine.count * gpus / kPaiPublishedGpus);
    made += counts.back() * machine.devices;
  }
  const auto remainder = [&](std::size_t m) { return kPaiMachines[m].count * gpus % kPaiPublishedGpus; };
  std::ranges::stable_sort(by_remainder, std::greater<>(), remainder);
  for (std::size_t next = 0; made < gpus; next = (next + 1) % by_remainder.size()) {
    const std::size_t machine = by_remainder[next];
    ++counts[machine];
    made += kPaiMachines[machine].devices;
  }
  return counts;
}

bool pai_model_allowed(std::string_view models, std::string_view model) {
  if (models.empty()) return true;
  for (const std::string_view each : split(models, '|')) {
    if (each == model) return true;
  }
  return false;
}

std::int64_t pai_room_for(std::span<const std::int64_t> counts, const TraceTaskGroup& task, std::int64_t enough) {
  std::int64_t room = 0;
  for (std::size_t m = 0; m < counts.size() && room < enough; ++m) {
    const PaiMachine& machine = kPaiMachines[m];
    std::int64_t tasks = enough;
    if (task.cpu > MilliCpu(0)) tasks = std::min(tasks, machine.cores * 1000 / task.cpu.value());
    if (task.memory > MiB(0)) tasks = std::min(tasks, machine.memory_gib * 1024 / task.memory.value());
    if (task.gpu_count > 0) {
      if (machine.devices == 0 || !pai_model_allowed(task.models, machine.model)) continue;
      const std::int64_t places = task.gpu_milli == kWholeDevice
                                      ? machine.devices / task.gpu_count
                                      : machine.devices * (kWholeDevice.value() / task.gpu_milli.value());
      tasks = std::min(tasks, places);
    }
    room = std::min(enough, room + tasks * counts[m]);
  }
  return room;
}

std::vector<TraceNode> pai_like_nodes(const PaiLikeOptions& options) {
  const std::vector<std::int64_t> counts = pai_machine_counts(pai_like_gpus(options));
  std::vector<TraceNode> nodes;
  for (std::size_t m = 0; m < counts.size(); ++m) {
    const PaiMachine& machine = kPaiMachines[m];
    for (std::int64_t i = 0; i < counts[m]; ++i) {
      TraceNode& node = nodes.emplace_back();
      const auto number = static_cast<std::int64_t>(nodes.size());
      node.name = fmt::format("{}-{:04}", machine.devices == 0 ? "cpu" : to_lower(machine.model), number);
      node.cpu = MilliCpu(machine.cores * 1000);
      node.memory = MiB(machine.memory_gib * 1024);
      node.devices = machine.devices;
      node.model = machine.model;
      node.device_memory = MiB(machine.device_gib * 1024);
      node.rack = fmt::format("r{:03}", (number - 1) / kPaiNodesPerRack + 1);
      node.place = fmt::format("generated node {}", number);
    }
  }
  return nodes;
}

}  // namespace berth
