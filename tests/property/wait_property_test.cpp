// Waiting adds up: over random submissions, rounds, holds, releases, evictions, ends and cancellations with a clock
// that jumps, the parts of each job's wait are exactly the seconds in which it was pending or held, and those it was
// held are put down to that.
#include <map>

#include "engine/base/env.h"
#include "engine/round/schedule.h"
#include "tests/unit/store/store_fixture.h"

namespace berth::test {
namespace {

class WaitProperty : public StoreTest {
 protected:
  struct Waited {
    std::int64_t all = 0;
    std::int64_t held = 0;
  };

  void play(std::uint64_t seed) {
    Random random(seed);
    Database db = open(std::to_string(seed) + ".db");
    EXPECT_OK(db.execute("PRAGMA synchronous = OFF"));
    fill(db);
    now_ = Seconds(1000);
    waited_.clear();
    for (int step = 0; step < 120; ++step) {
      pass_time(db, Seconds(static_cast<std::int64_t>(random.below(3) * random.below(400))));
      act(db, random);
      if (HasFailure()) return;
    }
    pass_time(db, Seconds(77));
    expect_sums(db);
    expect_healthy(db);
  }

  // The slow truth: what was pending or held meanwhile.
  void pass_time(Database& db, Seconds by) {
    now_ += by;
    Statement rows = must_have(db.prepare("SELECT id, state FROM jobs WHERE state IN ('pending', 'held')"));
    while (rows.next()) {
      waited_[rows.integer(0)].all += by.value();
      if (rows.text(1) == "held") waited_[rows.integer(0)].held += by.value();
    }
  }

  void act(Database& db, Random& random) {
    switch (random.below(9)) {
      case 0:
      case 1: return submit_one(db, random);
      case 2:
      case 3: return round(db, random, false);
      case 4: return round(db, random, true);
      case 5: return change_one(db, random, "pending", hold_job);
      case 6: return change_one(db, random, "held", release_job);
      case 7:
        return change_one(db, random, "running",
                          [](Change& c, std::int64_t id) { return end_job(c, id, JobState::kFinished); });
      default: return change_one(db, random, random.below(2) == 0 ? "pending" : "held", cancel_job);
    }
  }

  void submit_one(Database& db, Random& random) {
    TaskGroupRequest asked = group(1 + static_cast<std::int64_t>(random.below(4)), 8);
    asked.min_tasks = 1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(asked.count)));
    JobRequest request = job("", {asked});
    request.held = random.below(5) == 0;
    EXPECT_OK(change(
        db, [&](Change& c) { return submit_job(c, request); }, now_));
  }

  template <class Body>
  void change_one(Database& db, Random& random, const std::string& state, Body&& body) {
    Statement rows = must_have(db.prepare("SELECT id FROM jobs WHERE state = ?1 ORDER BY id"));
    rows.with(state);
    std::vector<std::int64_t> jobs;
    while (rows.next()) jobs.push_back(rows.integer(0));
    if (jobs.empty()) return;
    const std::int64_t chosen = jobs[random.below(jobs.size())];
    EXPECT_OK(change(
        db, [&](Change& c) { return body(c, chosen); }, now_));
  }

  // A round as planned, with a random quota reason here and there, or one that evicts somebody now or after a grace.
  void round(Database& db, Random& random, bool evicts) {
    const Loaded loaded = must_have(load_state(db, {.now = now_, .node_names = false, .also_job = std::nullopt}));
    Plan plan = must_have(plan_schedule(loaded.snapshot)).plan;
    for (Waiting& waiting : plan.waiting) {
      if (random.below(3) != 0) continue;
      waiting.reason = Reason::kQuota;
      waiting.beneficiary = 2 + static_cast<std::int64_t>(random.below(2));
    }
    if (evicts && !loaded.snapshot.running.empty() && plan.evictions.empty()) {
      const RunningJob& victim = loaded.snapshot.running[random.below(loaded.snapshot.running.size())];
      plan.placements.clear();
      if (victim.stop_at < Seconds(0)) {
        plan.evictions.push_back({.job = victim.job.id,
                                  .beneficiary = victim.job.id + 1,
                                  .rule = random.below(2) == 0 ? EvictionRule::kReclaim : EvictionRule::kPriority,
                                  .stop_at = now_ + Seconds(static_cast<std::int64_t>(random.below(2) * 100))});
      }
    }
    // Seconds pass between planning and applying.
    pass_time(db, Seconds(static_cast<std::int64_t>(random.below(3))));
    EXPECT_OK(apply_plan(db, plan,
                         {.kind = "schedule",
                          .actor = "tester",
                          .now = now_,
                          .seconds = {},
                          .last_reasons = loaded.last_reasons,
                          .plan_id = 0}));
  }

  void expect_sums(Database& db) {
    Statement rows = must_have(db.prepare(
        "SELECT j.id, (SELECT coalesce(sum(coalesce(to_time, ?1) - from_time), 0) FROM wait_intervals w WHERE w.job_id "
        "= j.id), (SELECT coalesce(sum(coalesce(to_time, ?1) - from_time), 0) FROM wait_intervals w WHERE w.job_id = "
        "j.id AND cause = 'held') FROM jobs j ORDER BY j.id"));
    rows.with(now_);
    while (rows.next()) {
      EXPECT_EQ(rows.integer(1), waited_[rows.integer(0)].all) << "job " << rows.integer(0);
      EXPECT_EQ(rows.integer(2), waited_[rows.integer(0)].held) << "job " << rows.integer(0);
    }
    EXPECT_OK(rows.status());
  }

  Seconds now_;
  std::map<std::int64_t, Waited> waited_;
};

TEST_F(WaitProperty, EverySecondHasOneCause) {
  for (std::uint64_t seed = 1; seed <= 6 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    play(seed);
  }
}

}  // namespace
}  // namespace berth::test
