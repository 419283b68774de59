// What is true of a task, from what Slurm lists and what the launch's script noted. Pure.
//
// The script's notes come first: it saw the task itself. Slurm is asked for the rest: tasks that did not start yet, and
// those whose script was ended with them (a dead node, a time limit, a cancellation).
#pragma once

#include <optional>
#include <string>

#include "engine/exec/executor.h"
#include "engine/exec/slurm_jobs.h"
#include "engine/exec/slurm_records.h"

namespace berth {

struct SlurmTaskFacts {
  const SlurmJob* job = nullptr;  // what Slurm lists under the launch's name; nothing = it lists none
  bool is_current = true;         // listed after the launch was submitted, and well after its claim was taken
  bool is_gone = false;           // of what Slurm does not list: for long enough (slurm_absence.h)
  bool is_step = false;           // of a pilot job: who ends that means no single task
  bool has_pilot = false;         // such a step that has ended: the job that held its node for it runs on
  bool is_trying = false;         // such a step: its script waits until Slurm has room for it
  std::optional<SlurmSubmission> submission;
  std::optional<std::string> claim;
  const SlurmTaskRecord* record = nullptr;
  bool has_folder = true;        // the launch's; false: somebody removed it after the submission
  bool has_ended_whole = false;  // its script says so: nobody killed that, or the srun below it
  std::string complaint;         // of the script
  bool is_asked_to_end = false;  // by Berth, whether its script has heard it or not; looked up for cancelled jobs
  Seconds now;
  Seconds listed;         // when Slurm was asked what it lists
  Seconds pending_limit;  // longer in Slurm's queue, and it is stuck
  Seconds kill_wait;      // of the script
  Seconds slurm_kill_wait;
};

// A shared folder may show on this machine later than on the node what was written there, and have another clock: a job
// that ended by itself without a word gets this long, and a listing is older than a claim unless it is this much
// younger.
inline constexpr Seconds kRecordPatience{20};

TaskObservation judge_slurm_task(const LiveTask& task, const SlurmTaskFacts& facts);

}  // namespace berth
