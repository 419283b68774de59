// How much of a node's idle GPU the typical task cannot use: the F of FGD (fgd.md section 4).
//
//   F = sum over typical shapes m of popularity(m) x F(m)
//   F(m) = all idle milli-GPU, when m cannot run there now (CPU, devices, model) or needs no GPU at all;
//          else the idle milli-GPU on devices that have less free than m takes of one.
//
// Memory never enters. Used by the fgd score and for measuring any policy's fragmentation.
//
// The sums are kept exactly as published: one accumulator for each way of being unusable, shapes added in the order of
// the workload, accumulators added in a fixed order. The score truncates, so the last bit decides; build without FMA
// contraction. For speed the shapes are laid out beforehand for each (models allowed, free CPU bracket), and devices
// enter only through how many of them reach each distinct demand.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/model/cluster.h"
#include "engine/model/snapshot.h"

namespace berth {

class Fragmentation {
 public:
  // Models are indices below model_count, as in Cluster::models.
  Fragmentation(std::span<const WorkloadShape> workload, std::size_t model_count);

  // Milli-GPU. `milli` = free per device, in any order; `model` -1 = a node without devices.
  double of(std::int32_t model, std::int64_t free_cpu, std::span<const std::int32_t> milli) const;

 private:
  // A run of terms [begin, end) in popularity_ and need_.
  struct Run {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
  };
  // The shapes of one (models allowed, CPU bracket), split by accumulator, each part in workload order.
  struct Layout {
    Run enough_cpu;     // GPU shapes whose CPU is free
    Run lacking_cpu;    // GPU shapes whose CPU is not
    Run idle_cpu_task;  // CPU shapes that would fit
    Run full_cpu_task;  // CPU shapes that would not
    Run no_access;      // shapes that may not use this model
  };
  // What one device must offer, and on how many devices.
  struct Need {
    std::uint16_t level = 0;  // index into the distinct milli demands
    std::uint16_t devices = 0;
  };

  Run add_run(std::span<const WorkloadShape> workload, std::span<const std::size_t> members);
  Layout lay_out(std::span<const WorkloadShape> workload, ModelSet model, std::int64_t cpu);
  std::size_t bracket_of(std::int64_t free_cpu) const;
  double sum(Run run, double amount) const;

  std::vector<std::int64_t> cpu_steps_;      // distinct CPU demands, ascending
  std::vector<std::int32_t> milli_steps_;    // distinct demands on one device, ascending
  std::vector<std::uint16_t> level_of_;      // free milli -> how many of milli_steps_ it reaches
  std::vector<Need> needs_;                  // distinct (level, devices)
  std::vector<double> popularity_;           // of the terms
  std::vector<std::uint16_t> need_;          // of the terms: index into needs_
  std::vector<std::uint32_t> first_layout_;  // model + 1 -> first of its layouts, one a CPU bracket
  std::vector<Layout> layouts_;
};

}  // namespace berth
