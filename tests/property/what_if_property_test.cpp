// What a counterfactual says is true: whoever makes the change and plans the whole round sees the job start. And it is
// the smallest: whoever leaves out a part of it, or takes one unit less, does not.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "engine/round/schedule.h"
#include "engine/round/what_if.h"
#include "tests/builders.h"
#include "tests/company.h"
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
      std::erase_if(after.jobs, [&](const Job& wish) { return gone.contains(wish.id); });  // to grow
      break;
  }
  return after;
}

bool starts(const Plan& plan, std::int64_t job) {
  return std::ranges::count(plan.placements, job, &Placement::job) > 0 ||
         std::ranges::count(plan.evictions, job, &Eviction::beneficiary) > 0;
}

// The whole round on a copy with the change made; up to the job where it goes before others.
bool starts_with(const Snapshot& snapshot, std::int64_t id, const WhatIf& change, std::int64_t ahead) {
  ScheduleOptions options{.until_job = 0};
  if (change.goes_first || change.kind == ChangeKind::kOrder) {
    options.until_job = id;
    options.place = change.goes_first ? 0 : ahead - static_cast<std::int64_t>(change.jobs.size());
  }
  return starts(must(plan_schedule(changed(snapshot, id, change), options)).plan, id);
}

template <class T>
void without_each(const WhatIf& change, std::vector<T> WhatIf::*members, std::vector<WhatIf>& smaller) {
  const std::size_t size = (change.*members).size();
  for (std::size_t i = 0; size > 1 && i < size; ++i) {
    std::vector<T>& fewer = smaller.emplace_back(change).*members;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

// Every change that is smaller by one member or one unit; of amounts of quota also every smaller number of whole GPUs.
std::vector<WhatIf> smaller_changes(const Snapshot& snapshot, std::int64_t id, const WhatIf& change) {
  std::vector<WhatIf> smaller;
  const Job& job = *std::ranges::find(snapshot.jobs, id, &Job::id);
  const TaskGroup& group = job.groups[static_cast<std::size_t>(change.group)];
  switch (change.kind) {
    case ChangeKind::kQuota:
      without_each(change, &WhatIf::quotas, smaller);
      for (std::size_t i = 0; i < change.quotas.size(); ++i) {
        const std::int64_t amount = change.quotas[i].amount;
        std::set<std::int64_t> less = {amount - 1};
        for (std::int64_t whole = amount / 1000 * 1000; whole > 0; whole -= 1000) less.insert(whole);
        for (const std::int64_t each : less) {
          if (each > 0 && each < amount) smaller.emplace_back(change).quotas[i].amount = each;
        }
      }
      break;
    case ChangeKind::kModel:
      for (ModelSet left = change.models; left != 0; left &= left - 1) {
        if (const ModelSet fewer = change.models & ~(left & -left); fewer != 0)
          smaller.emplace_back(change).models = fewer;
      }
      break;
    case ChangeKind::kLocality:
      for (auto level = static_cast<std::uint8_t>(group.locality);
           --level > static_cast<std::uint8_t>(change.locality);)
        smaller.emplace_back(change).locality = static_cast<Locality>(level);
      break;
    case ChangeKind::kTasks:
      if (change.count + 1 < group.min_tasks) ++smaller.emplace_back(change).count;
      break;
    case ChangeKind::kGpus:
      if (change.count + 1 < group.shape.gpu_count) ++smaller.emplace_back(change).count;
      break;
    case ChangeKind::kPriority: {
      const auto value_of = [&](std::int32_t index) {
        return index < 0 ? 0 : snapshot.priority_classes[static_cast<std::size_t>(index)].value;
      };
      for (std::size_t c = 0; c < snapshot.priority_classes.size(); ++c) {
        const auto index = static_cast<std::int32_t>(c);
        if (value_of(index) > value_of(job.priority_class) && value_of(index) < value_of(change.priority_class))
          smaller.emplace_back(change).priority_class = index;
      }
      break;
    }
    case ChangeKind::kOrder:
      if (change.jobs.size() > 1) smaller.emplace_back(change).jobs.pop_back();
      break;
    case ChangeKind::kNodes: without_each(change, &WhatIf::nodes, smaller); break;
    case ChangeKind::kEvict: without_each(change, &WhatIf::jobs, smaller); break;
  }
  return smaller;
}

// Asks about the jobs that wait, and plans every answer and everything smaller.
class Judge {
 public:
  void look_at(const Snapshot& snapshot) {
    int asked = 0;
    for (const Job& job : snapshot.jobs) {
      if (job.state != JobState::kPending || ++asked > kMostAsked) continue;
      SCOPED_TRACE("job " + std::to_string(job.id));
      const WhatIfAnswer answer = must(what_would_start(snapshot, job.id));
      if (answer.starts_anyway) continue;
      plans_.push_back(answer.plans);
      for (const WhatIf& change : answer.changes) look_at(snapshot, job.id, change, answer.ahead);
    }
  }

  std::size_t answers(ChangeKind kind) { return answers_[kind]; }
  std::size_t all_answers() const {
    std::size_t all = 0;
    for (const auto& [kind, count] : answers_) all += count;
    return all;
  }
  // Whose smaller ones were not all tried, and which of them are not the smallest.
  std::size_t unproved() const { return unproved_; }
  std::size_t unproved_and_too_large() const { return unproved_and_too_large_; }
  std::int64_t median_plans() {
    std::ranges::sort(plans_);
    return plans_.empty() ? 0 : plans_[plans_.size() / 2];
  }
  std::int64_t most_plans() const { return plans_.empty() ? 0 : *std::ranges::max_element(plans_); }

 private:
  void look_at(const Snapshot& snapshot, std::int64_t id, const WhatIf& change, std::int64_t ahead) {
    SCOPED_TRACE("change " + std::to_string(static_cast<int>(change.kind)));
    ++answers_[change.kind];
    EXPECT_TRUE(starts_with(snapshot, id, change, ahead));
    unproved_ += change.may_be_smaller;
    for (const WhatIf& smaller : smaller_changes(snapshot, id, change)) {
      if (!starts_with(snapshot, id, smaller, ahead)) continue;
      unproved_and_too_large_ += change.may_be_smaller;
      EXPECT_TRUE(change.may_be_smaller) << "a smaller one starts it, too";
      break;
    }
  }

  std::map<ChangeKind, std::size_t> answers_;
  std::size_t unproved_ = 0;
  std::size_t unproved_and_too_large_ = 0;
  std::vector<std::int64_t> plans_;
};

TEST(WhatIfProperty, EveryAnswerStartsTheJobAndNoSmallerOneDoes) {
  Judge judge;
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
    judge.look_at(after_plan(snapshot, must(plan_schedule(snapshot)).plan));
  }
  EXPECT_GT(judge.all_answers(), 100u);
  EXPECT_LT(judge.unproved() * 20, judge.all_answers());
  EXPECT_LE(judge.median_plans(), 16);
}

constexpr const char* kTrees[] = {
    "ads gpu=8 / search gpu=4 / maps",
    ("ads gpu=6 gpu.limit=9 / ads1 < ads gpu=4 / ads2 < ads gpu=2 gpu.borrow=2 / search gpu=6 / "
     "web < search gpu=3 / news < search"),
    "ads gpu=10 gpu.lend=6 / search gpu=2 gpu.borrow=4 / maps gpu=4 gpu.limit=7 weight=3",
    "ads gpu=4 gpu.borrow=0 / search gpu=4 gpu.borrow=0 / maps gpu=4 gpu.borrow=2",
};
constexpr const char* kShapes[] = {"gpus=1",         "gpus=0.5",
                                   "gpus=2",         "gpus=4",
                                   "gpus=8",         "gpus=1 tasks=3",
                                   "gpus=2 tasks=3", "gpus=1 tasks=5 min=2",
                                   "gpus=4 tasks=2", "gpus=2 locality=link_group"};

// Departments whose jobs come and go, in every order and backfill mode: quotas are full, borrowed and taken back.
TEST(WhatIfProperty, AmongDepartmentsTooNoSmallerAnswerStartsTheJob) {
  Judge judge;
  for (std::uint64_t seed = 1; seed <= 80; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Company company("3x4:A100; 1x8:A100", kTrees[seed % std::size(kTrees)]);
    Snapshot& snapshot = company.snapshot;
    snapshot.order_policy = one_of<const char*>(random, {"fifo", "priority", "fair_share", "drf", "smallest_first"});
    snapshot.rules.backfill = one_of(random, {BackfillMode::kGreedy, BackfillMode::kNone, BackfillMode::kNonePerQueue,
                                              BackfillMode::kEasy, BackfillMode::kConservative});
    snapshot.rules.min_runtime = Seconds(300);
    std::int64_t now = 0;
    for (int i = 0; i < 14; ++i) {
      now += 60 + static_cast<std::int64_t>(random.below(600));
      for (std::uint64_t jobs = random.below(4); jobs > 0; --jobs) {
        const auto queue = random.below(snapshot.queues.size());
        if (std::ranges::count(snapshot.queues, static_cast<std::int32_t>(queue), &Queue::parent) > 0) continue;
        snapshot.now = Seconds(now);
        const std::int64_t id = company.submit(snapshot.queues[queue].name, kShapes[random.below(std::size(kShapes))],
                                               static_cast<std::int64_t>(600 + random.below(9000)));
        company.waiting_job(id).priority_class = static_cast<std::int32_t>(random.below(2));
        if (random.below(2) == 0) company.waiting_job(id).time_limit = Seconds(9600);
      }
      company.round(now);
    }
    snapshot.now = Seconds(now + 120);
    judge.look_at(snapshot);
  }
  EXPECT_GT(judge.answers(ChangeKind::kEvict), 100u);
  EXPECT_GT(judge.answers(ChangeKind::kQuota), 40u);
  EXPECT_LT(judge.unproved() * 20, judge.all_answers());
  EXPECT_LE(judge.median_plans(), 16);
  RecordProperty("answers", std::to_string(judge.all_answers()));
  RecordProperty("evictions", std::to_string(judge.answers(ChangeKind::kEvict)));
  RecordProperty("quotas", std::to_string(judge.answers(ChangeKind::kQuota)));
  RecordProperty("unproved", std::to_string(judge.unproved()));
  RecordProperty("unproved and too large", std::to_string(judge.unproved_and_too_large()));
  RecordProperty("median of plans", std::to_string(judge.median_plans()));
  RecordProperty("most plans", std::to_string(judge.most_plans()));
}

}  // namespace
}  // namespace berth::test
