// A job described in a JSON file: what SUBMIT JOB FROM reads.
//
//   {"name": "bert", "queue": "nlp", "priority": "urgent", "user": "ann", "time_limit": "12h", "held": false,
//    "groups": [{"name": "worker", "tasks": 8, "min_tasks": 4, "gpus": 4, "gpu_memory": "40GiB", "cpu": 16, "memory":
//    "64GiB",
//                "models": ["A100", "H100"], "pool": "train", "locality": "rack", "locality_required": false}]}
//
// A job of one group may have the group's keys at the top instead. Amounts are numbers or text as in statements. An
// unknown key, a wrong type or a missing key is an error that names the key and the nearest one.
#pragma once

#include <string>
#include <string_view>

#include "engine/store/job_records.h"

namespace berth {

Result<JobRequest> read_job_json(std::string_view json);
// At most 1 MiB is read; errors begin with the file's name.
Result<JobRequest> read_job_file(const std::string& path);

}  // namespace berth
