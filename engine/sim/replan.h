// preemption = replan: at every moment all unfinished jobs, those that run too, are put in order and chosen anew.
//
// The list of unfinished jobs is kept from moment to moment; who arrives is added at its end. At a moment it is sorted
// by the order's key. Equals stay as they were (ReplanTies::kKeep), or those that wait come before those that run, each
// in the order in which they came to wait or run (kWaitingFirst). Then jobs are chosen from its head, as long as their
// GPUs fit into what is left of all the GPUs of their pool (of the cluster, for jobs without one); one that does not
// fit is passed over, and where its tasks would lie is not looked at. Running jobs that are not chosen are evicted,
// chosen ones that wait start if they can be placed.
//
// Under an order with levels (KeyedOrder::has_levels) a running job whose service has reached the end of its level
// falls to the next one, one level a moment and in order of arrival, to the end of that level's jobs; and after each
// moment those that wait are put behind those that run in their level.
#pragma once

#include <vector>

#include "engine/sim/floor.h"
#include "engine/sim/live_jobs.h"

namespace berth {

enum class ReplanTies : std::uint8_t { kKeep, kWaitingFirst };

struct Replanned {
  std::vector<std::int32_t> evict;  // slots, before the others start
  std::vector<std::int32_t> start;  // slots, as far as they fit
};

class Replan {
 public:
  Replan(const KeyedOrder& order, const Floor& floor, std::size_t pool_count, ReplanTies ties);

  void add(std::int32_t slot) { list_.push_back(slot); }
  void remove(std::int32_t slot);
  std::span<const std::int32_t> list() const { return list_; }
  // `jobs`: estimate and attained of those that run are those of now.
  Replanned choose(LiveJobs& jobs, const OrderInput& input);
  // The evictions of `plan` have happened, and the starts as far as they could.
  void settle(const LiveJobs& jobs, const Replanned& plan);
  // Seconds until somebody should look whether one of the running jobs falls to another level; -1 = none will. As the
  // published simulator has it: what its run time lacks to the end of the level, divided by its GPUs where service is
  // counted by GPU.
  Seconds next_fall(const LiveJobs& jobs, const OrderInput& input) const;

 private:
  void sort_by_level(LiveJobs& jobs, const OrderInput& input);
  void sort_by_key(const LiveJobs& jobs, const OrderInput& input);
  void move_to_end(std::int32_t slot);

  const KeyedOrder& order_;
  ReplanTies ties_;
  std::vector<std::int32_t> list_;
  std::vector<MilliGpu> capacity_;  // of each pool; of the whole cluster at the end
  std::vector<std::pair<OrderKey, std::int32_t>> keyed_;
};

}  // namespace berth
