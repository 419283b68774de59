// Waiting adds up: over random submissions, rounds, holds, releases, evictions, ends and cancellations with a clock
// that jumps, the parts of each job's wait are exactly the seconds in which it was pending or held, and those it was
// held are put down to that. Also with a clock that is set back: then each second counts once, whenever it is passed.
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
    bool waits = false;
    std::string waits_for;  // state, cause and beneficiary
    Seconds since;          // it waits for that
    Seconds counted_to;
  };

  void play(std::uint64_t seed, bool clock_goes_back) {
    Random random(seed);
    Database db = open(std::to_string(seed) + ".db");
    EXPECT_OK(db.execute("PRAGMA synchronous = OFF"));
    fill(db);
    now_ = Seconds(100000);
    waited_.clear();
    for (int step = 0; step < 120; ++step) {
      now_ += Seconds(static_cast<std::int64_t>(random.below(3) * random.below(400)));
      if (clock_goes_back && random.below(4) == 0) now_ -= Seconds(static_cast<std::int64_t>(random.below(900)));
      act(db, random);
      watch(db);
      if (HasFailure()) return;
    }
    now_ += Seconds(77);
    for (auto& [id, waited] : waited_) count(waited);
    expect_sums(db);
    expect_healthy(db);
  }

  // The slow truth: whenever the job turns to something else, what passed since it did so last.
  void watch(Database& db) {
    Statement rows =
        must_have(db.prepare("SELECT id, state IN ('pending', 'held'), state || coalesce(wait_cause, 'round') || "
                             "coalesce(wait_beneficiary_id, ''), submit_time FROM jobs"));
    while (rows.next()) {
      const auto [entry, is_new] = waited_.try_emplace(rows.integer(0));
      Waited& waited = entry->second;
      if (is_new) waited.since = waited.counted_to = rows.quantity<Seconds>(3);
      if (!is_new && waited.waits_for == rows.text(2)) continue;
      count(waited);
      const Seconds not_before = waited.waits || is_new ? waited.since : waited.counted_to;
      waited.since = std::max(now_, not_before);
      waited.waits = rows.integer(1) != 0;
      waited.waits_for = rows.text(2);
    }
    EXPECT_OK(rows.status());
  }

  void count(Waited& waited) {
    if (!waited.waits || now_ <= waited.since) return;
    const std::int64_t seconds = (now_ - waited.since).value();
    waited.all += seconds;
    if (waited.waits_for.starts_with("held")) waited.held += seconds;
    waited.counted_to = now_;
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
      const std::int64_t has_next =
          must_have(db.integer(fmt::format("SELECT count(*) FROM jobs WHERE id = {}", victim.job.id + 1)));
      if (victim.stop_at < Seconds(0) && has_next != 0) {
        const std::int64_t of_one_queue = must_have(db.integer(fmt::format(
            "SELECT count(*) FROM jobs v JOIN jobs b ON b.queue_id IS v.queue_id WHERE v.id = {} AND b.id = {}",
            victim.job.id, victim.job.id + 1)));
        plan.evictions.push_back({.job = victim.job.id,
                                  .beneficiary = victim.job.id + 1,
                                  .rule = of_one_queue != 0 ? EvictionRule::kPriority : EvictionRule::kReclaim,
                                  .stop_at = now_ + Seconds(static_cast<std::int64_t>(random.below(2) * 100))});
      }
    }
    // Seconds pass between planning and applying.
    now_ += Seconds(static_cast<std::int64_t>(random.below(3)));
    EXPECT_OK(apply_plan(db, plan,
                         {.kind = "schedule",
                          .actor = "tester",
                          .now = now_,
                          .seconds = {},
                          .last_reasons = loaded.last_reasons,
                          .plan_id = 0}));
  }

  void expect_sums(Database& db) {
    Statement rows = must_have(
        db.prepare("SELECT j.id, coalesce(sum(max(0, coalesce(to_time, ?1) - from_time)), 0), "
                   "coalesce(sum(max(0, coalesce(to_time, ?1) - from_time)) FILTER (WHERE cause = 'held'), 0) "
                   "FROM jobs j LEFT JOIN wait_intervals w ON w.job_id = j.id GROUP BY j.id"));
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
    play(seed, false);
  }
}

TEST_F(WaitProperty, NoSecondCountsTwiceWhenTheClockIsSetBack) {
  for (std::uint64_t seed = 101; seed <= 112 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    play(seed, true);
  }
}

}  // namespace
}  // namespace berth::test
