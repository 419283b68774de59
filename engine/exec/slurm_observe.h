// What is true of launched tasks, and of other people's jobs on our nodes, from one listing of Slurm's jobs.
//
// The listing alone answers for a launch of one task that runs. The folder of a launch is read when the listing cannot
// tell: several tasks, one that waits or has ended, more than one job of the name. What a listing leaves out is
// unknown, not lost, until accounting tells its end or it is gone (slurm_absence.h). A second job of a name that an
// ambiguous submission left behind is cancelled here; it would run nothing anyway.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/exec/executor.h"
#include "engine/exec/slurm_absence.h"
#include "engine/exec/slurm_client.h"
#include "engine/exec/slurm_outcome.h"
#include "engine/exec/slurm_script.h"

namespace berth {

class SlurmObserver {
 public:
  // All must outlive the observer. `folder`: the executor's own.
  SlurmObserver(SlurmClient& client, const SlurmSubmitOptions& options, Seconds pending_limit,
                const SlurmListing& listing, const std::string& folder);

  // Fills seen.tasks, one for each in that order, and seen.unknown_tasks.
  void observe_tasks(std::span<const LiveTask> tasks, Observation& seen);
  // Jobs that are not this database's on these nodes, and of its own those that Slurm still has though their tasks
  // have ended and are forgotten: a node may hang. Asks for details only when there are any. After observe_tasks().
  Status observe_foreign(std::span<const std::string> nodes, Observation& seen);
  // Of those the ones that Slurm still runs: without their daemon they hold their nodes until somebody cancels them.
  const std::vector<std::int64_t>& hung() const { return hung_; }

 private:
  // What is known of one launch.
  struct View {
    std::int64_t asked = 0;  // of how many of its tasks
    bool is_read = false;    // its folder is
    std::optional<std::int64_t> claimed_ms;
    SlurmTaskFacts facts;
    std::set<std::string> lost_nodes;  // of a launch in steps: where Slurm has none of it any more
    std::map<std::pair<std::int32_t, std::int32_t>, SlurmTaskRecord> records;
  };
  using Views = std::map<LaunchKey, View>;

  View look(const LaunchKey& key, std::int64_t asked);
  void read_folder(const LaunchKey& key, View& view) const;
  const SlurmJob* choose_job(const std::vector<const SlurmJob*>& jobs, const View& view);
  void ask_accounting(Views& views);
  void note_absences(Views& views);
  // Slurm's number of its job, as far as it is known.
  static std::optional<std::int64_t> id_of(const View& view);
  // Asked for once.
  const Result<std::string>& job_details();
  // scontrol knows the job, or does not say.
  bool is_known_otherwise(const std::string& name, const View& view);
  bool is_ours(const SlurmOccupant& occupant) const;
  bool has_lost_its_pilot(const View& view) const;
  // A launch in pilot jobs has one step for each of its nodes.
  const SlurmJob* step_on(const LaunchKey& key, const std::string& node) const;
  bool has_lost_its_pilot_on(const std::string& node) const;
  bool has_kept_its_pilot(const std::string& node, Seconds started) const;
  void note_lost_steps(std::span<const LiveTask> tasks, Views& views);
  TaskObservation judge(const LiveTask& task, View& view) const;
  void add_unknown(const Views& views, Observation& seen);

  SlurmClient& client_;
  const SlurmSubmitOptions& options_;
  Seconds pending_limit_;
  const SlurmListing& listing_;
  SlurmAbsences absences_;
  std::map<LaunchKey, std::vector<const SlurmJob*>> ours_;
  std::vector<std::int64_t> twins_;
  std::set<std::int64_t> left_;  // of ours, without tasks
  std::vector<std::int64_t> hung_;
  std::vector<SlurmJob> accounted_;
  std::optional<Result<std::string>> details_;  // see job_details()
};

}  // namespace berth
