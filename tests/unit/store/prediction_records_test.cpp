#include "engine/store/prediction_records.h"

#include "engine/store/journal.h"
#include "tests/unit/store/store_fixture.h"

namespace berth::test {
namespace {

class PredictionRecordsTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    db_.emplace(open());
    fill(*db_);
  }
  void TearDown() override {
    db_.reset();
    StoreTest::TearDown();
  }

  std::int64_t submit_tagged(const std::string& name, const std::string& tag, Seconds limit = Seconds(0)) {
    JobRequest request = job(name, {group(1, 1)});
    request.tag = tag;
    request.user = "ann";
    request.time_limit = limit;
    return submit(*db_, request);
  }
  // Runs from 2000 on, for so long; then it finishes (or what `end` does to it).
  void run(std::int64_t id, std::int64_t seconds, JobState outcome = JobState::kFinished) {
    EXPECT_OK(apply(*db_, plan_on(*db_, {placement(*db_, id, 0, 0, "a1", 1, group(1, 1), MiB(81920))})));
    EXPECT_OK(change(
        *db_, [&](Change& c) { return end_job(c, id, outcome); }, Seconds(2000 + seconds)));
  }
  std::string predicted(std::int64_t id) {
    return must_have(
        db_->text("SELECT coalesce(predicted_p50_s, '-') || ' ' || coalesce(predicted_p90_s, '-') || ' ' "
                  "|| predicted_level FROM jobs WHERE id = " +
                  std::to_string(id)));
  }
  std::int64_t count(std::string_view sql) { return must_have(db_->integer(sql)); }

  std::optional<Database> db_;
};

TEST_F(PredictionRecordsTest, FilledAtSubmissionFromRunsThatFinished) {
  EXPECT_EQ(predicted(submit_tagged("first", "bert")), "- - unknown");
  EXPECT_EQ(predicted(submit_tagged("limited", "bert", Seconds(900))), "900 900 time_limit");
  for (const int seconds : {100, 300, 200}) run(submit_tagged("run" + std::to_string(seconds), "bert"), seconds);
  EXPECT_EQ(predicted(submit_tagged("next", "bert")), "200 300 tag+user+models+request");
  EXPECT_EQ(predicted(submit_tagged("capped", "bert", Seconds(250))), "200 250 tag+user+models+request");
  EXPECT_EQ(predicted(submit_tagged("other", "gpt")), "200 300 user+request");
  EXPECT_EQ(count("SELECT count(*) FROM prediction_keys"), 7);
  EXPECT_EQ(count("SELECT runs FROM prediction_keys WHERE level = 'tag'"), 3);
  EXPECT_EQ(count("SELECT count(*) FROM prediction_keys WHERE level = 'tag' AND tag = 'bert' AND user_name IS NULL"),
            1);
  expect_healthy(*db_);
}

TEST_F(PredictionRecordsTest, NothingIsLearntWhenTheClockWasSetBack) {
  for (const int seconds : {100, 300, 200}) run(submit_tagged("run" + std::to_string(seconds), "bert"), seconds);
  const std::int64_t back = submit_tagged("back", "bert");
  run(back, -500);
  EXPECT_EQ(count("SELECT count(*) FROM jobs WHERE end_time < start_time OR start_time < submit_time"), 0);
  EXPECT_EQ(count("SELECT count(*) FROM runs WHERE end_time < start_time"), 0);
  EXPECT_EQ(count("SELECT runs FROM prediction_keys WHERE level = 'tag'"), 3) << "a run of no time is no run";
  EXPECT_EQ(predicted(submit_tagged("next", "bert")), "200 300 tag+user+models+request");
  EXPECT_OK(change(
      *db_, [&](Change& c) { return rebuild_predictions(c); }, Seconds(4000)));
  EXPECT_EQ(count("SELECT runs FROM prediction_keys WHERE level = 'tag'"), 3);
  const std::int64_t waits = submit_tagged("waits", "bert");
  EXPECT_OK(change(
      *db_, [&](Change& c) { return cancel_job(c, waits); }, Seconds(10)));
  EXPECT_EQ(count("SELECT count(*) FROM jobs WHERE end_time < submit_time"), 0);
  expect_healthy(*db_);
}

TEST_F(PredictionRecordsTest, SurvivesTheProcess) {
  for (int i = 0; i < 3; ++i) run(submit_tagged("run" + std::to_string(i), "bert"), 100);
  db_.reset();
  db_.emplace(open());
  EXPECT_EQ(predicted(submit_tagged("next", "bert")), "100 100 tag+user+models+request");
}

TEST_F(PredictionRecordsTest, OnlyFinishedRunsTeach) {
  for (int i = 0; i < 3; ++i) run(submit_tagged("bad" + std::to_string(i), "bert"), 100, JobState::kFailed);
  const std::int64_t cancelled = submit_tagged("cancelled", "bert");
  EXPECT_OK(change(*db_, [&](Change& c) { return cancel_job(c, cancelled); }));
  EXPECT_EQ(count("SELECT count(*) FROM prediction_keys"), 0);
  EXPECT_EQ(count("SELECT count(*) FROM prediction_errors"), 0);
}

