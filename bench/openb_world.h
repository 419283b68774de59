// Openb's nodes and default tasks in the recorded order of arrival (tests/reference/openb_files.h), one copy after the
// other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/reference/openb_files.h"

namespace berth::bench {

struct OpenbWorld {
  Cluster cluster;
  test::OpenbTasks tasks;
  std::vector<std::int32_t> order;
  std::vector<std::int32_t> rank;
  std::vector<WorkloadShape> workload;
};

inline OpenbWorld read_openb_world(std::size_t copies) {
  OpenbWorld world;
  world.cluster = test::openb_cluster(copies);
  world.tasks = test::openb_workload_tasks("default", world.cluster);
  world.workload = world.tasks.workload();
  const std::string base = test::shared_folder() + "/golden/fgd/orders/default_s42";
  const std::vector<std::int32_t> order = test::read_numbers(base + ".order");
  const std::vector<std::int32_t> rank = test::read_numbers(base + ".rank");
  for (std::size_t copy = 0; copy < copies; ++copy) {
    world.order.insert(world.order.end(), order.begin(), order.end());
    for (const std::int32_t place : rank) {
      world.rank.push_back(place + static_cast<std::int32_t>(copy * rank.size()));
    }
  }
  return world;
}

}  // namespace berth::bench
