// The typical workload: which task shapes come, and how often.
//
// Built once from a trace, or in a live round from the jobs of the recent past. The rule is FGD's (fgd.md section 4):
// count equal (cpu, gpu milli, gpu count, allowed models as written); most frequent first, ties by that tuple
// descending; keep the shortest prefix that covers 95 % of the tasks; popularity = (count / total) / (covered / total).
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "engine/model/snapshot.h"

namespace berth {

struct WorkloadTask {
  TaskShape shape;
  std::string_view models_text;  // as written: "A|B" and "B|A" are different shapes to FGD
  std::int64_t weight = 1;       // equal tasks may be given once
};

std::vector<WorkloadShape> typical_workload(std::span<const WorkloadTask> tasks);

}  // namespace berth
