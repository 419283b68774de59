// A made-up but lifelike cluster and its work: for examples, quickstart, tests and benches.
//
// Seeded and computed in integers: equal parameters give equal records everywhere. Nodes come in the usual sizes of
// several device models with their link groups, in racks and two pools; jobs come from five departments, each with its
// own habits - gangs of whole nodes close together, single devices, fractions with device memory, CPU work, a job of
// two task groups - at times of a working day, with heavy-tailed durations.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/sim/trace.h"

namespace berth {

struct GeneratorOptions {
  std::uint64_t seed = 1;
  std::int64_t gpus = 320;  // whole nodes are made until there are as many
  std::int64_t jobs = 400;
  std::int32_t nodes_per_rack = 8;
  Seconds start{1767571200};    // 2026-01-05 00:00, a Monday
  Seconds span{2 * 24 * 3600};  // jobs are submitted from start on, for so long
};

std::vector<TraceNode> generate_nodes(const GeneratorOptions& options);
// Sorted by submit time. Every job fits the empty cluster that generate_nodes makes of the same options.
std::vector<TraceJob> generate_jobs(const GeneratorOptions& options);

// What the jobs refer to by name, parents first: an example creates them before it imports the jobs.
struct GeneratedQueue {
  std::string_view name;
  std::string_view parent;  // empty = a root
};
std::span<const GeneratedQueue> generated_queues();
struct GeneratedClass {
  std::string_view name;
  std::int64_t value;
};
std::span<const GeneratedClass> generated_priority_classes();

}  // namespace berth
