// Gavel's jobs derived from Philly, and its throughput table.
//
//   jobs:        vc,arrival_s,job_type,num_gpu,total_steps
//   throughputs: {"v100": {"('ResNet-18 (batch size 16)', 1)": {"null": 32.35, ...}, ...}, ...}   steps a second
//                (TraceOptions::throughputs_file)
//
// A job is called after its row, "g000000" on; vc is the queue, job_type the tag. It runs total_steps at the speed of
// throughput_model alone; for a number of GPUs that the table lacks, the largest one below it, in proportion. Without a
// table the duration is not known. Jobs of more than node_devices GPUs become gangs as in philly.
#pragma once

#include "engine/sim/trace.h"

namespace berth {

Result<std::unique_ptr<JobReader>> open_gavel_jobs(const std::string& path, const TraceOptions& options);

}  // namespace berth
