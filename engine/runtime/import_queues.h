// A site's Slurm accounts become queues: IMPORT QUEUES FROM SLURM.
//
// An account is a queue below its parent's, its shares the weight, its group limits (GrpTRES: cpu, mem, gres/gpu and
// gres/gpu:model) limits. Queues that are there already keep their place and get the weight and limits. What Berth has
// no word for - limits of users, numbers of jobs, QOS - is told, not guessed. All of it or nothing.
#pragma once

#include <string>
#include <vector>

#include "engine/runtime/runtime.h"

namespace berth {

struct QueueImport {
  std::int64_t created = 0;
  std::int64_t updated = 0;
  std::vector<std::string> left_out;  // "vision: at most 20 jobs at once"
};
// `file`: what sacctmgr printed; empty = it is asked now. kUnavailable when it cannot be.
Result<QueueImport> import_slurm_queues(Runtime& runtime, const std::string& file);

}  // namespace berth
