// Reasons as sentences with their numbers and what to do about them: what EXPLAIN, PLAN and errors share.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/model/cluster.h"
#include "engine/model/plan.h"
#include "engine/round/explain.h"
#include "engine/runtime/remedy.h"

namespace berth {

struct SaidReason {
  std::string sentence;
  std::string next_step;          // "wait for running jobs to end"; may be empty
  Remedy remedy = Remedy::kNone;  // what else might start it, to be proved first
  Remedy or_remedy = Remedy::kNone;
  RemedyAim about = {};          // of remedies that change the terms of a queue
  std::string about_queue = {};  // its name
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
// Whom an eviction makes room for, as the view eviction_log has it: the name of a job, or "loan 3", which is returned.
template <std::invocable<std::int64_t> NameOfJob>
std::string beneficiary_words(const Eviction& eviction, NameOfJob&& name_of_job) {
  if (eviction.rule == EvictionRule::kLoan) return fmt::format("loan {}", eviction.beneficiary);
  return name_of_job(eviction.beneficiary);
}
// Why these victims and no others: "which loses least of the jobs that run beyond the quota of their queue".
// "loses least among 4 that the rule allows"; empty = not known.
std::string why_victim_words(VictimChoiceReason why, std::int64_t candidates);
std::string victim_choice_words(const Snapshot& snapshot, const Eviction& eviction);
// "1 GPU", "8 GPUs"; "1 node".
std::string count_gpus(std::int64_t count);
std::string count_nodes(std::int64_t count);
// "16 A100", "1.5TiB", "12 CPU": an amount of a resource that has a quota.
std::string describe_amount(const QuotaResource& resource, std::int64_t amount);

}  // namespace berth
