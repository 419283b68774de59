// A job that runs: what it holds, since when, until about when, and what evicting it would cost.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/model/job.h"
#include "engine/model/ledger.h"
#include "engine/model/rules.h"

namespace berth {

struct RunningTask {
  std::int32_t group = 0;
  std::int32_t task = 0;
  Holding holding;
  Seconds start{0};  // tasks of an elastic job join while it runs

  MilliGpu gpu_held() const {
    return holding.gpu_milli * static_cast<std::int64_t>(__builtin_popcountll(holding.devices));
  }
  bool operator==(const RunningTask&) const = default;
};

struct RunningJob {
  Job job;        // as it was when it started, `placed` and `anchor` of its groups up to date
  Seconds start;  // of this attempt
  std::vector<RunningTask> tasks;
  // Bit d = its gang counts against the quota of its ancestor at depth d of the queue tree (0 = the root), bit 16 + d =
  // so do the tasks that it has beyond min_tasks; see quota_ledger.h.
  std::uint32_t quota_mark = 0;
  // Once it is stopped, until what it holds is free: an executor has to see its processes gone. 0 = at once. Such a job
  // gives up everything or nothing.
  Seconds end_delay{0};
  Seconds stop_at{-1};         // told to stop at that moment; -1 = not
  std::int64_t stops_for = 0;  // the job it makes room for; of EvictionRule::kLoan the loan
  EvictionRule stop_rule = EvictionRule::kReclaim;

  // Told to end for good (cancelled, out of its time limit): gone by about then; -1 = not. It is nobody's victim.
  Seconds ends_by{-1};

  bool is_told_to_stop() const { return stop_at >= Seconds(0); }
  bool is_told_to_end() const { return ends_by >= Seconds(0); }
  // What is late may have hung: nobody waits for it.
  bool is_about_to_end(Seconds now) const { return ends_by >= now; }
  bool stops_for_a_loan() const { return is_told_to_stop() && stop_rule == EvictionRule::kLoan; }
  bool makes_room_for_a_job() const { return is_told_to_stop() && stop_rule != EvictionRule::kLoan; }
  bool makes_room_for(std::int64_t beneficiary) const { return makes_room_for_a_job() && stops_for == beneficiary; }
  // Its executor has been told, or is before the next round: that cannot be taken back.
  bool is_bound_to_stop(Seconds now) const { return end_delay > Seconds(0) && stop_at <= now + end_delay; }
  // When it may stop at the earliest, of one told to stop: it gets its grace, from now where its signal is to come.
  Seconds earliest_stop(Seconds now) const {
    return std::min(stop_at, now + job.eviction.checkpoint_grace + end_delay);
  }
  void run_on() {
    stop_at = Seconds(-1);
    stops_for = 0;
  }

  // Had nobody evicted it; -1 = unknown.
  Seconds planned_end() const { return is_told_to_end() ? ends_by : job.expected_end(start); }

  MilliGpu gpu_held() const {
    MilliGpu total;
    for (const RunningTask& task : tasks) total += task.gpu_held();
    return total;
  }
};

}  // namespace berth
