// The Philly job list (Microsoft, 2017) and the node counts of its virtual clusters.
//
//   jobs:  timestamp,duration,num_gpus[,gpu_time],cluster
//   nodes: vc,node num
//
// A job is called after its row, "j000000" on; timestamps are wall clock without a zone and read as UTC; the rows are
// not sorted. `cluster` is the queue, always text: 6214e9 is a name. The list says nothing of CPU, memory, users and
// outcomes. A job of up to node_devices GPUs is one task, a larger one a gang of tasks of devices_per_task
// (TraceOptions), kept on few nodes if possible. A virtual cluster's nodes form a pool of its name, with node_devices
// devices each; their CPU, memory and model are not published (8 cores and 64 GiB a device, as its simulators take it).
#pragma once

#include "engine/sim/trace.h"

namespace berth {

Result<std::unique_ptr<NodeReader>> open_philly_nodes(const std::string& path, const TraceOptions& options);
Result<std::unique_ptr<JobReader>> open_philly_jobs(const std::string& path, const TraceOptions& options);

}  // namespace berth
