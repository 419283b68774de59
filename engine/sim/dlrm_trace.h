// Instances of recommendation services (Alibaba cluster-trace-gpu-v2025, disaggregated_DLRM_trace.csv).
//
//   instance_sn,role,app_name,cpu_request,cpu_limit,gpu_request,gpu_limit,rdma_request,rdma_limit,memory_request,
//   memory_limit,disk_request,disk_limit,max_instance_per_node,creation_time,scheduled_time,deletion_time
//
// An instance is a job of one task with what it requests: cores, GPUs, GiB. Its service is the queue, service and role
// the tag ("app_0 CN"). Seconds count from the start of the trace: one created before is submitted at 0; one not yet
// deleted at the end has no duration. Network, disk and the limit of instances a node are not used.
#pragma once

#include "engine/sim/trace.h"

namespace berth {

Result<std::unique_ptr<JobReader>> open_dlrm_jobs(const std::string& path, const TraceOptions& options);

}  // namespace berth
