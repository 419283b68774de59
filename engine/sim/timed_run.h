// One run of SIMULATE JOBS: the clock, the jobs that have come and not gone, and what is told of them. See timed.h.
#pragma once

#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/sim/event_queue.h"
#include "engine/sim/floor.h"
#include "engine/sim/job_times.h"
#include "engine/sim/live_jobs.h"
#include "engine/sim/own_quota.h"
#include "engine/sim/past_use.h"
#include "engine/sim/replan.h"
#include "engine/sim/timed.h"
#include "engine/sim/told_starts.h"
#include "engine/sim/trace_model.h"
#include "engine/sim/utilisation.h"
#include "engine/sim/waiting_jobs.h"

namespace berth {

// Refuses jobs that a timed simulation cannot take.
Status check_timed_job(const TraceJob& job, Seconds previous_submit);

class TimedRun {
 public:
  // What is passed must outlive this.
  TimedRun(const TimedInput& input, const TimedOptions& options, const QueueOrder& order, Floor& floor,
           std::unique_ptr<JobReader> reader);

  Result<SimulationResult> run(const PolicyChoice& policy);

 private:
  const OrderInput& order_input();
  std::unique_ptr<WaitingJobs> make_waiting();

  // ---- what happens
  Status read_next();
  bool is_void(const TimedEvent& event) const;
  std::optional<Seconds> next_moment();
  Status take_events();
  Status admit();
  const AcceptedJob* find_accepted(std::int64_t id);
  Status withdraw(std::int32_t slot);
  void loosen_models();
  void set_terms(LiveJob& live) const;
  void resume_jobs();
  void estimate(LiveJob& live) const;
  void learn_history();
  void remember_use();
  DurationEstimate estimate_of_rest(const LiveJob& live) const;
  void add_task_rows(const LiveJob& live, TaskOutcome state);
  std::optional<std::string> missing_models() const;
  void note_infeasible(const std::string& name, const std::string& why);
  Status end_job(std::int32_t slot);
  void leave(std::int32_t slot);

  // ---- who waits
  void make_wait(std::int32_t slot);
  void wait_no_longer(std::int32_t slot);
  void flush_to_wait();

  // ---- what is decided
  Status decide();
  Status pass();
  void try_waiting();
  void start_or_grow(std::int32_t slot, const std::vector<PlacedTask>& placed, Seconds start);
  void begin_run(std::int32_t slot, Seconds start);
  void carry_out(const Eviction& eviction);
  void shrink(std::int32_t slot, const Eviction& eviction);
  void tell_to_stop(std::int32_t slot, const Eviction& eviction);
  void interrupt(std::int32_t slot, std::int64_t lost);
  void reprieve(std::int32_t slot);
  Status replan();
  void refresh_running();
  void count_eviction(LiveJob& live, std::int64_t lost);
  void count_service(LiveJob& live) const;
  void hold(LiveJob& live, std::int64_t more);
  void schedule_round();

  // ---- what is told
  Status tell_starts();
  Snapshot snapshot_now() const;
  JobTimes& times_of(const Job& job) { return times_[static_cast<std::size_t>(job.queue + 1)]; }
  void note_places(LiveJob& live, const std::vector<PlacedTask>& placed, Seconds start);
  void note_quota_of_start(const Job& job);
  void note_denied_queues();
  // Null unless jobs are kept.
  JobResult* kept(const Job& job) {
    return options_.keep_jobs ? &result_.jobs[static_cast<std::size_t>(job.id - 1)] : nullptr;
  }
  void finish();

  const TimedInput& input_;
  const TimedOptions& options_;
  const QueueOrder& order_;
  Floor& floor_;
  std::unique_ptr<JobReader> reader_;
  JobModeller modeller_;
  EventQueue events_;
  std::vector<Queue> queues_;        // those of the input, with what they have used
  std::optional<PastUse> past_use_;  // where it counts
  OrderInput order_input_;           // without its jobs
  Seconds now_;
  std::optional<Seconds> round_;  // a moment that must come, whatever happens
  LiveJobs jobs_;
  DurationPredictor predictor_;  // what ended jobs teach, where durations are predicted
  std::unique_ptr<WaitingJobs> waiting_;
  std::unique_ptr<Replan> replan_;
  std::unique_ptr<OwnQuota> own_quota_;
  std::vector<std::int32_t> to_wait_;  // from the end of this pass on
  PolicyChoice choice_;
  ToldStarts told_starts_;
  std::vector<std::pair<std::int32_t, std::int64_t>> newcomers_;  // of whose start is to be told: slot, id
  std::size_t next_resumed_ = 0;
  std::size_t next_accepted_ = 0;
  std::vector<std::pair<std::int32_t, Seconds>> to_resume_;  // slots that run when it begins, and since when
  TraceJob next_;                                            // has not arrived yet
  bool has_next_ = false;
  Seconds next_arrival_;
  Seconds previous_submit_{std::numeric_limits<std::int64_t>::min()};
  Seconds first_submit_;
  std::int64_t arrived_ = 0;
  std::size_t task_count_ = 0;
  std::int64_t running_jobs_ = 0;
  std::int64_t attempts_ = 0;
  std::vector<JobTimes> times_;  // by queue + 1
  struct QueueWait {
    std::set<std::pair<std::int64_t, std::int32_t>> waiting;  // GPUs asked for, slot
    Seconds denied_since{-1};
  };
  std::vector<QueueWait> queue_waits_;  // by queue; empty without quotas
  Seconds last_end_;
  Seconds last_withdrawal_;
  UtilisationLog utilisation_;
  std::chrono::steady_clock::duration deciding_{};
  SimulationResult result_;
};

}  // namespace berth
