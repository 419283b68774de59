// Asks Slurm's own programs: each call one process, bounded in time, in an environment of its own, so that SQUEUE_...,
// SBATCH_... and SLURM_... variables of whoever runs Berth (perhaps inside a Slurm job) change nothing.
//
// What squeue and sinfo said is kept in the executor's folder with its moment, and used again within the poll interval,
// also by the next process: sites limit how often they may be asked.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "engine/exec/process.h"
#include "engine/exec/slurm_accounts.h"
#include "engine/exec/slurm_jobs.h"
#include "engine/exec/slurm_nodes.h"

namespace berth {

std::int64_t wall_clock_ms();

struct SlurmListing {
  std::int64_t asked_ms = 0;  // before Slurm was asked
  std::vector<SlurmJob> jobs;
  bool is_whole = true;  // every line could be read
};

class SlurmClient {
 public:
  // `user`: whose jobs those of Berth are, as a number or a name.
  SlurmClient(std::string folder, std::string conf, Seconds timeout, Seconds poll_interval, std::string user);

  // Every job of the user that Slurm knows, by squeue. `fresh`: whatever the poll interval.
  Result<SlurmListing> jobs(bool fresh);
  // Every step of the user's that runs.
  Result<SlurmListing> steps(bool fresh);
  // Of everybody.
  Result<std::vector<SlurmOccupant>> occupants();
  const std::string& user() const { return user_; }
  Result<std::vector<SlurmNode>> nodes(bool fresh);
  // For read_slurm_holdings() and shows_slurm_job().
  Result<std::string> job_details() const;
  // By sacct; empty where there is no accounting.
  std::vector<SlurmJob> accounted(const std::vector<std::int64_t>& jobs) const;
  // By sacctmgr; kUnavailable where there is no accounting.
  Result<std::vector<SlurmAssociation>> associations() const;
  // Between TERM and KILL of a job that is cancelled; asked once.
  Seconds kill_wait() const;
  // See read_slurm_cluster(); asked once.
  Result<std::string> cluster() const;
  // Node to switch; empty where no topology is configured.
  std::map<std::string, std::string> switches() const;
  // Also those still to come, asked for at most every half minute. Where Slurm does not say now, what it said last;
  // empty = it never did.
  std::vector<SlurmReservation> reservations();
  std::map<std::string, Seconds, std::less<>> usual_limits();

  Result<ProcessOutput> submit(const std::vector<std::string>& command) const;  // sbatch, or what starts a step
  // Ends jobs, or sends their scripts and tasks a signal. For each why it could not be told; empty when it was, or
  // needs it no more because it has ended.
  std::vector<std::string> cancel(const std::vector<std::int64_t>& jobs) const;
  std::vector<std::string> signal(const std::vector<std::int64_t>& jobs, const std::string& signal) const;
  std::string signal_step(const std::string& step, const std::string& signal) const;
  Status update_nodes(const std::vector<std::string>& nodes, const std::vector<std::string>& changes) const;

  // "env", "-i" and the variables that Slurm's programs and the jobs get.
  std::vector<std::string> environment() const;

 private:
  struct Answer {
    std::int64_t asked_ms = 0;
    std::string text;
  };
  Result<ProcessOutput> run(const std::vector<std::string>& command) const;
  std::vector<std::string> tell(const std::vector<std::string>& jobs, const std::vector<std::string>& arguments) const;
  Result<std::string> ask(const std::vector<std::string>& command) const;
  Status read_config() const;
  std::string plans(const std::string& what);
  std::optional<Answer> kept(const std::string& name) const;
  Result<Answer> poll(const std::string& name, const std::vector<std::string>& command, bool fresh);
  // The answer of before when it is younger than that; what cannot be kept is asked for again.
  Result<Answer> poll_within(const std::string& name, const std::vector<std::string>& command,
                             std::int64_t interval_ms);

  std::string folder_;
  std::string conf_;
  std::chrono::milliseconds timeout_;
  std::int64_t poll_interval_ms_;
  std::string user_;
  mutable std::optional<std::string> config_;
};

}  // namespace berth
