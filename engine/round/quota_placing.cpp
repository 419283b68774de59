#include "engine/round/quota_placing.h"

#include <algorithm>
#include <utility>

namespace berth {

namespace {

// What the shape may use but for `models`.
ModelSet models_left(const TaskShape& shape, ModelSet models, std::size_t model_count) {
  const ModelSet all = model_count >= 64 ? ~ModelSet{0} : (ModelSet{1} << model_count) - 1;
  return (shape.models == 0 ? all : shape.models) & ~models;
}

// False: none of the models that some group may use is left.
bool leave_out_models(Job& job, ModelSet models, std::size_t model_count) {
  bool some_left = true;
  for (TaskGroup& group : job.groups) {
    if (group.shape.gpu_count == 0) continue;
    group.shape.models = models_left(group.shape, models, model_count);
    some_left = some_left && group.shape.models != 0;
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

// What a placement uses too much of.
struct Excess {
  std::size_t resource = 0;
  std::int64_t amount = 0;
};

Excess excess_of(const QuotaVerdict& verdict) {
  if (verdict.admitted()) return {static_cast<std::size_t>(verdict.borrowed), verdict.borrowed_by};
  return {static_cast<std::size_t>(verdict.resource), verdict.short_by};
}

// So many tasks placed use that.
std::int64_t tasks_too_many(const QuotaLedger& quotas, const Excess& excess, std::span<const PlacedTask> placed) {
  std::int64_t of_one = 0;
  for (const PlacedTask& task : placed) {
    Amounts held = quotas.none();
    quotas.add_holding(task.holding, held);
    of_one = std::max(of_one, held[excess.resource]);
  }
  return of_one == 0 ? 0 : (excess.amount + of_one - 1) / of_one;
}

// Without that many of its surplus tasks; false: nothing would be left to place.
bool ask_without_surplus(Job& job, std::int64_t too_many) {
  bool places_some = false;
  bool has_surplus = false;
  for (auto group = job.groups.rbegin(); group != job.groups.rend(); ++group) {
    const std::int32_t least = std::max(group->min_tasks, group->placed);
    const auto fewer = static_cast<std::int32_t>(std::min<std::int64_t>(too_many, group->count - least));
    has_surplus = has_surplus || fewer > 0;
    group->count -= std::max(0, fewer);
    too_many -= std::max(0, fewer);
    places_some = places_some || group->count > group->placed;
  }
  return has_surplus && places_some;
}

// Tasks that use none of these models.
struct KeptOff {
  ModelSet models = 0;
  std::int64_t tasks = 0;
  int times = 0;  // raised
};

constexpr int kTimesByExcess = 8;  // then they double

// How many tasks of the group may do without the models.
std::int32_t divisible_tasks(const TaskGroup& group, ModelSet models, std::size_t model_count) {
  const bool lies_anywhere = group.locality == Locality::kAny || !group.locality_required;
  const bool may_divide = group.shape.gpu_count > 0 && lies_anywhere;
  return may_divide && models_left(group.shape, models, model_count) != 0 ? group.count - group.placed : 0;
}

// So many more tasks keep off the models; false: no more of them can.
bool keep_more_off(std::vector<KeptOff>& all, const Job& job, ModelSet models, std::size_t model_count,
                   std::int64_t more) {
  std::int64_t most = 0;
  for (const TaskGroup& group : job.groups) most += divisible_tasks(group, models, model_count);
  auto kept = std::ranges::find(all, models, &KeptOff::models);
  if (kept == all.end()) kept = all.insert(all.end(), KeptOff{.models = models});
  if (more <= 0 || kept->tasks >= most) {
    all.erase(kept);
    return false;
  }
  kept->tasks = std::min(most, kept->tasks + (++kept->times > kTimesByExcess ? std::max(more, kept->tasks) : more));
  return true;
}

// Those that keep off models are placed first, the rest of the job after them.
JobOutcome place_in_parts(Ledger& ledger, const Job& job, std::span<const KeptOff> kept_off, const TryPlacing& place) {
  if (kept_off.empty()) return place(job, false);
  const std::size_t model_count = ledger.cluster().models.size();
  const Ledger::Checkpoint before = ledger.checkpoint();
  Job rest = job;
  std::vector<PlacedTask> placed;
  JobOutcome outcome;
  const auto add_part = [&](const Job& part) {
    outcome = place(part, true);
    if (!outcome.started) return false;
    for (const PlacedTask& task : outcome.placed) {
      TaskGroup& group = rest.groups[static_cast<std::size_t>(task.group)];
      ++group.placed;
      placed.push_back(task);
    }
    return true;
  };
  const auto lacks = [](const TaskGroup& group) { return group.placed < group.min_tasks; };
  bool is_placed = true;
  for (const KeptOff& off : kept_off) {
    Job part = rest;
    std::int64_t left = off.tasks;
    for (std::size_t g = part.groups.size(); g-- > 0;) {
      TaskGroup& group = part.groups[g];
      const auto tasks =
          static_cast<std::int32_t>(std::min<std::int64_t>(left, divisible_tasks(group, off.models, model_count)));
      if (tasks > 0) group.shape.models = models_left(group.shape, off.models, model_count);
      group.count = group.min_tasks = group.placed + tasks;
      left -= tasks;
    }
    is_placed = is_placed && (left == off.tasks || add_part(part));
  }
  const bool has_rest =
      std::ranges::any_of(rest.groups, [](const TaskGroup& group) { return group.placed < group.count; });
  // What is surplus may be missing.
  if (is_placed && has_rest) is_placed = add_part(rest) || !std::ranges::any_of(rest.groups, lacks);
  if (!is_placed) {
    ledger.rollback(before);
    const auto group = static_cast<std::size_t>(outcome.group);
    outcome.fits += rest.groups[group].placed - job.groups[group].placed;
    outcome.needed = std::max(0, job.groups[group].min_tasks - job.groups[group].placed);
    if (outcome.fits > 0 && outcome.reason == Reason::kNone) outcome.reason = Reason::kGang;
    return outcome;
  }
  outcome = {};
  outcome.started = true;
  outcome.placed = std::move(placed);
  return outcome;
}

}  // namespace

QuotaPlacing place_within_quota(const QuotaLedger& quotas, Ledger& ledger, const Job& job, Seconds end,
                                const TryPlacing& place, int levels) {
  QuotaPlacing result;
  if (!quotas.governs() || job.queue < 0) {
    result.outcome = place(job, false);
    return result;
  }
  Job wanted = within_quota(quotas, job, levels);
  Job in_full = wanted;  // on the models that are left
  std::vector<KeptOff> kept_off;
  const std::size_t model_count = ledger.cluster().models.size();
  for (;;) {
    const Ledger::Checkpoint before = ledger.checkpoint();
    result.outcome = place_in_parts(ledger, wanted, kept_off, place);
    if (!result.outcome.started) return result;
    Amounts taken = quotas.none();
    for (const PlacedTask& task : result.outcome.placed) quotas.add_holding(task.holding, taken);
    result.verdict = quotas.judge(job.queue, taken, end);
    if (result.verdict.within(levels)) return result;
    ledger.rollback(before);
    const std::vector<PlacedTask> placed = std::exchange(result.outcome.placed, {});
    result.outcome.started = false;
    const bool is_refused = !result.verdict.admitted();
    const Excess excess = excess_of(result.verdict);
    const std::int64_t too_many = tasks_too_many(quotas, excess, placed);
    if (is_refused ? too_many > 0 && ask_without_surplus(wanted, too_many) : ask_for_less(wanted)) continue;
    if (is_refused) wanted = in_full;
    const ModelSet used_up = quotas.resource(excess.resource).models;
    if (used_up != 0 && keep_more_off(kept_off, wanted, used_up, model_count, too_many)) {
      result.narrowed = true;
      continue;
    }
    if (used_up == 0 || !leave_out_models(wanted, used_up, model_count)) {
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
