// Reasons as sentences with their numbers and what to do about them: what EXPLAIN, PLAN and errors share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/model/cluster.h"
#include "engine/model/plan.h"
#include "engine/round/explain.h"

namespace berth {

struct SaidReason {
  std::string sentence;
  std::string next_step;  // what would help; may be empty
};

// "not enough free devices": a reason as words, without numbers.
std::string_view reason_words(Reason reason);
// Of a reason that no waiting cures: the cluster has no such node.
bool is_permanent(Reason reason);
SaidReason say_permanent(Reason reason, const TaskShape& shape, const Cluster& cluster);
// Of a reason that holds on `failing` of the `eligible` nodes that could run the task when empty.
SaidReason say_passing(Reason reason, const TaskShape& shape, std::int32_t failing, std::int32_t eligible);

// "4 x A100 GPUs, 16 CPU, 64GiB": what one task asks for.
std::string describe_shape(const TaskShape& shape, const Cluster& cluster);
// "2 GPUs and 4 CPU"; empty when nothing is missing.
std::string describe_shortfall(const Shortfall& lacks);
// "A100 or H100".
std::string model_names(ModelSet models, const Cluster& cluster);
// "1 GPU", "8 GPUs"; "1 node".
std::string count_gpus(std::int64_t count);
std::string count_nodes(std::int64_t count);
// "16 A100", "1.5TiB", "12 CPU": an amount of a resource that has a quota.
std::string describe_amount(const QuotaResource& resource, std::int64_t amount);

}  // namespace berth
