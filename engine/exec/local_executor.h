// Runs tasks as processes of this machine, as the user that runs Berth.
//
// A launch starts supervisors (see supervisor.h), which outlive Berth; everything else reads what they have written in
// the executor's folder (see local_record.h), so any process can ask at any time. A launch is done once its tasks are
// claimed. A claimed task runs once or is lost, and its key never starts again while its record is kept: `keep` after
// it ended, logs and record go. Files that a task left in its own folder stay. Where a job names no directory that is
// the folder `work` beside its logs.
//
// One machine may stand for several nodes (`node` = "train[1-4]"), which then share its cores and memory evenly; GPUs
// it has then only if they are fake ones.
//
// Tasks get of Berth's own environment: PATH, HOME, USER, LOGNAME, SHELL, LANG, LC_ALL, TZ, TMPDIR; of their place:
// CUDA_VISIBLE_DEVICES (UUIDs of the GPUs that the last inventory found, indices before the first; empty without GPUs),
// BERTH_GPU_SHARE (milli-GPU of each device), BERTH_GPU_MEMORY_MIB, BERTH_CPUS, BERTH_MEMORY_MIB, BERTH_JOB,
// BERTH_JOB_NAME, BERTH_ATTEMPT, BERTH_TASK_GROUP, BERTH_TASK, BERTH_RANK, BERTH_GANG_SIZE, BERTH_PEERS (nodes by rank,
// commas between; empty when that is too long), BERTH_NODE, BERTH_DONE_FILE (see done_file.h); and the job's own
// variables, which win.
#pragma once

#include "engine/exec/executor.h"

namespace berth {

inline constexpr ExecutorOption kLocalExecutorOptions[] = {
    {"node", "text", "",
     "Name of the node that this machine is, or several ('n[1-4]'); empty = its host name at first.", true},
    {"folder", "path", "", "Where records and logs are kept; empty = beside the database.", true},
    {"fake_gpus", "integer", "0", "Devices a node claims to have, to try things out; 0 = those it really has."},
    {"fake_model", "text", "A100", "Model of those."},
    {"reserve_cpus", "text", "0", "Cores that are kept for others."},
    {"reserve_memory", "text", "0", "Memory that is kept for others."},
    {"limits", "text", "auto",
     "What holds a task to its share: cgroup, rlimit, none, or auto (cgroup where it can). Only a cgroup ends a "
     "process that has left its session and cleared its environment."},
    {"cgroup", "path", "", "Cgroup (version 2, delegated) to make those of tasks in; empty = this process's own."},
    {"stop_grace", "duration", "30s", "Between TERM and KILL when a task's time is up."},
    {"keep", "duration", "7d", "How long records and logs are kept after the end."},
    {"timeout", "duration", "10s", "How long to wait for a supervisor's answer."},
};

Result<std::unique_ptr<Executor>> make_local_executor(const ExecutorContext& context, const ExecutorOptions& options);

}  // namespace berth