TEST_F(PredictionRecordsTest, AFinishWritesAHandfulOfRows) {
  for (int i = 0; i < 5; ++i) run(submit_tagged("tag" + std::to_string(i), "tag" + std::to_string(i)), 100);
  const std::int64_t before = must_have(db_->integer("SELECT total_changes()"));
  run(submit_tagged("more", "tag0"), 100);
  const std::int64_t one = must_have(db_->integer("SELECT total_changes()")) - before;
  for (int i = 5; i < 60; ++i) run(submit_tagged("tag" + std::to_string(i), "tag" + std::to_string(i)), 100);
  const std::int64_t later = must_have(db_->integer("SELECT total_changes()"));
  run(submit_tagged("again", "tag0"), 100);
  EXPECT_EQ(must_have(db_->integer("SELECT total_changes()")) - later, one);
}

TEST_F(PredictionRecordsTest, TheErrorIsMeasuredAgainstWhatWasSaidAtSubmission) {
  for (int i = 0; i < 3; ++i) run(submit_tagged("run" + std::to_string(i), "bert"), 100);
  const std::int64_t early = submit_tagged("early", "bert");
  for (int i = 3; i < 9; ++i) run(submit_tagged("run" + std::to_string(i), "bert"), 400);
  run(early, 125);  // 100 had been said: 20 % off, above the p90
  EXPECT_EQ(count("SELECT runs * 10 + p90_held FROM prediction_errors WHERE level = 'tag+user+models+request' AND "
                  "error_percent = 20"),
            10);
}

TEST_F(PredictionRecordsTest, RebuiltFromRuns) {
  for (int i = 0; i < 4; ++i) run(submit_tagged("run" + std::to_string(i), "bert"), 100 + i);
  const std::string keys = "SELECT group_concat(level || key || runs || samples || last_end) FROM prediction_keys";
  const std::string before = must_have(db_->text(keys));
  EXPECT_OK(db_->execute("UPDATE prediction_keys SET samples = '[]'"));
  EXPECT_OK(change(*db_, [](Change& c) {
    const Result<std::int64_t> learnt = rebuild_predictions(c);
    EXPECT_EQ(must_have(learnt), 4);
    return learnt.status();
  }));
  EXPECT_EQ(must_have(db_->text(keys)), before);
  // All were submitted before any had ended (the fixture's clock), so none could be predicted.
  EXPECT_EQ(count("SELECT sum(runs) FROM prediction_errors WHERE level = 'unknown'"), 4);
}

TEST_F(PredictionRecordsTest, LearnsFromThePastWithoutLookingAhead) {
  std::vector<PastRun> runs;
  JobFeatures features{.tag = "bert", .user = "ann", .models = {}, .request = {}};
  TaskShape shape;
  shape.cpu = MilliCpu(1000);
  features.add_group(8, shape, "");
  for (int i = 9; i >= 0; --i) {
    runs.push_back({features, Seconds(1000 * i), Seconds(1000 * i + 500), Seconds(500), Seconds(0)});
  }
  EXPECT_OK(change(*db_, [&](Change& c) -> Status {
    PredictionRecords records(c.db(), {});
    return learn_runs(records, runs);
  }));
  EXPECT_EQ(count("SELECT sum(runs) FROM prediction_errors WHERE level = 'unknown'"), 1);
  EXPECT_EQ(count("SELECT sum(runs) FROM prediction_errors WHERE level = 'tag+user+models+request' AND "
                  "error_percent = 0"),
            9);
  EXPECT_EQ(features.request, "8 x (1 CPU)");
}

TEST_F(PredictionRecordsTest, DamagedSamplesAreNamed) {
  for (int i = 0; i < 3; ++i) run(submit_tagged("run" + std::to_string(i), "bert"), 100);
  EXPECT_OK(db_->execute("UPDATE prediction_keys SET samples = '[[1]]'"));
  JobRequest request = job("next", {group(1, 1)});
  request.tag = "bert";
  request.user = "ann";
  EXPECT_ERROR(change(*db_, [&](Change& c) { return submit_job(c, request).status(); }), Code::kCorrupt,
               "samples of a prediction key");
}

TEST_F(PredictionRecordsTest, KeysThatNoLongerComeAreDropped) {
  for (int i = 0; i < 3; ++i) run(submit_tagged("run" + std::to_string(i), "bert"), 100);
  EXPECT_OK(prune_history(*db_, Seconds(2000 + 300 * 86400)));
  EXPECT_EQ(count("SELECT count(*) FROM prediction_keys"), 7);
  EXPECT_OK(prune_history(*db_, Seconds(2200 + 365 * 86400)));
  EXPECT_EQ(count("SELECT count(*) FROM prediction_keys"), 0);
}

TEST(JobFeaturesTest, WordsTellRequestsApart) {
  JobFeatures features;
  TaskShape shape;
  shape.cpu = MilliCpu(1500);
  shape.gpu_count = 1;
  shape.gpu_milli = MilliGpu(500);
  shape.gpu_memory = MiB(4096);
  features.add_group(2, shape, "T4|A100");
  shape.gpu_count = 0;
  shape.memory = MiB(2048);
  features.add_group(1, shape, "");
  EXPECT_EQ(features.request, "2 x (0.5 GPU of 4GiB, 1.5 CPU) + 1 x (1.5 CPU, 2GiB)");
  EXPECT_EQ(features.models, "A100|T4");
}

}  // namespace
}  // namespace berth::test
