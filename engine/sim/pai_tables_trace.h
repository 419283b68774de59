// The tables of Alibaba's PAI trace (cluster-trace-gpu-v2020), with or without a header row.
//
//   job table:       job_name,inst_id,user,status,start_time,end_time
//   task table:      job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type
//   group tag table: inst_id,user,gpu_type_spec,group,workload
//
// The file named is the job table; the others are TraceOptions' tasks_file and tags_file, or lie beside it with
// "task_table" and "group_tag_table" in place of "job_table" in the name; without a tag table jobs have no tag. A job
// has a task group for each of its tasks, all of whose inst_num instances start together: plan_cpu is percent of a
// core, plan_gpu percent of a device (above 100 rounded up to whole devices), plan_mem GiB. It is submitted at its
// start_time, starts with its first task and runs to its end_time. gpu_type_spec is what it asks for; without a tag
// table, gpu_type, which is what it got. The job table streams; task and tag table are in memory.
#pragma once

#include "engine/sim/trace.h"

namespace berth {

Result<std::unique_ptr<JobReader>> open_pai2020_jobs(const std::string& path, const TraceOptions& options);

}  // namespace berth
