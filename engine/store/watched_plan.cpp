// Of apply.h what assertions have a say in.
#include <algorithm>
#include <set>

#include "engine/model/plan_prefix.h"
#include "engine/store/apply.h"

namespace berth {

namespace {

struct Trial {
  ApplyResult result;
  std::vector<BrokenAssertion> broken;
};

// What those break for whom the plan tells others to stop, once they start. Where what they get depends on others
// still, that cannot be written, and nothing is known.
Result<std::vector<BrokenAssertion>> broken_in_room(Change& change, const Plan& plan, ApplyRequest request,
                                                    const AssertionWatch& watch) {
  std::vector<BrokenAssertion> broken;
  const std::optional<Plan> made = with_room_made(plan);
  if (!made) return broken;
  request.record = nullptr;
  request.plan_id = 0;
  request.stopped_are_gone = true;
  Database& db = change.db();
  BERTH_TRY(db.execute("SAVEPOINT room"));
  Status written = write_plan(change, *made, request).status();
  if (written.ok()) written = change.settle();
  if (written.code() == Code::kInterrupted) return written;
  if (written.ok()) {
    BERTH_ASSIGN(broken, watch.broken(db));
  }
  BERTH_TRY(db.execute("ROLLBACK TO room"));
  BERTH_TRY(db.execute("RELEASE room"));
  return broken;
}

// Writes the plan and asks the assertions; taken back when it breaks one, or is to be.
Result<Trial> try_plan(Change& change, const Plan& plan, const ApplyRequest& request, const AssertionWatch& watch,
                       bool keep) {
  Database& db = change.db();
  Trial trial;
  BERTH_ASSIGN(trial.broken, broken_in_room(change, plan, request, watch));
  if (!trial.broken.empty()) return trial;
  BERTH_TRY(db.execute("SAVEPOINT trial"));
  BERTH_ASSIGN(trial.result, write_plan(change, plan, request));
  BERTH_TRY(change.settle());
  BERTH_ASSIGN(trial.broken, watch.broken(db));
  if (!keep || !trial.broken.empty()) BERTH_TRY(db.execute("ROLLBACK TO trial"));
  BERTH_TRY(db.execute("RELEASE trial"));
  return trial;
}

// The first decision of `plan`, which breaks something as a whole, that does: it is looked for among the prefixes, of
// which that of `harmless` decisions is known to break nothing; -1 = none is known. Nothing = not even the plan without
// any decision can be applied.
Result<std::optional<Culprit>> find_culprit(Change& change, const Plan& plan, const ApplyRequest& request,
                                            const AssertionWatch& watch, std::int64_t harmless,
                                            std::vector<BrokenAssertion> broken) {
  ApplyRequest trial_request = request;
  trial_request.record = nullptr;  // it is taken back anyway
  trial_request.plan_id = 0;
  std::vector<std::int64_t> jobs = deciding_jobs(plan);
  auto breaks = static_cast<std::int64_t>(jobs.size());
  while (breaks - harmless > 1) {
    const std::int64_t middle = harmless < 0 ? 0 : harmless + (breaks - harmless) / 2;
    BERTH_ASSIGN(Trial trial, try_plan(change, first_decisions(plan, middle), trial_request, watch, false));
    if (trial.broken.empty()) {
      harmless = middle;
      continue;
    }
    if (middle == 0) return std::optional<Culprit>();
    breaks = middle;
    broken = std::move(trial.broken);
  }
  if (harmless < 0) return std::optional<Culprit>();
  const std::int64_t job = jobs[static_cast<std::size_t>(harmless)];
  jobs.resize(static_cast<std::size_t>(harmless));
  std::set<NodeIndex> nodes;
  for (const Placement& placement : plan.placements) {
    if (placement.job == job) nodes.insert(placement.node);
  }
  return std::optional(Culprit{
      .job = job, .broken = std::move(broken), .before = std::move(jobs), .nodes = {nodes.begin(), nodes.end()}});
}

}  // namespace

Result<ApplyResult> write_watched_plan(Change& change, const Plan& plan, const ApplyRequest& request,
                                       const AssertionWatch& watch_before) {
  BERTH_ASSIGN(const AssertionWatch watch, watch_before.with_new(change.db()));
  if (!watch.watches_anything()) return write_plan(change, plan, request);
  ApplyRequest trial_request = request;
  std::vector<HeldBackJob> held_back;
  PlanWithout other;
  const Plan* tried = &plan;
  std::int64_t harmless = -1;
  for (;;) {
    trial_request.held_back = held_back;
    BERTH_ASSIGN(Trial trial, try_plan(change, *tried, trial_request, watch, true));
    if (trial.broken.empty()) {
      const auto is_held = [&](const HeldBackJob& each) {
        return find_hold(tried->holds, each.job) != nullptr || find_hold(tried->surplus_holds, each.job) != nullptr;
      };
      std::erase_if(held_back, [&](const HeldBackJob& each) { return !is_held(each); });
      if (tried != &plan) trial.result.replanned = std::move(other.plan);
      trial.result.held_back = std::move(held_back);
      return std::move(trial.result);
    }
    ApplyResult refused;
    refused.broken = trial.broken;
    if (!request.plan_without) return refused;
    BERTH_ASSIGN(const std::optional<Culprit> culprit,
                 find_culprit(change, *tried, request, watch, harmless, std::move(trial.broken)));
    if (!culprit) return refused;
    BERTH_ASSIGN(std::optional<PlanWithout> next, request.plan_without(*culprit));
    if (!next) return refused;
    std::erase_if(held_back, [&](const HeldBackJob& each) { return each.job == culprit->job; });
    const bool only_surplus = find_hold(next->plan.surplus_holds, culprit->job) != nullptr;
    held_back.push_back({culprit->job, culprit->broken.front(), only_surplus});
    harmless = std::min(static_cast<std::int64_t>(culprit->before.size()), common_decisions(*tried, next->plan));
    other = *std::move(next);
    tried = &other.plan;
    trial_request.record = other.record ? &*other.record : nullptr;
  }
}

}  // namespace berth
