#include "engine/round/quota_placing.h"

#include <algorithm>
#include <utility>

namespace berth {

namespace {

// False: none of the models that some group may use is left.
bool leave_out_models(Job& job, ModelSet models, std::size_t model_count) {
  const ModelSet all = model_count >= 64 ? ~ModelSet{0} : (ModelSet{1} << model_count) - 1;
  bool some_left = true;
  for (TaskGroup& group : job.groups) {
    if (group.shape.gpu_count == 0) continue;
    const ModelSet left = (group.shape.models == 0 ? all : group.shape.models) & ~models;
    some_left = some_left && left != 0;
    group.shape.models = left;
  }
  return some_left;
}

// The job with as many surplus tasks as its quota takes.
Job within_quota(const QuotaLedger& quotas, const Job& job, int levels) {
  Job wanted = job;
  Amounts demand = quotas.demand_to_start(job);
  for (TaskGroup& group : wanted.groups) {
    std::int32_t tasks = std::max(group.min_tasks, group.placed);
    Amounts one_more = demand;
    for (; tasks < group.count; ++tasks) {
      quotas.add_demand(group.shape, 1, one_more);
      if (!quotas.judge(job.queue, one_more).within(levels)) break;
      demand = one_more;
    }
    group.count = tasks;
  }
  return wanted;
}

// With half as many surplus tasks; false: it has none.
bool ask_for_less(Job& job) {
  bool asks_for_less = false;
  for (TaskGroup& group : job.groups) {
    const std::int32_t least = std::max(group.min_tasks, group.placed);
    asks_for_less = asks_for_less || group.count > least;
    group.count = least + (group.count - least) / 2;
  }
  return asks_for_less;
}

// Without as many surplus tasks as use what the placement uses too much of; false: nothing would be left to place.
bool ask_without_excess(const QuotaLedger& quotas, const QuotaVerdict& refusal, std::span<const PlacedTask> placed,
                        Job& job) {
  std::int64_t of_one = 0;
  for (const PlacedTask& task : placed) {
    Amounts held = quotas.none();
    quotas.add_holding(task.holding, held);
    of_one = std::max(of_one, held[static_cast<std::size_t>(refusal.resource)]);
  }
  if (of_one == 0) return false;
  std::int64_t excess = (refusal.short_by + of_one - 1) / of_one;
  bool places_some = false;
  bool has_surplus = false;
  for (auto group = job.groups.rbegin(); group != job.groups.rend(); ++group) {
    const std::int32_t least = std::max(group->min_tasks, group->placed);
    const auto fewer = static_cast<std::int32_t>(std::min<std::int64_t>(excess, group->count - least));
    has_surplus = has_surplus || fewer > 0;
    group->count -= std::max(0, fewer);
    excess -= std::max(0, fewer);
    places_some = places_some || group->count > group->placed;
  }
  return has_surplus && places_some;
}

}  // namespace

QuotaPlacing place_within_quota(const QuotaLedger& quotas, Ledger& ledger, const Job& job, Seconds end,
                                const std::function<JobOutcome(const Job&)>& place, int levels) {
  QuotaPlacing result;
  if (!quotas.governs() || job.queue < 0) {
    result.outcome = place(job);
    return result;
  }
  Job wanted = within_quota(quotas, job, levels);
  Job in_full = wanted;  // on the models that are left
  for (;;) {
    const Ledger::Checkpoint before = ledger.checkpoint();
    result.outcome = place(wanted);
    if (!result.outcome.started) return result;
    Amounts taken = quotas.none();
    for (const PlacedTask& task : result.outcome.placed) quotas.add_holding(task.holding, taken);
    result.verdict = quotas.judge(job.queue, taken, end);
    if (result.verdict.within(levels)) return result;
    ledger.rollback(before);
    const std::vector<PlacedTask> placed = std::exchange(result.outcome.placed, {});
    result.outcome.started = false;
    const bool is_refused = !result.verdict.admitted();
    if (is_refused ? ask_without_excess(quotas, result.verdict, placed, wanted) : ask_for_less(wanted)) continue;
    if (is_refused) wanted = in_full;
    const std::int32_t short_of = is_refused ? result.verdict.resource : result.verdict.borrowed;
    const ModelSet used_up = quotas.resource(static_cast<std::size_t>(short_of)).models;
    if (used_up == 0 || !leave_out_models(wanted, used_up, ledger.cluster().models.size())) {
      result.narrowed = false;
      return result;
    }
    result.narrowed = true;
    in_full = wanted;
  }
}

std::optional<Job> on_own_models(const QuotaLedger& quotas, const Job& job, Seconds end, int levels) {
  Job own = job;
  const ModelSet here = quotas.models_within(job.queue, 0);
  const ModelSet models = quotas.models_within(job.queue, levels);
  for (TaskGroup& group : own.groups) {
    if (group.shape.gpu_count == 0 || group.placed == group.count) continue;
    const ModelSet allowed = group.shape.models == 0 ? here : group.shape.models & here;
    if ((allowed & models) == 0) return std::nullopt;
    if ((allowed & ~models) != 0) group.shape.models = allowed & models;
  }
  if (!quotas.judge(job.queue, quotas.demand_to_start(own), end).within(levels)) return std::nullopt;
  return own;
}

}  // namespace berth
