// Starts one task: a child in a session of its own that becomes /bin/sh -c with the task's command.
#pragma once

#include <sys/types.h>

#include <string>

#include "engine/exec/descriptor.h"
#include "engine/exec/local_limits.h"
#include "engine/exec/supervisor.h"

namespace berth {

struct StartedTask {
  pid_t process = -1;   // -1 = there is none; one that failed to become the task ends with exit code 127
  std::string problem;  // why the command does not run; empty = it does
  bool is_jobs =
      false;  // the job is to blame for that; else the machine, which may do better later: no process is left
};

// The caller's only thread is this one. The child writes its start to `record` as the last thing before it becomes the
// command, and is killed by the kernel if the caller dies before that. Returns once it runs or has failed.
StartedTask start_task(const SupervisedTask& task, const Descriptor& record, const TaskLimits& limits);

}  // namespace berth
