// Jobs of Alibaba's PAI simulator, and the machine list of PAI 2020.
//
//   jobs:  job_id,num_inst,user,submit_time,num_cpu,num_gpu,gpu_type,duration[,wait_time,user_dur,group_dur,
//          group_gpu_dur,group]
//   nodes: machine,gpu_type,cap_cpu,cap_mem_gb,cap_gpu
//
// A job is a gang of num_inst tasks with num_cpu cores and num_gpu devices each (a fraction, or whole ones); memory is
// not given. It may run on devices of gpu_type only (CPU = none asked for). wait_time makes the start; group is its
// tag. The
// *_dur columns become the estimates "user", "group" and "group_gpu".
#pragma once

#include "engine/sim/trace.h"

namespace berth {

Result<std::unique_ptr<NodeReader>> open_pai_nodes(const std::string& path, const TraceOptions& options);
Result<std::unique_ptr<JobReader>> open_pai_sim_jobs(const std::string& path, const TraceOptions& options);

}  // namespace berth
