// Doing what a plan says, somewhere: the one interface to the machines on which work runs.
//
// An executor knows nothing of the database and keeps nothing in memory that it could not find again: whoever asks may
// be another process than the one that asked before, and either may have been killed in between. What makes that safe
// are keys. A launch is named by (database, job, attempt, sequence) and a task by (database, job, attempt, group,
// task); the executor writes those names where the work itself lives (a folder, a Slurm job's name, a pod's name) in
// the same step that starts it, so a launch that is delivered twice starts once, and what runs can always be told from
// what does not. Calls may be repeated at will. A database that was restored begins a new generation of keys, so that
// nothing new is taken for what ran before (see store/database_home.h).
//
// A call that fails as a whole means that the executor cannot be reached: nothing is known, nothing is lost, ask later.
// Everything that can be said of single launches or tasks is in the answers. Calls are bounded in time by the
// executor's own option `timeout`.
//
// Adding an executor: a file pair, a row in executor_types.cpp, a CMake line, a test.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/env.h"
#include "engine/base/status.h"
#include "engine/base/units.h"
#include "engine/model/cluster.h"
#include "engine/model/quota.h"

namespace berth {

struct LaunchKey {
  std::int64_t job = 0;
  std::int64_t attempt = 0;     // of the job, from 1
  std::int64_t sequence = 0;    // within the attempt: 0 = its gang, 1, 2, ... = tasks that join later
  std::int64_t generation = 0;  // of the database's keys: 0 until it is first restored

  auto operator<=>(const LaunchKey&) const = default;
};
struct TaskKey {
  std::int64_t job = 0;
  std::int64_t attempt = 0;
  std::int32_t group = 0;
  std::int32_t task = 0;
  std::int64_t generation = 0;

  auto operator<=>(const TaskKey&) const = default;
};

// "berth-3fa9c2-12-1-l0" and "berth-3fa9c2-12-1-0-3", "berth-3fa9c2g7b-12-1-0-3" in generation 0x7b: lower case
// letters, digits and '-' alone, at most 63 characters, so that they do as names of folders, Slurm jobs and pods.
// `database` is the tag of the database (see ExecutorContext).
std::string print_key(std::string_view database, const LaunchKey& key);
std::string print_key(std::string_view database, const TaskKey& key);
// Nothing unless it is a key of that kind and of that database.
std::optional<LaunchKey> read_launch_key(std::string_view database, std::string_view text);
std::optional<TaskKey> read_task_key(std::string_view database, std::string_view text);
// Begins as everything does that this database names, in any generation.
bool is_name_of(std::string_view database, std::string_view text);

struct LaunchTask {
  std::int32_t group = 0;
  std::int32_t task = 0;
  std::int32_t rank = 0;  // among all tasks of the job, by (group, task)
  std::string node;
  DeviceMask devices = 0;
  MilliGpu gpu_milli;  // of each device
  MiB gpu_memory;      // of each device; 0 = not tracked
  MilliCpu cpu;
  MiB memory;
};

// Tasks of one job that start together.
struct Launch {
  LaunchKey key;
  std::string job_name;
  std::string queue;
  std::string user;
  std::string command;            // for /bin/sh -c
  std::string working_directory;  // empty = the executor's
  std::vector<std::pair<std::string, std::string>> environment;
  std::string image;               // for executors that need one; empty = theirs
  Seconds time_limit;              // of each task; 0 = none
  std::string checkpoint_signal;   // "USR1"; empty = none is sent
  Seconds checkpoint_grace;        // from that signal to the end
  std::vector<std::string> peers;  // node of each rank of the job
  std::vector<LaunchTask> tasks;

