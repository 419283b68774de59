#include "engine/round/quota_placing.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace berth {

namespace {

// The job with as many surplus tasks as its quota takes.
Job within_quota(const QuotaLedger& quotas, const Job& job, std::uint32_t own) {
  Job wanted = job;
  Amounts demand = quotas.demand_to_start(job);
  for (TaskGroup& group : wanted.groups) {
    std::int32_t tasks = std::max(group.min_tasks, group.placed);
    Amounts one_more = demand;
    for (; tasks < group.count; ++tasks) {
      quotas.add_demand(group.shape, 1, one_more);
      if (!quotas.judge(job.queue, one_more).within(own)) break;
      demand = one_more;
    }
    group.count = tasks;
  }
  return wanted;
}

// So many of the tasks fit beside what is taken.
std::int32_t most_that_fit(const QuotaLedger& quotas, const TaskShape& shape, const Amounts& taken, std::int32_t wanted,
                           const std::function<bool(const Amounts&)>& fits) {
  std::int32_t fit = 0;
  for (std::int32_t too_many = wanted + 1; too_many - fit > 1;) {
    const std::int32_t tasks = fit + (too_many - fit) / 2;
    Amounts then = taken;
    quotas.add_demand(shape, tasks, then);
    (fits(then) ? fit : too_many) = tasks;
  }
  return fit;
}

bool must_share_rack(const TaskGroup& group) { return group.locality_required && group.locality == Locality::kRack; }

// Device models, those first on which most of the tasks lie.
std::vector<std::size_t> most_used_models(const Cluster& cluster, std::span<const PlacedTask> placed) {
  std::vector<std::int64_t> tasks(cluster.models.size(), 0);
  for (const PlacedTask& task : placed) {
    const NodeKind& kind = cluster.kind_of(static_cast<std::size_t>(task.holding.node));
    if (task.holding.devices != 0) ++tasks[static_cast<std::size_t>(kind.model)];
  }
  std::vector<std::size_t> models(tasks.size());
  std::iota(models.begin(), models.end(), std::size_t{0});
  std::ranges::stable_sort(models, std::greater<>(), [&](std::size_t model) { return tasks[model]; });
  return models;
}

constexpr int kMostTurns = 4;  // of groups

// Places a job part by part: of each group so many tasks on each model as the quota takes there.
class PlacingInParts {
 public:
  PlacingInParts(const QuotaLedger& quotas, Ledger& ledger, const Job& job, Seconds end, const TryPlacing& place,
                 std::uint32_t own, std::vector<std::size_t> models)
      : quotas_(quotas),
        ledger_(ledger),
        job_(job),
        end_(end),
        place_(place),
        own_(own),
        models_(std::move(models)),
        rest_(job),
        taken_(quotas.none()) {}

  // What every group needs, then what they would like. Groups with less choice of models come first; one that finds no
  // place comes first the next time. Then the other models are tried first.
  JobOutcome place_all() {
    JobOutcome why_not;
    const int orders_of_models = models_.size() > 1 ? 2 : 1;
    for (int times = 0; times < orders_of_models; ++times) {
      std::vector<std::size_t> order = groups_by_choice();
      for (int tries = 0; tries < kMostTurns; ++tries) {
        std::optional<std::size_t> lacking;
        JobOutcome outcome = place_in(order, lacking);
        if (!lacking) return outcome;
        if (times == 0 && tries == 0) why_not = std::move(outcome);
        if (*lacking == order.front()) break;
        const auto late = std::ranges::find(order, *lacking);
        std::rotate(order.begin(), late, late + 1);
      }
      std::ranges::reverse(models_);
    }
    return why_not;
  }
  // Of what the quota takes, something found no place.
  bool lacks_room() const { return lacks_room_; }
  const Amounts& taken() const { return taken_; }

 private:
  std::vector<std::size_t> groups_by_choice() const {
    const auto choice = [&](std::size_t g) {
      const TaskShape& shape = job_.groups[g].shape;
      const auto may_use = [&](std::size_t model) { return shape.models == 0 || (shape.models >> model & 1) != 0; };
      return std::pair(shape.gpu_count == 0 ? 0 : std::ranges::count_if(models_, may_use), -shape.gpu_count);
    };
    std::vector<std::size_t> order(job_.groups.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, choice);
    return order;
  }

