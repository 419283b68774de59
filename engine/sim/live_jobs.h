// The jobs of a simulation that have arrived and not ended, in slots that are used again.
//
// A slot number is what events and waiting lists keep; an id is what a round knows. Slots keep their memory, so that a
// job that comes and goes costs few allocations.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/model/job.h"
#include "engine/policy/duration_predictor.h"

namespace berth {

struct LiveJob {
  Job job;  // as a round sees it; estimate, attained and eviction are those of now while it waits
  std::string name;
  Seconds duration;               // of a run that nobody disturbs
  DurationEstimate estimate;      // of that run
  DurationFeatures features;      // where durations are predicted
  bool teaches = false;           // there: it will finish, so its end is learnt from
  Seconds left;                   // to run at the start of this attempt, restarts included
  Seconds start;                  // of this attempt
  Seconds first_start{-1};        // -1 = never yet
  std::int64_t attempt = 0;       // a number of its own for each start: events of another are void
  std::int64_t held_milli = 0;    // devices it holds, milli-GPU
  std::int64_t attained = 0;      // service, milli-GPU-seconds
  Seconds counted_at;             // up to when
  Seconds stop_at{-1};            // of a victim in its grace; -1 = nobody told it to stop
  std::int64_t lost_at_stop = 0;  // then: milli-GPU-seconds
  std::int32_t missing = 0;       // tasks not placed
  std::int32_t most_placed = 0;   // tasks that it had at a time, so far
  bool is_running = false;
  bool is_waiting = false;     // to start, or for its missing tasks
  bool is_entitled = false;    // see OwnQuota
  std::int64_t level = 0;      // of an order with levels
  std::size_t first_task = 0;  // row of its first task
  std::size_t task_count = 0;
  std::vector<std::size_t> first_of_group;  // counted from there
  std::vector<Seconds> joined;              // when its tasks began, counted as those; empty where none is surplus

  std::size_t index_of(std::int32_t group, std::int32_t task) const {
    return first_of_group[static_cast<std::size_t>(group)] + static_cast<std::size_t>(task);
  }
  // Work done by `now`, restarts not counted.
  Seconds done(Seconds now) const { return duration - left + (is_running ? now - start : Seconds(0)); }
};

class LiveJobs {
 public:
  // `finds_ids`: slot_of() will be asked.
  explicit LiveJobs(bool finds_ids) : finds_ids_(finds_ids) {}
  // A fresh entry; its id must be new here.
  std::int32_t add(std::int64_t id);
  void remove(std::int32_t slot);

  LiveJob& operator[](std::int32_t slot) { return *slots_[static_cast<std::size_t>(slot)]; }
  const LiveJob& operator[](std::int32_t slot) const { return *slots_[static_cast<std::size_t>(slot)]; }
  std::int32_t slot_of(std::int64_t id) const { return slot_of_.at(id); }
  std::size_t size() const { return slots_.size() - free_.size(); }
  // All slots in id order.
  std::vector<std::int32_t> all() const;

 private:
  bool finds_ids_;
  std::vector<std::unique_ptr<LiveJob>> slots_;
  std::vector<std::int32_t> free_;
  std::unordered_map<std::int64_t, std::int32_t> slot_of_;
};

}  // namespace berth
