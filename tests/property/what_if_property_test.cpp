// What a counterfactual says is true: whoever makes the change and plans the whole round sees the job start.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "engine/round/schedule.h"
#include "engine/round/what_if.h"
#include "tests/builders.h"
#include "tests/property/world.h"

namespace berth::test {
namespace {

constexpr int kMostAsked = 6;  // jobs a round

// Three queues of one parent that own, limit and keep some of the GPUs.
void add_queues(Snapshot& snapshot, Random& random) {
  snapshot.queues.resize(4);
  snapshot.quotas.resources = {{"gpu", ResourceKind::kGpu, 0}};
  snapshot.quotas.terms.assign(4, std::vector<QuotaTerms>(1));
  for (std::size_t q = 0; q < snapshot.queues.size(); ++q) {
    snapshot.queues[q].id = static_cast<std::int64_t>(q) + 1;
    snapshot.queues[q].name = "q" + std::to_string(q);
    if (q == 0) continue;
    snapshot.queues[q].parent = 0;
    QuotaTerms& terms = snapshot.quotas.terms[q][0];
    terms.has_quota = true;
    terms.quota = static_cast<std::int64_t>(random.below(24)) * 1000;
    if (random.below(3) == 0) terms.lend_limit = terms.quota / 2;
    if (random.below(3) == 0) terms.borrow_limit = static_cast<std::int64_t>(random.below(8)) * 1000;
    if (random.below(4) == 0) terms.limit = terms.quota + static_cast<std::int64_t>(random.below(16)) * 1000;
  }
}

void change_quota(Snapshot& snapshot, const QuotaRise& rise) {
  QuotaTerms& terms =
      snapshot.quotas.terms[static_cast<std::size_t>(rise.queue)][static_cast<std::size_t>(rise.resource)];
  switch (rise.term) {
    case QuotaTerm::kLimit: terms.limit += rise.amount; break;
    case QuotaTerm::kLendLimit: terms.lend_limit += rise.amount; break;
    case QuotaTerm::kQuota:
      terms.has_quota = true;
      terms.quota += rise.amount;
      break;
  }
}

Snapshot changed(const Snapshot& before, std::int64_t id, const WhatIf& change) {
  Snapshot after = before;
  Job& job = *std::ranges::find(after.jobs, id, &Job::id);
  TaskGroup& group = job.groups[static_cast<std::size_t>(change.group)];
  const std::set<std::int64_t> gone(change.jobs.begin(), change.jobs.end());
  switch (change.kind) {
    case ChangeKind::kQuota:
      for (const QuotaRise& rise : change.quotas) change_quota(after, rise);
      break;
    case ChangeKind::kModel: group.shape.models |= change.models; break;
    case ChangeKind::kLocality: group.locality = change.locality; break;
    case ChangeKind::kTasks: group.min_tasks = static_cast<std::int32_t>(change.count); break;
    case ChangeKind::kGpus: group.shape.gpu_count = static_cast<std::int32_t>(change.count); break;
    case ChangeKind::kPriority: job.priority_class = change.priority_class; break;
    case ChangeKind::kOrder: break;
    case ChangeKind::kNodes:
      for (const NodeIndex node : change.nodes)
        after.cluster.nodes[static_cast<std::size_t>(node)].state = NodeState::kUp;
      break;
    case ChangeKind::kEvict:
      std::erase_if(after.allocations, [&](const Allocation& a) { return gone.contains(a.job); });
      std::erase_if(after.running, [&](const RunningJob& run) { return gone.contains(run.job.id); });
      break;
  }
  return after;
}

bool starts(const Plan& plan, std::int64_t job) {
  return std::ranges::count(plan.placements, job, &Placement::job) > 0 ||
         std::ranges::count(plan.evictions, job, &Eviction::beneficiary) > 0;
}

TEST(WhatIfProperty, EveryAnswerStartsTheJob) {
  std::size_t answers = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Snapshot snapshot = random_snapshot(random, {}, 40);
    snapshot.order_policy = one_of<const char*>(random, {"fifo", "priority", "fair_share"});
    snapshot.score_policy = "best_fit";
    snapshot.rules.min_runtime = Seconds(0);
    snapshot.rules.pending_delay = Seconds(0);
    add_queues(snapshot, random);
    for (Job& job : snapshot.jobs) job.queue = static_cast<std::int32_t>(1 + random.below(3));
    snapshot = after_plan(snapshot, must(plan_schedule(snapshot)).plan);
    int asked = 0;
    for (const Job& job : snapshot.jobs) {
      if (job.state != JobState::kPending || ++asked > kMostAsked) continue;
      SCOPED_TRACE("job " + std::to_string(job.id));
      const WhatIfAnswer answer = must(what_would_start(snapshot, job.id));
      if (answer.starts_anyway) continue;
      for (const WhatIf& change : answer.changes) {
        SCOPED_TRACE("change " + std::to_string(static_cast<int>(change.kind)));
        ++answers;
        ScheduleOptions options{.until_job = 0};
        if (change.goes_first || change.kind == ChangeKind::kOrder) {
          const auto passed = static_cast<std::int64_t>(change.jobs.size());
          options.until_job = job.id;
          options.place = change.goes_first ? 0 : answer.ahead - passed;
        }
        const Plan plan = must(plan_schedule(changed(snapshot, job.id, change), options)).plan;
        EXPECT_TRUE(starts(plan, job.id));
      }
    }
  }
  EXPECT_GT(answers, 100u);
}

}  // namespace
}  // namespace berth::test
