// What squeue, sacct and scontrol print of jobs, read into plain structs.
//
// Each reader has beside it the arguments that make Slurm print what it reads: parsable rows, one call for all jobs,
// times as Unix seconds (kSlurmTimes in the environment), free text last, so that a '|' in a job's name does no harm.
// JSON is not asked for: at 10,000 jobs it is 34 MB and ten times slower, and its shape changes with the release.
// Rows that cannot be read are left out, not guessed; so is a last row without its end, which may be cut off.
// A user may put a newline into the name or comment of a job, and Slurm prints it as it is: what follows would pass for
// a row of another job. Berth therefore asks for names and comments of its own user's jobs alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/units.h"
#include "engine/model/cluster.h"

namespace berth {

inline constexpr std::pair<const char*, const char*> kSlurmTimes{"SLURM_TIME_FORMAT", "%s"};

enum class SlurmState : std::uint8_t {
  kUnknown,      // a word of another release: it may be anything, above all not over
  kPending,      // also held, about to be requeued
  kConfiguring,  // it has its nodes, which are being made ready
  kRunning,      // also suspended: it holds what it has
  kEnding,       // its processes are being ended; how it ended is not said yet
  kCompleted,
  kFailed,
  kTimeout,
  kOutOfMemory,
  kCancelled,
  kNodeFailed,
  kPreempted,
};
// "RUNNING", "CANCELLED by 1000", "OUT_OF_MEMORY", and the short forms ("R", "CA", "OOM").
SlurmState read_slurm_state(std::string_view word);
bool has_slurm_nodes(SlurmState state);  // or may have
bool is_slurm_end(SlurmState state);

struct SlurmJob {
  std::int64_t id = 0;         // of the whole: the leader's of a heterogeneous job, the array's of an array's task
  std::int32_t component = 0;  // of a heterogeneous job
  std::string shown;           // as Slurm writes it: "12", "12+1", "12_3"
  SlurmState state = SlurmState::kUnknown;
  std::string state_word;
  std::string reason;
  std::string nodes;  // a host list; empty while it waits
  std::string user;
  Seconds submitted{-1};  // -1 = not known
  Seconds started{-1};
  Seconds ended{-1};
  std::string name;  // of a launch that was renamed, as it was

  // It was turned down at submission, which leaves a row that says FAILED.
  bool never_was() const { return state == SlurmState::kFailed && nodes.empty(); }
};

// Of one user's jobs.
inline constexpr std::string_view kSqueueFormat = "%i|%T|%r|%N|%u|%V|%S|%e|%k|%j";
// `is_whole` turns false when there is anything but rows that can be read: what is not listed may be in the rest.
std::vector<SlurmJob> read_squeue(std::string_view text, bool* is_whole = nullptr);

// Whose job has which nodes, of everybody's jobs: nothing in it is free text.
struct SlurmOccupant {
  std::int64_t id = 0;      // of each component and each task of an array its own, as scontrol names it
  std::int64_t listed = 0;  // as SlurmJob::id
  SlurmState state = SlurmState::kUnknown;
  std::int32_t cpus = 0;
  std::string nodes;
  std::string user;  // its number
};
inline constexpr std::string_view kSqueueOccupantFormat = "%A|%i|%T|%C|%N|%U";
std::vector<SlurmOccupant> read_squeue_occupants(std::string_view text);

// squeue --steps: a row for each step, as a running job of that name; `shown` is "12.3".
inline constexpr std::string_view kSqueueStepFormat = "%i|%u|%N|%j";
std::vector<SlurmJob> read_squeue_steps(std::string_view text, bool* is_whole = nullptr);

// sacct -n -P -X -o <this>: what is left to ask when a job's state has vanished from the controller.
inline constexpr std::string_view kSacctFormat = "JobIDRaw,State,Start,End,JobName";
std::vector<SlurmJob> read_sacct(std::string_view text);

// What a running job holds of one node, from `scontrol -d -o show job`.
struct SlurmHolding {
  std::int64_t job = 0;
  std::string user;
  std::string node;
  std::int32_t cpus = 0;
  MiB memory;
  std::int32_t gpus = 0;
  DeviceMask devices = 0;  // 0 = not said
};
// Of jobs that have nodes, or may. The text has the names of other users' jobs in it, and so may be forged: believe no
// more of it than the job's SlurmOccupant says.
std::vector<SlurmHolding> read_slurm_holdings(std::string_view text);
// The same text has a job of that id, not over, that names this launch.
bool shows_slurm_job(std::string_view text, std::int64_t id, std::string_view launch);

// "gpu:a100:2(IDX:0-1),shard:..": the GPUs among them.
struct SlurmGpus {
  std::string model;  // empty = the site gives no type
  std::int32_t count = 0;
  DeviceMask devices = 0;
};
SlurmGpus read_slurm_gres(std::string_view text);

}  // namespace berth
