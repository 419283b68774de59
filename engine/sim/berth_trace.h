// Berth's own CSV for nodes and jobs: read and written, amounts as people write them ("0.5", "40GiB", "90m").
//
//   nodes: name,cpu,memory[,devices,model,device_memory,rack,pool,link_groups,type,labels,unhealthy,drain,state,
//   speed,price,family]
//   jobs:
//   name,submit,cpu,memory[,duration,queue,priority,user,group,tasks,min_tasks,gpus,gpu_memory,models,pool,locality,
//   tag,start,outcome,time_limit,estimates,
//   cpu_used_mean,cpu_used_peak,memory_peak,gpu_utilisation_mean,gpu_memory_peak,
//   preemptible,checkpoint_every,checkpoint_grace,restart_cost,min_runtime,after,
//   command,directory,env,image,checkpoint_signal,retries,held,allow_infeasible]
//
// Of nodes: labels is a JSON object of texts, unhealthy the numbers of devices ("0 3"), drain the reason of one that is
// drained. state is up, down, booting, draining or drained; empty = up, or as `drain` says. speed, price (of a borrowed
// GPU-hour) and family are those of the device model; a row without a speed does not describe its model.
//
// gpus is "2" whole devices or "0.5" of one. models is "A|B". locality is any, rack, node or link_group, with "
// preferred" after it when it may be given up. tasks defaults to 1, min_tasks to tasks. A job with several task groups
// has one row a group, one after the other, with the same name and different `group`; what belongs to the job (submit,
// duration, queue, priority, user, tag, start, outcome, time_limit, estimates, and the last line of columns) must be
// equal or empty in the later rows.
//
// The last line of columns is what SUBMIT JOB knows by the same names: preemptible is yes or no (also true or false),
// after is "prep|clean", jobs that must finish first: earlier ones of the file, or known already; a backslash stands
// before a '|' or backslash of a name. env is a JSON object of texts. SIMULATE starts nothing and has no dependencies:
// there `after` and what comes behind it is read and does nothing.
//
// The second and third line of columns are for jobs that ran: outcome is finished, failed or cancelled; estimates are
// "user=90 group=75.5", in seconds; what one task of the group used: cores, memory, how busy each device was ("0.042")
// and memory of each device. These and the last are written only where a job has them.
#pragma once

#include <span>
#include <string>

#include "engine/sim/trace.h"

namespace berth {

Result<std::unique_ptr<NodeReader>> open_berth_nodes(const std::string& path, const TraceOptions& options);
Result<std::unique_ptr<JobReader>> open_berth_jobs(const std::string& path, const TraceOptions& options);

// The files' text a job at a time, for files that should not be in memory as a whole.
class BerthJobsWriter {
 public:
  // `jobs` decide which of the optional columns the file has: those that one of them fills.
  explicit BerthJobsWriter(std::span<const TraceJob> jobs);
  std::string header() const;
  void append(std::string& text, const TraceJob& job) const;

 private:
  bool has_history_ = false;
  bool has_terms_ = false;
  bool has_work_ = false;
  bool has_usage_ = false;
};

// The files' text; reading it gives the same records back.
std::string berth_nodes_csv(std::span<const TraceNode> nodes);
std::string berth_jobs_csv(std::span<const TraceJob> jobs);

}  // namespace berth