  // `lacking`: the group that does not get what it needs; the ledger is as before then.
  JobOutcome place_in(std::span<const std::size_t> order, std::optional<std::size_t>& lacking) {
    const Ledger::Checkpoint before = ledger_.checkpoint();
    rest_ = job_;
    taken_ = quotas_.none();
    placed_.clear();
    for (const std::size_t g : order) {
      const bool is_alone = job_.groups.size() == 1;
      place_group(g, is_alone ? job_.groups[g].count : job_.groups[g].min_tasks);
      if (rest_.groups[g].placed >= job_.groups[g].min_tasks) continue;
      ledger_.rollback(before);
      lacking = g;
      return outcome_without(g);
    }
    for (const std::size_t g : order) place_group(g, job_.groups[g].count);
    std::ranges::stable_sort(placed_, {}, &PlacedTask::group);
    JobOutcome outcome;
    outcome.started = !placed_.empty();
    outcome.placed = placed_;
    return outcome;
  }

  JobOutcome outcome_without(std::size_t g) const {
    const TaskGroup& group = job_.groups[g];
    JobOutcome outcome;
    outcome.reason = most_ > 0 ? Reason::kGang : Reason::kNone;
    outcome.group = static_cast<std::int32_t>(g);
    outcome.fits = most_;
    outcome.needed = std::max(0, group.min_tasks - group.placed);
    return outcome;
  }

  // Up to the target, all in one rack where they must be.
  void place_group(std::size_t g, std::int32_t target) {
    TaskGroup& group = rest_.groups[g];
    most_ = 0;
    if (!must_share_rack(group) || group.anchor >= 0) return place_on_models(g, target);
    const Cluster& cluster = ledger_.cluster();
    std::vector<bool> is_tried(cluster.racks.size(), false);
    for (std::size_t n = 0; n < cluster.nodes.size() && group.placed < group.min_tasks; ++n) {
      const std::int32_t rack = cluster.nodes[n].rack;
      if (rack < 0 || is_tried[static_cast<std::size_t>(rack)]) continue;
      is_tried[static_cast<std::size_t>(rack)] = true;
      const Ledger::Checkpoint before = ledger_.checkpoint();
      const std::size_t placed = placed_.size();
      const Amounts taken = taken_;
      const TaskGroup as_it_was = group;
      group.anchor = static_cast<NodeIndex>(n);
      place_on_models(g, target);
      if (group.placed >= group.min_tasks) return;
      ledger_.rollback(before);
      placed_.resize(placed);
      taken_ = taken;
      group = as_it_was;
    }
  }

  void place_on_models(std::size_t g, std::int32_t target) {
    const TaskShape shape = rest_.groups[g].shape;
    if (shape.gpu_count == 0) return place_some(g, shape, target);
    for (const std::size_t model : models_) {
      TaskShape narrowed = shape;
      narrowed.models = ModelSet{1} << model;
      if (shape.models == 0 || (shape.models & narrowed.models) != 0) place_some(g, narrowed, target);
    }
  }

  // As many as the quota takes, of those that find room: what it says of more than the cluster has left is no answer.
  void place_some(std::size_t g, const TaskShape& shape, std::int32_t target) {
    TaskGroup& group = rest_.groups[g];
    const std::int32_t least = must_share_node(group) ? std::max(1, group.min_tasks - group.placed) : 1;
    for (std::int32_t wanted = target - group.placed;;) {
      const std::int32_t most = tasks_within_quota(shape, wanted);
      if (most < least) return;
      const Ledger::Checkpoint before = ledger_.checkpoint();
      const JobOutcome outcome = place_part(g, shape, most, least);
      const auto placed = static_cast<std::int32_t>(outcome.placed.size());
      lacks_room_ = lacks_room_ || placed < most;
      Amounts then = taken_;
      for (const PlacedTask& task : outcome.placed) quotas_.add_holding(task.holding, then);
      if (placed == most || placed == 0 || is_within_quota(then)) return keep(g, outcome.placed);
      ledger_.rollback(before);
      wanted = placed;
    }
  }

