#include "engine/policy/registry.h"

#include <fmt/format.h>

#include <array>

#include "engine/base/text.h"
#include "engine/policy/berth_score.h"
#include "engine/policy/best_fit_score.h"
#include "engine/policy/dot_product_score.h"
#include "engine/policy/drf_order.h"
#include "engine/policy/fair_share_order.h"
#include "engine/policy/fgd_score.h"
#include "engine/policy/fifo_order.h"
#include "engine/policy/gpu_clustering_score.h"
#include "engine/policy/gpu_packing_score.h"
#include "engine/policy/histogram_rightsizing.h"
#include "engine/policy/las_order.h"
#include "engine/policy/least_work_order.h"
#include "engine/policy/priority_order.h"
#include "engine/policy/qssf_order.h"
#include "engine/policy/random_score.h"
#include "engine/policy/reserving_packing_score.h"
#include "engine/policy/sjf_order.h"
#include "engine/policy/smallest_first_order.h"
#include "engine/policy/worst_fit_score.h"
#include "engine/policy/wpai_order.h"
#include "engine/policy/wpai_rightsizing.h"

namespace berth {

namespace {

template <class Policy>
std::unique_ptr<QueueOrder> make_plain_order() {
  return std::make_unique<Policy>();
}

template <class Policy>
std::unique_ptr<NodeScore> make_plain_score(const ScoreInput&) {
  return std::make_unique<Policy>();
}

PolicyRow order_row(std::string_view name, std::string_view summary, std::string_view source,
                    std::unique_ptr<QueueOrder> (*make)()) {
  return {.kind = PolicyKind::kOrder, .name = name, .summary = summary, .source = source, .make_order = make};
}

PolicyRow score_row(std::string_view name, std::string_view summary, std::string_view source,
                    std::unique_ptr<NodeScore> (*make)(const ScoreInput&)) {
  return {.kind = PolicyKind::kScore, .name = name, .summary = summary, .source = source, .make_score = make};
}

template <class Policy>
PolicyRow rightsize_row(std::string_view name, std::string_view summary, std::string_view source) {
  return {.kind = PolicyKind::kRightsize,
          .name = name,
          .summary = summary,
          .source = source,
          .make_rightsize = [](const RightsizeKnobs& knobs) -> std::unique_ptr<RightsizePolicy> {
            return std::make_unique<Policy>(knobs);
          }};
}

const PolicyRow* find_policy(PolicyKind kind, std::string_view name) {
  for (const PolicyRow& row : all_policies()) {
    if (row.kind == kind && equals_ignoring_case(row.name, name)) return &row;
  }
  return nullptr;
}

Status no_such_policy(PolicyKind kind, std::string_view name) {
  std::vector<std::string> names;
  for (const PolicyRow& row : all_policies()) {
    if (row.kind == kind) names.emplace_back(row.name);
  }
  std::string hint = suggest(name, names);
  if (hint.empty()) hint = "known: " + join(names, ", ");
  return Status(Code::kNotFound, fmt::format("no {} policy named '{}'", policy_kind_name(kind), name), std::move(hint))
      .about("policy", name);
}

Status nobody_makes(std::string_view name) {
  return Status(Code::kInternal, fmt::format("policy '{}' is a script, and nobody here can run it", name));
}

}  // namespace

std::string_view policy_kind_name(PolicyKind kind) {
  switch (kind) {
    case PolicyKind::kOrder: return "order";
    case PolicyKind::kScore: return "score";
    case PolicyKind::kRightsize: return "rightsize";
    case PolicyKind::kFilter: return "filter";
    case PolicyKind::kVictim: return "victim";
    case PolicyKind::kAdmit: return "admit";
  }
  return "";
}

std::span<const PolicyRow> all_policies() {
  static const std::array rows{
      order_row("priority", "Higher priority class first; every aging interval waited counts as one class value.",
                "Berth", make_plain_order<PriorityOrder>),
      order_row("fifo", "First submitted, first tried.", "Berth", make_plain_order<FifoOrder>),
      order_row("smallest_first", "The job that asks for the least GPU first, then the least CPU.", "Berth",
                make_plain_order<SmallestFirstOrder>),
      order_row("fair_share", "Quota first, then the surplus by priority band and weight over the queue tree.",
                "KAI-Scheduler", make_plain_order<FairShareOrder>),
      order_row("drf", "The queue with the smallest dominant share of CPU, memory and GPU first, over the queue tree.",
                "Ghodsi et al., NSDI'11; Bhattacharya et al., SoCC'13", make_plain_order<DrfOrder>),
      order_row("wpai", "Jobs within their department's own quota far before those that borrow; waiting counts.",
                "58.com WPAI", make_plain_order<WpaiOrder>),
      order_row("sjf", "The job that is expected to run shortest first.", "Weng et al., MLaaS in the Wild, NSDI'22",
                make_plain_order<SjfOrder>),
      order_row("least_work", "The job with the least expected run time x GPUs first.",
                "Gu et al., Tiresias, NSDI'19; Hu et al., Helios, SC'21", make_plain_order<LeastWorkOrder>),
      order_row("qssf", "As least_work; jobs that came this very second by GPUs, unless older ones wait.",
                "Hu et al., Helios, SC'21, artifact", make_plain_order<QssfOrder>),
      order_row(
          "las",
          "The job that has had the least service so far first, in levels: one that was evicted waits while newer "
          "ones come.",
          "Gu et al., Tiresias, NSDI'19", make_plain_order<LasOrder>),

      score_row(
          "berth", "The placement after which the cluster is worth most for the tasks to come, by shadow prices.",
          "Berth",
          [](const ScoreInput& input) -> std::unique_ptr<NodeScore> { return std::make_unique<BerthScore>(input); }),
      score_row("best_fit", "The node on which the least CPU and GPU are left over.", "FGD artifact (ATC'23)",
                make_plain_score<BestFitScore>),
      score_row("dot_product", "The node whose free amounts are least aligned with the task.", "FGD artifact (ATC'23)",
                make_plain_score<DotProductScore>),
      score_row(
          "fgd", "The placement that lowers fragmentation for the typical workload the most.",
          "Weng et al., Beware of Fragmentation, ATC'23",
          [](const ScoreInput& input) -> std::unique_ptr<NodeScore> { return std::make_unique<FgdScore>(input); }),
      score_row("gpu_clustering", "Tasks of the same GPU demand together.", "FGD artifact (ATC'23), after Gandiva",
                make_plain_score<GpuClusteringScore>),
      score_row("gpu_packing", "Shared devices first, then free devices of nodes in use, then empty nodes.",
                "FGD artifact (ATC'23)", make_plain_score<GpuPackingScore>),
      score_row("random", "Any feasible node with equal chance, from the seed.", "Berth",
                [](const ScoreInput& input) -> std::unique_ptr<NodeScore> {
                  return std::make_unique<RandomScore>(input.seed);
                }),
      score_row("reserving_packing", "High-GPU tasks on the advanced device models, the rest packed on the others.",
                "Weng et al., MLaaS in the Wild, NSDI'22",
                [](const ScoreInput& input) -> std::unique_ptr<NodeScore> {
                  return std::make_unique<ReservingPackingScore>(*input.cluster);
                }),
      score_row("worst_fit", "The node with the lowest mean of CPU, memory and GPU allocation.", "Berth",
                make_plain_score<WorstFitScore>),

      rightsize_row<HistogramRightsizing>("histogram",
                                          "A percentile of what past runs used, old runs counting less, and a margin.",
                                          "after Autopilot (EuroSys'20) and the Vertical Pod Autoscaler"),
      rightsize_row<WpaiRightsizing>(
          "wpai", "Last runs' GPU utilisation, half of their CPU use; two published variants.", "58.com WPAI"),
  };
  return rows;
}

Result<std::unique_ptr<QueueOrder>> make_order(std::string_view name) {
  const PolicyRow* row = find_policy(PolicyKind::kOrder, name);
  if (row == nullptr) return no_such_policy(PolicyKind::kOrder, name);
  return row->make_order();
}

Result<std::unique_ptr<NodeScore>> make_score(std::string_view name, const ScoreInput& input) {
  const PolicyRow* row = find_policy(PolicyKind::kScore, name);
  if (row == nullptr) return no_such_policy(PolicyKind::kScore, name);
  return row->make_score(input);
}

Result<std::unique_ptr<QueueOrder>> make_order(std::string_view name, const ScriptPolicies& scripts) {
  const ScriptPolicy* const script = scripts.find(name);
  if (script == nullptr) return make_order(name);
  if (scripts.maker == nullptr) return nobody_makes(name);
  return scripts.maker->make_order(*script);
}

Result<std::unique_ptr<NodeScore>> make_score(std::string_view name, const ScoreInput& input,
                                              const ScriptPolicies& scripts) {
  const ScriptPolicy* const script = scripts.find(name);
  if (script == nullptr) return make_score(name, input);
  if (scripts.maker == nullptr) return nobody_makes(name);
  return scripts.maker->make_score(*script, input);
}

Result<std::unique_ptr<NodeScore>> score_of(const Snapshot& snapshot) {
  const ScoreInput input{.cluster = &snapshot.cluster, .workload = snapshot.workload, .seed = snapshot.seed};
  BERTH_ASSIGN(std::unique_ptr<NodeScore> score, make_score(snapshot.score_policy, input, snapshot.scripts));
  if (snapshot.filter_policy.empty()) return score;
  const ScriptPolicy* const filter = snapshot.scripts.find(snapshot.filter_policy);
  if (filter == nullptr || snapshot.scripts.maker == nullptr) return nobody_makes(snapshot.filter_policy);
  return snapshot.scripts.maker->make_filter(*filter, input, std::move(score));
}

Result<std::unique_ptr<VictimCost>> victim_cost_of(const Snapshot& snapshot) {
  if (snapshot.victim_policy.empty()) return std::unique_ptr<VictimCost>();
  const ScriptPolicy* const script = snapshot.scripts.find(snapshot.victim_policy);
  if (script == nullptr || snapshot.scripts.maker == nullptr) return nobody_makes(snapshot.victim_policy);
  return snapshot.scripts.maker->make_victim_cost(*script);
}

Result<std::unique_ptr<RightsizePolicy>> make_rightsize(std::string_view name, const RightsizeKnobs& knobs) {
  const PolicyRow* row = find_policy(PolicyKind::kRightsize, name);
  if (row == nullptr) return no_such_policy(PolicyKind::kRightsize, name);
  return row->make_rightsize(knobs);
}

Status check_policy_name(PolicyKind kind, std::string_view name) {
  return find_policy(kind, name) != nullptr ? Status() : no_such_policy(kind, name);
}

}  // namespace berth
