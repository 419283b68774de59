// Of a job that finds no GPUs after a pass: is as much free, but scattered; and was there room before the pass began?
//
// What is scattered is counted over all nodes that could run the task when empty. GPUs are not where the tasks would
// fit but for CPU and memory. Room that was there is counted on the nodes on which something started, each as it was
// before.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/model/ledger.h"

namespace berth {

class RoomLeft {
 public:
  // `ledger`: after the pass; `taken`: what jobs took in it of what was free before. Both must outlive it.
  RoomLeft(const Ledger& ledger, const Cluster& cluster, std::span<const Holding> taken);

  // As many GPUs are free as `tasks` tasks of the shape ask for, but not where so many tasks would fit.
  bool is_in_pieces(const TaskShape& shape, std::int32_t tasks) const;
  // Before the pass so many tasks more would have fitted.
  bool was_there(const TaskShape& shape, std::int32_t tasks) const;

 private:
  std::int64_t copies_taken(const TaskShape& shape, std::int32_t enough) const;
  bool would_fit(const TaskShape& shape, std::int32_t tasks) const;

  const Cluster& cluster_;
  const Ledger& after_;
  std::optional<Ledger> before_;
  std::vector<NodeIndex> touched_;
  std::vector<std::int64_t> free_;      // by kind: milli-GPU on nodes that accept tasks
  std::vector<std::int64_t> unbroken_;  // of these, of devices that nobody uses
  using Known = std::unordered_map<TaskShape, std::map<std::int32_t, bool>, TaskShapeHash>;
  mutable Known known_;      // was_there
  mutable Known known_now_;  // would_fit
};

}  // namespace berth
