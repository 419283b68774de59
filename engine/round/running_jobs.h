// The jobs that run, while a round or a simulation changes them.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/model/rules.h"
#include "engine/model/running_job.h"

namespace berth {

// When a running job began and is to end, at hand without a look at the job.
struct RunTimes {
  Seconds start;
  Seconds planned_end{-1};  // had nobody told it to stop; -1 = unknown
  std::uint32_t tasks = 0;
  bool is_told = false;  // to stop
  bool is_stale = true;  // read it again
};

class RunningJobs {
 public:
  // The job's id must be new here. References stay valid until the next add or remove.
  RunningJob& add(RunningJob job);
  RunningJob remove(std::int64_t id);
  // `job` is one of these: it gains a task, or gives one up.
  void add_task(RunningJob& job, const RunningTask& task);
  void drop_task(RunningJob& job, std::size_t task);
  const RunningJob* find(std::int64_t id) const;
  // To change it.
  RunningJob* change(std::int64_t id);
  // In no particular order that means anything, but in an order that depends on the calls alone.
  std::span<const RunningJob> all() const { return jobs_; }
  std::span<RunningJob> change_all();
  std::size_t size() const { return jobs_.size(); }

  // By place in all(). Reads again only the jobs that somebody could have changed since the last call.
  std::span<const RunTimes> times();
  // Ids of the jobs with tasks on the node, one for each task.
  std::span<const std::int64_t> on_node(NodeIndex node);
  // The same, each once and in their order.
  std::vector<std::int64_t> jobs_on(NodeIndex node);
  std::size_t place_of(std::int64_t id) const { return place_.at(id); }

 private:
  void touch(std::size_t place);
  void index_task(std::int64_t id, NodeIndex node);
  void forget_task(std::int64_t id, NodeIndex node);

  std::vector<RunningJob> jobs_;
  std::unordered_map<std::int64_t, std::size_t> place_;
  std::vector<RunTimes> times_;                   // by place
  std::vector<std::size_t> stale_;                // places; some may be gone
  std::vector<std::vector<std::int64_t>> nodes_;  // see on_node()
  bool has_nodes_ = false;                        // from the first question on
};

// What an elastic job can give up without ending: places in its `tasks` beyond min_tasks of their group, group by
// group, the highest task number first. So the first of a group go last.
std::vector<std::size_t> surplus_tasks(const RunningJob& job);
// Devices on which some of `tasks` are to be.
bool lies_on(const Holding& held, std::span<const ReservedTask> tasks);

// When it was to have ended, as far as was known.
Seconds believed_end_of(const RunTimes& times, const RoundRules& rules);
// When a running job will have ended as far as is known: its expected end; one past it is expected to run on for as
// long again as it is late, at least a minute (extended, not killed); nothing known: `rules.default_duration`.
Seconds expected_end_of(const RunningJob& job, const RoundRules& rules, Seconds now);
// The same, had nobody told it to stop.
Seconds untold_end_of(const RunningJob& job, const RoundRules& rules, Seconds now);
Seconds untold_end_of(const RunTimes& times, const RoundRules& rules, Seconds now);

// Of one task of the job, what evicting it at `stop` would lose of each GPU: its work since the job's last checkpoint,
// and the restart. In the job: all of it stops, and writes a checkpoint if it gets the grace for one; surplus
// tasks that go alone write none.
enum class Stops : std::uint8_t { kInJob, kAlone };
Seconds lost_time(const RunningJob& job, const RunningTask& task, Seconds stop, Stops how);
// The same in milli-GPU-seconds.
std::int64_t lost_work(const RunningJob& job, const RunningTask& task, Seconds stop, Stops how);
// milli-GPU-seconds that evicting all of it would lose.
std::int64_t lost_work(const RunningJob& job, Seconds stop);
// Seconds of each GPU, on the average over the tasks; of each task where they hold none.
std::int64_t lost_per_gpu(const RunningJob& job, Seconds stop);

}  // namespace berth
