// Berth's own CSV for nodes and jobs: read and written, amounts as people write them ("0.5", "40GiB", "90m").
//
//   nodes: name,cpu,memory[,devices,model,device_memory,rack,pool,link_groups]
//   jobs:
//   name,submit,cpu,memory[,duration,queue,priority,user,group,tasks,min_tasks,gpus,gpu_memory,models,pool,locality]
//
// gpus is "2" whole devices or "0.5" of one. models is "A|B". locality is any, rack, node or link_group, with "
// preferred" after it when it may be given up. tasks defaults to 1, min_tasks to tasks. A job with several task groups
// has one row a group, one after the other, with the same name and different `group`; what belongs to the job (submit,
// duration, queue, priority, user) must be equal or empty in the later rows.
#pragma once

#include <span>
#include <string>

#include "engine/sim/trace.h"

namespace berth {

Result<std::unique_ptr<NodeReader>> open_berth_nodes(const std::string& path, const TraceOptions& options);
Result<std::unique_ptr<JobReader>> open_berth_jobs(const std::string& path, const TraceOptions& options);

// The files' text; reading it gives the same records back.
std::string berth_nodes_csv(std::span<const TraceNode> nodes);
std::string berth_jobs_csv(std::span<const TraceJob> jobs);

}  // namespace berth
