// From a launch to what Slurm is given: the resources of each node, sbatch's arguments, and the script that runs there.
//
// All tasks of a launch are one Slurm job, so that they start together or not at all. What its tasks need of a node is
// added up: whole CPUs, MiB, whole GPUs. When all nodes come to the same it is a plain job with --nodelist; otherwise a
// heterogeneous job with a component for each set of equal nodes, which Slurm starts together too. Slurm picks which of
// a node's devices a job gets (it cannot be told), so of the planned device masks only the counts and who shares with
// whom are kept: tasks of one launch with a common device get a common device.
//
// The script (bash) runs as batch script on the first node, and by one srun once on each node when there are several.
// It takes the claim of its launch, the symbolic link `claim` in the launch's folder, and goes no further when another
// has it: however many Slurm jobs of one key there may come to be, one runs the command. Requeued jobs claim under
// another name and so do not run twice. Then it starts the tasks of its node, each in a process group of its own with
// its slice of the devices, notes start and end of each in node.<name> (see slurm_records.h), holds the time limits,
// and obeys lines of the file `control` whenever it gets SIGCONT.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/exec/executor.h"

namespace berth {

struct SlurmNodeNeed {
  std::int64_t cpus = 0;
  std::int64_t memory_mib = 0;  // 0 = left to the site's default
  std::int64_t gpus = 0;
  std::int64_t shards = 0;

  bool operator==(const SlurmNodeNeed&) const = default;
};
// Nodes in order of the lowest rank that each has.
struct SlurmComponent {
  SlurmNodeNeed need;
  std::vector<std::string> nodes;
};

struct SlurmSubmitOptions {
  std::string database;
  std::string shared_folder;
  std::string partition;           // empty = Slurm's default one
  std::vector<std::string> extra;  // further arguments of sbatch
  std::int64_t shards_per_device = 0;
  bool is_pilot = false;
  Seconds kill_wait{10};  // between TERM and KILL when a time limit ends a task
};

// kInvalid, in words for the one who submitted it: a share of a device where the site has no shards, device counts that
// tasks of one node cannot be given.
Result<std::vector<SlurmComponent>> slurm_components(const Launch& launch, std::int64_t shards_per_device);

// "<shared folder>/<launch key>".
std::string slurm_launch_folder(const SlurmSubmitOptions& options, const LaunchKey& key);
// sbatch and its arguments, the path of the script last.
std::vector<std::string> sbatch_command(const Launch& launch, const std::vector<SlurmComponent>& components,
                                        const SlurmSubmitOptions& options);
std::string slurm_script(const Launch& launch, const std::vector<SlurmComponent>& components,
                         const SlurmSubmitOptions& options);

// slurm_runner.sh: what is the same in every script.
std::string_view slurm_runner();

// sbatch said no, and a repetition would hear the same ("Requested node configuration is not available"); false for
// everything else, above all for a controller that did not answer.
bool is_sbatch_refusal(std::string_view complaint);
// sbatch said no, and may say yes another time: "Required partition not available (inactive or drain)", "Requested
// nodes are busy".
bool is_sbatch_delay(std::string_view complaint);
// Nobody answered: "Unable to contact slurm controller (connect failure)".
bool is_slurm_silence(std::string_view complaint);

// "it's" to 'it'\''s': one word for a shell.
std::string quote_for_shell(std::string_view text);

}  // namespace berth