  // "n1,n1,n2" for BERTH_PEERS; empty when it is longer than a variable can be (Linux: 128 KiB), or no task would
  // start.
  std::string peers_text() const;
  TaskKey key_of(const LaunchTask& task) const { return {key.job, key.attempt, task.group, task.task, key.generation}; }
};

enum class DeliveryState : std::uint8_t {
  kDone,     // it is true now, by this call or an earlier one
  kRefused,  // it never will be: `detail` says why
  kUnknown,  // it could not be found out: deliver again
};
struct Delivery {
  DeliveryState state = DeliveryState::kDone;
  std::string external;  // the executor's own name of it: a process, a Slurm job, a pod
  std::string detail;    // of what is refused or unknown
};

// A launched task, as asked about.
struct LiveTask {
  TaskKey key;
  LaunchKey launch;
  std::string external;  // as delivered; empty = not known
  std::string node;
};

// What a task's use came to. Nothing = not measured.
struct TaskUse {
  std::optional<std::int64_t> cpu_seconds;
  std::optional<MiB> memory_peak;
  std::optional<MilliGpu> gpu_mean;  // of each device
  std::optional<MiB> gpu_memory_peak;
};

enum class TaskPhase : std::uint8_t {
  kAbsent,    // the executor has nothing of that name
  kStarting,  // accepted, does not run yet
  kRunning,
  kEnded,     // and says how
  kVanished,  // it began and is no more, and nobody saw how it ended: lost
};
// What is known of how a launched task began. kLost: its node, of all nodes of its launch, lost it before it began.
// kNodeFailed: before it began a node of its launch failed, as the system itself says.
enum class TaskBegin : std::uint8_t { kUnknown, kBegan, kLost, kNodeFailed };
constexpr Seconds kBeginsWithin{120};  // so long after a task runs for its system it is asked whether it has begun
struct TaskObservation {
  TaskKey key;
  TaskPhase phase = TaskPhase::kAbsent;
  std::string external;
  std::string node;     // where it really runs; empty = as asked
  Seconds started{-1};  // -1 = not known
  Seconds ended{-1};
  std::int32_t exit_code = 0;     // of kEnded
  std::int32_t signal = 0;        // that ended it; 0 = none
  bool is_out_of_time = false;    // its time limit ended it
  bool is_out_of_memory = false;  // its memory limit ended it
  // It is known to have got a signal or a stop before it ended, of ours or by the cluster itself: where the state knows
  // of none, what it made of that is no end of its own.
  bool was_told = false;
  bool was_told_by_others = false;  // of kEnded: and not by us, as far as the executor can tell
  bool is_untold = false;           // of kEnded: for certain nobody had told it to end
  TaskBegin begin = TaskBegin::kUnknown;
  bool said_done = false;    // in its done file (see done_file.h), of kEnded and kVanished
  bool is_stuck = false;     // of kStarting: longer than is usual, `detail` says why
  bool may_wait = false;     // of kStarting: in a queue of the system's, which says itself when that is too long
  bool is_kept_out = false;  // of kStarting: the system keeps its node for something else
  TaskUse use;
  std::string detail;
  std::int64_t sequence = 0;  // of the launch, where the task was not asked about

