// Starts one task: a child in a session of its own that becomes /bin/sh -c with the task's command.
#pragma once

#include <sys/types.h>

#include <string>

#include "engine/exec/descriptor.h"
#include "engine/exec/local_limits.h"
#include "engine/exec/supervisor.h"

namespace berth {

struct StartedTask {
  // -1 = there is none, as the machine could not start it, and may do so later; one that could not become the task by
  // the job's own fault ends with exit code 127.
  pid_t process = -1;
  std::string problem;  // why the command does not run; empty = it does
};

// The caller's only thread is this one. The child writes its start to `record` as the last thing before it becomes the
// command, and is killed by the kernel if the caller dies before that. Returns once it runs or has failed.
StartedTask start_task(const SupervisedTask& task, const Descriptor& record, const TaskLimits& limits);

}  // namespace berth
