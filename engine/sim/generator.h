// A made-up but lifelike cluster and its work: for examples, quickstart, tests and benches.
//
// Seeded: equal parameters give equal records. Nodes come in the usual sizes of several device models with their link
// groups, racks of `nodes_per_rack` and two pools; jobs come from a few departments, each with its own habits - gangs
// of whole nodes, single devices, fractions, CPU work - at times of a day with a peak, with heavy-tailed durations.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/sim/trace.h"

namespace berth {

struct GeneratorOptions {
  std::uint64_t seed = 1;
  std::int64_t gpus = 320;  // about; whole nodes are made until it is reached
  std::int64_t jobs = 400;
  std::int32_t nodes_per_rack = 8;
  Seconds start{1767571200};    // first possible submit: 2026-01-05 00:00, a Monday
  Seconds span{2 * 24 * 3600};  // over which jobs are submitted
};

std::vector<TraceNode> generate_nodes(const GeneratorOptions& options);
// Sorted by submit time. Every job fits the empty cluster of generate_nodes with the same options.
std::vector<TraceJob> generate_jobs(const GeneratorOptions& options);
// Departments and their parents, as the jobs name them: what an example creates first.
std::vector<std::string> generated_queues();

}  // namespace berth