  bool succeeded() const { return phase == TaskPhase::kEnded && exit_code == 0 && signal == 0 && !is_out_of_time; }
};

struct NodeObservation {
  std::string node;
  bool is_ready = true;
  bool is_cordoned = false;  // somebody else drains it
  std::string detail;
  bool has_our_cordon = false;  // by cordon(), of this database; never together with is_cordoned
  // Of one that is not ready: how long its system waits for it before it gives up what runs there.
  Seconds patience = {};
  // What the system has planned there for later begins then, and takes no task that may still run; -1 = nothing. One
  // without a time limit counts as if it had `usual_limit`.
  Seconds closes_at{-1};
  Seconds usual_limit{kNoLimit};
};

// Work on our nodes that is not ours: counted as used, never touched.
struct ForeignUse {
  std::string node;
  std::string what;  // "slurm job 812 of ann"
  MilliCpu cpu;
  MiB memory;
  std::int32_t gpu_count = 0;
  DeviceMask devices = 0;  // where it is known which; 0 = not known
};

struct Observation {
  std::vector<TaskObservation> tasks;          // one for each that was asked about, in that order
  std::vector<TaskObservation> unknown_tasks;  // with keys of this database, live, not asked about
  std::vector<NodeObservation> nodes;
  std::vector<ForeignUse> foreign;
};

struct StopRequest {
  std::vector<LiveTask> tasks;  // of one launch, all or some
  // Nothing = only this signal is sent, and they run on ("USR1": write a checkpoint); else they are told to end and,
  // `grace` later, made to.
  std::optional<Seconds> grace;
  std::string signal;  // sent first; empty = "TERM" where they are to end
  // Of a signal alone: what a task's first process leaves behind, as the script around a program that minds it, has so
  // long to heed it.
  Seconds lasts = {};
  // They were told to end before, their grace is over, and they still run. The earlier stop may have been lost.
  bool is_overdue = false;
};

struct InventoryNode {
  std::string name;
  MilliCpu cpu;
  MiB memory;
  std::int32_t devices = 0;
  std::string model;        // empty = no devices, or not known
  std::string model_from;   // what would say the model, where it is not known
  MiB device_memory;        // of each; 0 = not known
  std::string rack;         // or zone; empty = not known
  std::string pool;         // partition, node pool; empty = none
  std::string link_groups;  // see read_link_groups; empty = not known
  DeviceMask gone = 0;      // of its devices, those that do not answer any more; they keep their numbers
  bool is_ready = true;
  std::string detail;  // why it is not, or what else to know ("MIG on: device 2 left out")
};

enum class LogStream : std::uint8_t { kOutput, kError };

class Executor {
 public:
  virtual ~Executor() = default;
  // One answer for each, in order.
  virtual Result<std::vector<Delivery>> launch(std::span<const Launch> launches) = 0;
  virtual Result<std::vector<Delivery>> stop(std::span<const StopRequest> requests) = 0;
  // Of `nodes` (names; those whose pools use this executor) and of the tasks.
  virtual Result<Observation> observe(std::span<const LiveTask> tasks, std::span<const std::string> nodes) = 0;
  virtual Result<std::vector<InventoryNode>> inventory() = 0;
  // Bytes of what a task has written from `offset` on, at most `most`; empty at its present end.
  virtual Result<std::string> log(const LiveTask& task, LogStream stream, std::int64_t offset, std::int64_t most) = 0;
  // Whether there is a system behind the executor that could put anything on its nodes by itself.
  virtual bool has_cordons() const { return false; }
  // That system is to put nothing on these nodes either, or to go on. One answer for each, in order. A cordon of
  // somebody else is left as it is: kRefused where ours would replace it, kDone where ours was to be lifted.
  virtual Result<std::vector<Delivery>> cordon(std::span<const std::string> nodes, bool is_cordoned,
                                               const std::string& reason);
  // Its outcome is in the tables: what was kept only for observe() may go (logs stay).
  virtual Status forget(std::span<const LiveTask> tasks);
};

struct ExecutorOption {
  std::string_view name;
  std::string_view kind;  // "text", "path" (absolute), "file" (its path), "duration", "integer", "boolean"
  std::string_view default_value;
  std::string_view sentence;
  bool is_place = false;  // where its tasks are found: it stays as it is while one lives
};
using ExecutorOptions = std::map<std::string, std::string, std::less<>>;  // by name; all are there, checked by kind

struct ExecutorContext {
  std::string name;      // of the executor
  std::string database;  // tag: 6 to 12 lower case letters and digits, made with the database
  std::string folder;    // beside the database file, for what the executor keeps; made when missing
  std::string program;   // path of the berth binary, for what has to outlive this process
  const Env* env = nullptr;
};

struct ExecutorType {
  std::string_view name;
  std::string_view summary;
  std::span<const ExecutorOption> options;
  Result<std::unique_ptr<Executor>> (*make)(const ExecutorContext& context, const ExecutorOptions& options);
};
std::span<const ExecutorType> executor_types();
// kNotFound with the nearest name.
Result<const ExecutorType*> find_executor_type(std::string_view name);
// Those given and the defaults of the rest. kInvalid: an unknown name with the nearest one, a value of another kind.
Result<ExecutorOptions> read_executor_options(const ExecutorType& type, const ExecutorOptions& given);

}  // namespace berth
