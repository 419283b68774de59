// What every plan must keep, for every order and score policy, on random clusters over several rounds.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/base/text.h"
#include "engine/policy/registry.h"
#include "engine/round/schedule.h"
#include "tests/builders.h"
#include "tests/property/world.h"

namespace berth::test {
namespace {

constexpr int kRounds = 3;

struct Choice {
  std::string order;
  std::string score;
};

// Every score with every order.
std::vector<Choice> all_choices() {
  std::vector<Choice> choices;
  for (const PolicyRow& order : all_policies()) {
    for (const PolicyRow& score : all_policies()) {
      if (order.kind != PolicyKind::kOrder || score.kind != PolicyKind::kScore) continue;
      choices.push_back({std::string(order.name), std::string(score.name)});
    }
  }
  return choices;
}

Plan plan_of(const Snapshot& snapshot) { return must(plan_schedule(snapshot)).plan; }

// Calls look(snapshot, plan, random) for rounds that follow one another: jobs come, run, grow and end.
template <class Look>
void for_random_rounds(const Choice& choice, std::uint64_t seed, const WorldSize& size, std::size_t jobs, Look look) {
  SCOPED_TRACE("seed " + std::to_string(seed) + ", " + choice.order + " + " + choice.score);
  Random random(seed);
  Snapshot snapshot = random_snapshot(random, size, jobs);
  snapshot.order_policy = choice.order;
  snapshot.score_policy = choice.score;
  std::int64_t next_id = static_cast<std::int64_t>(jobs);
  for (int round = 0; round < kRounds && !testing::Test::HasFatalFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const Plan plan = plan_of(snapshot);
    look(snapshot, plan, random);
    snapshot = after_plan(snapshot, plan);
    end_some_jobs(snapshot, random);
    for (std::size_t i = 0; i < jobs / 3; ++i) {
      snapshot.jobs.push_back(random_job(random, size, ++next_id, snapshot.now));
    }
  }
}

class EveryPolicy : public testing::TestWithParam<Choice> {};

TEST_P(EveryPolicy, KeepsEveryPromise) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    for_random_rounds(GetParam(), seed, {}, 40, [](const Snapshot& snapshot, const Plan& plan, Random&) {
      const std::vector<std::string> broken = broken_promises(snapshot, plan);
      ASSERT_TRUE(broken.empty()) << join(broken, "\n") << "\n" << plan_to_text(plan);
    });
  }
}

TEST_P(EveryPolicy, SamePlanFromShuffledRows) {
  for (std::uint64_t seed = 101; seed <= 103; ++seed) {
    for_random_rounds(GetParam(), seed, {}, 30, [](const Snapshot& snapshot, const Plan& plan, Random& random) {
      ASSERT_EQ(plan_to_json(plan_of(snapshot)), plan_to_json(plan)) << "the same snapshot";
      Snapshot shuffled = snapshot;
      random.shuffle(shuffled.jobs);
      random.shuffle(shuffled.allocations);
      ASSERT_EQ(plan_to_json(plan_of(shuffled)), plan_to_json(plan)) << "rows shuffled";
    });
  }
}

// After the plan nothing more fits: a job that waits, unless for a reservation, could not start whatever way one tried.
TEST_P(EveryPolicy, LeavesNoJobWaitingThatCouldStart) {
  for (std::uint64_t seed = 201; seed <= 212; ++seed) {
    for_random_rounds(GetParam(), seed, kSmallWorld, 8, [](const Snapshot& snapshot, const Plan& plan, Random&) {
      for (const Waiting& waiting : plan.waiting) {
        if (waiting.reason == Reason::kReserved) continue;  // it would delay one ahead of it
        const Job& job = *std::ranges::find(snapshot.jobs, waiting.job, &Job::id);
        if (job.groups.size() > 1) continue;  // groups that compete for nodes: no promise that the best split is found
        ASSERT_FALSE(could_start(snapshot, plan, job)) << "job " << job.id << "\n" << plan_to_text(plan);
      }
    });
  }
}

TEST_P(EveryPolicy, TheLedgerIsWhatThePlanSays) {
  for (std::uint64_t seed = 301; seed <= 302; ++seed) {
    for_random_rounds(GetParam(), seed, {}, 30, [](const Snapshot& snapshot, const Plan& plan, Random&) {
      const Planning planning = must(planning_of(snapshot));
      ASSERT_EQ(plan_to_json(must(plan_schedule_on(snapshot, *planning.state)).plan), plan_to_json(plan));
      ASSERT_EQ(print_free(planning.state->ledger()), print_free(must(ledger_of(after_plan(snapshot, plan)))));
    });
  }
}

std::string name_of_choice(const testing::TestParamInfo<Choice>& info) {
  return info.param.order + "_" + info.param.score;
}
INSTANTIATE_TEST_SUITE_P(Schedule, EveryPolicy, testing::ValuesIn(all_choices()), name_of_choice);

}  // namespace
}  // namespace berth::test