  // `most` more tasks of the group, at least `least`.
  JobOutcome place_part(std::size_t g, const TaskShape& shape, std::int32_t most, std::int32_t least) const {
    Job part = rest_;
    for (TaskGroup& other : part.groups) other.count = other.min_tasks = other.placed;
    TaskGroup& mine = part.groups[g];
    mine.shape = shape;
    mine.count += most;
    mine.min_tasks += least;
    return place_(part, true);
  }

  void keep(std::size_t g, std::span<const PlacedTask> placed) {
    TaskGroup& group = rest_.groups[g];
    for (const PlacedTask& task : placed) {
      quotas_.add_holding(task.holding, taken_);
      if (group.anchor < 0) group.anchor = task.holding.node;
      if (group.anchor == task.holding.node) group.anchor_devices |= task.holding.devices;
      ++group.placed;
      placed_.push_back(task);
    }
    most_ = std::max(most_, group.placed - job_.groups[g].placed);
  }

  bool is_within_quota(const Amounts& amounts) const { return quotas_.judge(job_.queue, amounts, end_).within(own_); }

  // Beside those that are placed.
  std::int32_t tasks_within_quota(const TaskShape& shape, std::int32_t wanted) const {
    return most_that_fit(quotas_, shape, taken_, wanted, [&](const Amounts& then) { return is_within_quota(then); });
  }

  const QuotaLedger& quotas_;
  Ledger& ledger_;
  const Job& job_;
  Seconds end_;
  const TryPlacing& place_;
  std::uint32_t own_;
  std::vector<std::size_t> models_;
  Job rest_;
  Amounts taken_;
  std::vector<PlacedTask> placed_;
  std::int32_t most_ = 0;  // tasks of the group that found a place together
  bool lacks_room_ = false;
};

}  // namespace

QuotaPlacing place_within_quota(const QuotaLedger& quotas, Ledger& ledger, const Job& job, Seconds end,
                                const TryPlacing& place, std::uint32_t own) {
  QuotaPlacing result;
  if (!quotas.governs() || job.queue < 0) {
    result.outcome = place(job, false);
    return result;
  }
  const Ledger::Checkpoint before = ledger.checkpoint();
  result.outcome = place(within_quota(quotas, job, own), false);
  if (!result.outcome.started) return result;
  Amounts taken = quotas.none();
  for (const PlacedTask& task : result.outcome.placed) quotas.add_holding(task.holding, taken);
  result.verdict = quotas.judge(job.queue, taken, end);
  if (result.verdict.within(own)) return result;
  ledger.rollback(before);
  PlacingInParts parts(quotas, ledger, job, end, place, own, most_used_models(ledger.cluster(), result.outcome.placed));
  result.outcome = parts.place_all();
  if (result.outcome.started) result.verdict = quotas.judge(job.queue, parts.taken(), end);
  result.narrowed = parts.lacks_room();
  return result;
}

std::optional<Amounts> divide_demand(const QuotaLedger& quotas, const Job& job,
                                     const std::function<bool(const Amounts&)>& fits) {
  const ModelSet choices = quotas.choices_of(job);
  std::vector<const TaskGroup*> groups;
  for (const TaskGroup& group : job.groups) groups.push_back(&group);
  const auto may_choose = [&](const TaskGroup* group) {
    return group->shape.gpu_count > 0 && (group->shape.models == 0 || std::popcount(group->shape.models & choices) > 1);
  };
  std::ranges::stable_sort(groups, {}, [&](const TaskGroup* group) { return choices != 0 && may_choose(group); });
  Amounts taken = quotas.none();
  for (const TaskGroup* const group : groups) {
    std::int32_t left = std::max(0, group->min_tasks - group->placed);
    TaskShape shape = group->shape;
    const bool is_divided = choices != 0 && may_choose(group);
    for (ModelSet models = is_divided ? choices : 1; models != 0 && left > 0; models &= models - 1) {
      if (is_divided) shape.models = models & -models;
      if (is_divided && group->shape.models != 0 && (group->shape.models & shape.models) == 0) continue;
      const std::int32_t tasks = most_that_fit(quotas, shape, taken, left, fits);
      quotas.add_demand(shape, tasks, taken);
      left -= tasks;
    }
    if (left > 0) return std::nullopt;
  }
  return taken;
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
  if (!quotas.judge(job.queue, quotas.demand_to_start(own), end).within(first_depths(levels))) return std::nullopt;
  return own;
}

}  // namespace berth
