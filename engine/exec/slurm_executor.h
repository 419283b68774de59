// Slurm as an executor: Berth decides where, Slurm starts, watches and ends.
//
// Each launch is one Slurm job on exactly the nodes that were planned (slurm_script.h), submitted at most once
// (slurm_submit.h) and run at most once (the claim in its folder, slurm_records.h). Observing costs one squeue and one
// sinfo for everything; the folders of single jobs are read only when something has happened to them. Fields that no
// option names are Slurm's own affair: give the partition no time limit of its own and no other users.
//
// Stopping goes through the script: a line in `control`, then SIGCONT by scancel, upon which the script signals the
// tasks that are meant and kills them when the grace is over; Slurm's KillWait has no part in it. A launch that has not
// started is stopped by taking its claim.
//
// Not done: jobs run as the account that runs Berth; device numbers are Slurm's choice; parts of a device only through
// Slurm's shards (option shards_per_device), and then one device for each node of a launch.
#pragma once

#include "engine/exec/executor.h"

namespace berth {

inline constexpr ExecutorOption kSlurmExecutorOptions[] = {
    {"partition", "text", "", "The partition to submit to, and of whose nodes to ask; empty = Slurm's default one."},
    {"shared_folder", "path", "", "A folder that this machine and the nodes see; empty = the executor's own.", true},
    {"conf", "file", "", "Path of slurm.conf; empty = SLURM_CONF, or the system's.", true},
    {"poll_interval", "duration", "1s", "Slurm is asked for its jobs and nodes no more often than this."},
    {"pending_limit", "duration", "60s", "A job that waits in Slurm's own queue for longer is reported."},
    {"timeout", "duration", "30s", "How long a call may take."},
    {"parallel", "integer", "4", "Submissions at a time."},
    {"shards_per_device", "integer", "0", "Slurm's shards of each device; 0 = the site has none."},
    {"kill_wait", "duration", "10s", "Between TERM and KILL when a time limit ends a task."},
    {"pilot", "boolean", "false", "Launches are steps of jobs that hold the nodes already: they start within 0.2 s.",
     true},
    {"submit_arguments", "text", "", "Further arguments of sbatch: \"--account=ml --qos=high\"."},
};

Result<std::unique_ptr<Executor>> make_slurm_executor(const ExecutorContext& context, const ExecutorOptions& options);

}  // namespace berth
