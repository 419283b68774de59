// Jobs and nodes of the Helios simulator (QSSF), whose virtual clusters share nothing.
//
//   jobs:      jobname,user,vc,gpu_num[,cpu_num,node_num],state,submit_time[,start_time,end_time],duration
//   nodes:     vc,nodes
//   estimates: jobname[,duration],priority        (TraceOptions::estimates_file)
//
// A job belongs to queue vc and may run in pool vc only, where the nodes of that virtual cluster are. It is placed as
// that simulator does: up to node_devices GPUs on one node; more as whole nodes (task group "whole") and what is left
// on one more ("rest"). `priority` of the estimates is how long the job was thought to run, seconds with noise, and
// becomes the estimate "given". submit_time is wall clock, read as UTC; state how the job ended.
#pragma once

#include "engine/sim/trace.h"

namespace berth {

Result<std::unique_ptr<NodeReader>> open_helios_nodes(const std::string& path, const TraceOptions& options);
Result<std::unique_ptr<JobReader>> open_helios_jobs(const std::string& path, const TraceOptions& options);

}  // namespace berth
