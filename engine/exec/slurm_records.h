// The folder of a launch: what was asked of Slurm, who holds the claim, what the script noted of each task.
//
//   script      made before the submission; a folder without `submitted` may or may not have reached Slurm
//   tasks       a line for each task: group, task, node
//   submitted   Slurm's id of the job, and when it was known (milliseconds)
//   claim       a symbolic link whose target names who may run the launch: "12.0.77.1795247922.5" (Slurm job 12, never
//               requeued, one start of its script), or "stopped" or "refused" when nobody may any more. Made once,
//               never changed.
//   node.NAME   lines of the script on that node: "start GROUP TASK TIME PID", "late GROUP TASK TIME", what it told a
//               task: "signal GROUP TASK TIME NUMBER UNTIL" or "stop GROUP TASK TIME SIGNAL", "told GROUP TASK TIME"
//               when Slurm seems to have told it to end, "left GROUP TASK TIME" when its watcher was killed,
//               "exit GROUP TASK TIME CODE" of a first process that no signal ended, "end GROUP TASK TIME CODE
//               CPU_SECONDS [MEMORY_PEAK_MIB]" when nothing of the task runs any more
//   over        a symbolic link that the script makes when all nodes have ended: its target is the status of what ran
//               them, above 128 where that was killed. Without it the script was killed.
//   control     lines for the script: see slurm_script.h
//   GROUP-TASK.out, .err, .done (see done_file.h); slurm.out (the script's own words)
//
// The folder lies where the nodes see it too. Files that others read while we write are replaced by rename. Tasks may
// have made anything of any of them: a pipe, a link, a folder or a file without end counts as none.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/exec/executor.h"

namespace berth {

inline constexpr std::string_view kStoppedClaim = "stopped";
inline constexpr std::string_view kRefusedClaim = "refused";
inline constexpr std::string_view kPilotClaim = "pilot.";  // and more: it runs as steps of pilot jobs

struct SlurmTaskRecord {
  std::string node;
  std::optional<Seconds> started;
  std::optional<Seconds> ended;
  Seconds last{-1};       // moment of the last line
  std::int32_t code = 0;  // of the shell that waited: above 128 = a signal
  bool is_exit = false;   // no signal, whatever the code
  bool is_late = false;
  bool was_told = false;
  Seconds heeds_until{-1};          // until then Berth's last signal may end it; a stop may do so for ever
  bool was_told_by_others = false;  // by Slurm, as it seems
  Seconds told{-1};                 // the last time
  bool is_left = false;             // its watcher was killed, and it was ended for that
  TaskUse use;

  // Others told it after Berth's last signal was over. Before that the script may have heard Berth's own CONT twice.
  bool was_ended_by_others() const { return was_told_by_others && told > heeds_until; }
};

struct SlurmSubmission {
  std::int64_t job = 0;
  std::int64_t moment_ms = 0;
};

// (group, task) and the node it was placed on.
struct SlurmPlacedTask {
  std::int32_t group = 0;
  std::int32_t task = 0;
  std::string node;
};

// In the launch's folder.
std::string slurm_done_file(std::int32_t group, std::int32_t task);

class SlurmLaunchFolder {
 public:
  explicit SlurmLaunchFolder(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  bool exists() const;
  // True when it was not there.
  Result<bool> make() const;
  // Script, tasks and the folder `work`, where jobs without a directory start, unless they are there already.
  Status write_launch(const Launch& launch, const std::string& script) const;
  std::vector<SlurmPlacedTask> tasks() const;

  std::optional<SlurmSubmission> submission() const;
  Status note_submission(const SlurmSubmission& submission) const;

  std::optional<std::string> claim() const;
  // When it was taken, by the clock of whoever keeps the folder.
  std::optional<std::int64_t> claim_moment_ms() const;
  // `over` says that all nodes ended by themselves.
  bool has_ended_whole() const;
  // In pilot jobs: when its script last said that it has not started yet.
  std::optional<std::int64_t> trying_ms() const;
  // Who holds it now: `by` or another one before.
  Result<std::string> take_claim(std::string_view by) const;
  std::map<std::pair<std::int32_t, std::int32_t>, SlurmTaskRecord> records() const;
  Status add_control(const std::string& line) const;
  // `control` has a line for all its tasks that gives them a grace.
  bool is_asked_to_end() const;
  // Why the script itself failed; at most a few lines.
  std::string complaint() const;
  // Everything but logs, `submitted` and `claim` (a late twin of the job must still find them) goes when each of the
  // launch's tasks has been named. Of a launch that began and whose end was not written down for each task also what
  // the script and we need to stop it stays: it may only have seemed to be gone, and is a stray when it comes back.
  Status forget(const std::vector<std::pair<std::int32_t, std::int32_t>>& tasks) const;
  // forget() has left what it takes to stop it.
  bool is_left() const;
  void clear() const;       // takes that away too
  bool is_cleared() const;  // false where its tasks cannot be read
  // A file in it was made or removed not longer ago.
  bool has_changed_within(Seconds time) const;
  // Nothing of it runs any more, by its own records, or ever will.
  bool has_known_end() const;

 private:
  std::string path_;
};

// The Slurm job in a claim ("12.0" = 12); nothing where no job holds it or ever may.
std::optional<std::int64_t> job_of_claim(const std::optional<std::string>& claim);

// The lines of one node's record, added to `records`. A last line without its end is left for the next time.
void read_slurm_record(std::string_view text, std::string_view node,
                       std::map<std::pair<std::int32_t, std::int32_t>, SlurmTaskRecord>& records);

// The content of a regular file; nothing when there is none, or it is larger than any that we or Slurm write.
std::optional<std::string> read_whole_file(const std::string& path);
Status replace_file(const std::string& path, std::string_view content);

}  // namespace berth
