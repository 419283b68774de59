#include "engine/policy/fragmentation.h"

#include <algorithm>
#include <map>

namespace berth {

namespace {

template <class Value>
void sort_and_drop_repeats(std::vector<Value>& values) {
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace

Fragmentation::Fragmentation(std::span<const WorkloadShape> workload, std::size_t model_count) {
  for (const WorkloadShape& entry : workload) {
    cpu_steps_.push_back(entry.shape.cpu.value());
    if (entry.shape.gpu_count > 0) milli_steps_.push_back(static_cast<std::int32_t>(entry.shape.gpu_milli.value()));
  }
  sort_and_drop_repeats(cpu_steps_);
  sort_and_drop_repeats(milli_steps_);
  for (std::int32_t milli = 0; milli <= kWholeDevice.value(); ++milli) {
    level_of_.push_back(
        static_cast<std::uint16_t>(std::ranges::upper_bound(milli_steps_, milli) - milli_steps_.begin()));
  }

  // Models that the same shapes may use share their layouts.
  std::map<std::vector<bool>, std::uint32_t> seen;
  for (std::size_t slot = 0; slot <= model_count; ++slot) {
    const ModelSet model = slot == 0 ? 0 : ModelSet{1} << (slot - 1);
    std::vector<bool> access;
    for (const WorkloadShape& entry : workload) {
      access.push_back(entry.shape.models == 0 || (entry.shape.models & model) != 0);
    }
    const auto [found, is_new] = seen.try_emplace(access, static_cast<std::uint32_t>(layouts_.size()));
    first_layout_.push_back(found->second);
    if (!is_new) continue;
    layouts_.push_back(lay_out(workload, model, -1));
    for (const std::int64_t cpu : cpu_steps_) layouts_.push_back(lay_out(workload, model, cpu));
  }
}

Fragmentation::Run Fragmentation::add_run(std::span<const WorkloadShape> workload,
                                          std::span<const std::size_t> members) {
  Run run{.begin = static_cast<std::uint32_t>(popularity_.size())};
  for (const std::size_t member : members) {
    const TaskShape& shape = workload[member].shape;
    Need need;
    if (shape.gpu_count > 0) {
      need.level = static_cast<std::uint16_t>(
          std::ranges::lower_bound(milli_steps_, static_cast<std::int32_t>(shape.gpu_milli.value())) -
          milli_steps_.begin());
      need.devices = static_cast<std::uint16_t>(shape.gpu_count);
    }
    const auto known = std::ranges::find_if(
        needs_, [&](const Need& other) { return other.level == need.level && other.devices == need.devices; });
    need_.push_back(static_cast<std::uint16_t>(known - needs_.begin()));
    if (known == needs_.end()) needs_.push_back(need);
    popularity_.push_back(workload[member].popularity);
  }
  run.end = static_cast<std::uint32_t>(popularity_.size());
  return run;
}

Fragmentation::Layout Fragmentation::lay_out(std::span<const WorkloadShape> workload, ModelSet model,
                                             std::int64_t cpu) {
  std::array<std::vector<std::size_t>, 5> parts;
  for (std::size_t member = 0; member < workload.size(); ++member) {
    const TaskShape& shape = workload[member].shape;
    const bool enough = cpu >= shape.cpu.value();
    if (shape.gpu_count == 0) {
      parts[enough ? 2 : 3].push_back(member);
    } else if (shape.models != 0 && (shape.models & model) == 0) {
      parts[4].push_back(member);
    } else {
      parts[enough ? 0 : 1].push_back(member);
    }
  }
  Layout layout;
  layout.enough_cpu = add_run(workload, parts[0]);
  layout.lacking_cpu = add_run(workload, parts[1]);
  layout.idle_cpu_task = add_run(workload, parts[2]);
  layout.full_cpu_task = add_run(workload, parts[3]);
  layout.no_access = add_run(workload, parts[4]);
  return layout;
}

std::size_t Fragmentation::bracket_of(std::int64_t free_cpu) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(cpu_steps_, free_cpu) - cpu_steps_.begin());
}

double Fragmentation::sum(Run run, double amount) const {
  double total = 0;
  for (std::uint32_t term = run.begin; term < run.end; ++term) total += popularity_[term] * amount;
  return total;
}

double Fragmentation::of(std::int32_t model, std::int64_t free_cpu, std::span<const std::int32_t> milli) const {
  const Layout& layout = layouts_[first_layout_[static_cast<std::size_t>(model + 1)] + bracket_of(free_cpu)];

  // Per level: devices that reach no more than it, and what is idle on them.
  constexpr std::size_t kMostLevels = 1002;
  std::array<std::int32_t, kMostLevels> devices;
  std::array<std::int32_t, kMostLevels> idle;
  const std::size_t levels = milli_steps_.size();
  std::fill_n(devices.begin(), levels + 1, 0);
  std::fill_n(idle.begin(), levels + 1, 0);
  for (const std::int32_t free : milli) {
    const std::size_t level = level_of_[static_cast<std::size_t>(free)];
    ++devices[level];
    idle[level] += free;
  }
  for (std::size_t level = 1; level <= levels; ++level) {
    devices[level] += devices[level - 1];
    idle[level] += idle[level - 1];
  }
  const std::int32_t total_devices = devices[levels];
  const double all = static_cast<double>(idle[levels]);

  double lack_both = 0;
  double lack_gpu = 0;
  double lack_cpu = 0;
  for (std::uint32_t term = layout.enough_cpu.begin; term < layout.enough_cpu.end; ++term) {
    const Need need = needs_[need_[term]];
    const bool enough_gpu = total_devices - devices[need.level] >= need.devices;
    lack_gpu += popularity_[term] * (enough_gpu ? static_cast<double>(idle[need.level]) : all);
  }
  for (std::uint32_t term = layout.lacking_cpu.begin; term < layout.lacking_cpu.end; ++term) {
    const Need need = needs_[need_[term]];
    const bool enough_gpu = total_devices - devices[need.level] >= need.devices;
    (enough_gpu ? lack_cpu : lack_both) += popularity_[term] * all;
  }
  return lack_both + lack_gpu + lack_cpu + sum(layout.idle_cpu_task, all) + sum(layout.full_cpu_task, all) +
         sum(layout.no_access, all);
}

}  // namespace berth
