// The machines of the PAI-like cluster, and how many tasks of a kind they hold when empty.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/sim/trace.h"

namespace berth {

inline constexpr std::int64_t kPaiPublishedGpus = 6742;

// A row of the published machine table.
struct PaiMachine {
  std::string_view model;  // empty = no devices
  std::int64_t count;      // in the published cluster
  std::int32_t devices;
  std::int64_t cores;
  std::int64_t memory_gib;
  std::int64_t device_gib;  // of each device; not published
};
std::span<const PaiMachine> pai_machines();

// The published counts times gpus / 6,742, by largest remainder until there are that many GPUs; parallel to
// pai_machines().
std::vector<std::int64_t> pai_machine_counts(std::int64_t gpus);

// How many such tasks the empty cluster holds at once, at most `enough`.
std::int64_t pai_room_for(std::span<const std::int64_t> counts, const TraceTaskGroup& task, std::int64_t enough);

// Is `model` one of "A|B"? Every one is of "".
bool pai_model_allowed(std::string_view models, std::string_view model);

}  // namespace berth
