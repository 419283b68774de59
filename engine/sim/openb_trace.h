// openb (Alibaba cluster-trace-gpu-v2023) as published.
//
// Nodes: sn,cpu_milli,memory_mib,gpu,model. Pods: name,cpu_milli,memory_mib,num_gpu,gpu_milli and, where the file has
// them, gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time. A pod is a job of one task. Submit is
// creation_time, or 0; duration is deletion_time - scheduled_time, or unknown for a pod that never ran. qos and
// pod_phase are not used. The trace does not say how much memory a device has (0 = not tracked).
#pragma once

#include "engine/sim/trace.h"

namespace berth {

Result<std::unique_ptr<NodeReader>> open_openb_nodes(const std::string& path, const TraceOptions& options);
Result<std::unique_ptr<JobReader>> open_openb_jobs(const std::string& path, const TraceOptions& options);

}  // namespace berth
