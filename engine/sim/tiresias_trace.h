// Jobs and clusters of the Tiresias simulator.
//
//   jobs:  job_id,num_gpu,submit_time,iterations,model_name,duration,interval
//   nodes: num_switch,num_node_p_switch,num_gpu_p_node,num_cpu_p_node,mem_p_node
//
// That simulator counts GPUs, wherever they are: a job is a gang of num_gpu tasks of one GPU. The trained model is its
// tag; iterations and interval (since the job before) are not used. A cluster is one row or more; a switch is a rack,
// its nodes "s1-n001" on; mem_p_node is GiB.
#pragma once

#include "engine/sim/trace.h"

namespace berth {

Result<std::unique_ptr<NodeReader>> open_tiresias_nodes(const std::string& path, const TraceOptions& options);
Result<std::unique_ptr<JobReader>> open_tiresias_jobs(const std::string& path, const TraceOptions& options);

}  // namespace berth
