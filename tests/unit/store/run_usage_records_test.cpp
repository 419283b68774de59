#include "engine/store/run_usage_records.h"

#include "tests/unit/store/store_fixture.h"

namespace berth::test {
namespace {

class RunUsageRecordsTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    db_.emplace(open());
    fill(*db_);
    EXPECT_OK(db_->execute("UPDATE queues SET rightsizing = 'histogram' WHERE name = 'train'"));
  }
  void TearDown() override {
    db_.reset();
    StoreTest::TearDown();
  }

  static TaskGroupRequest asked() {
    TaskGroupRequest request = group(1, 1);
    request.cpu = MilliCpu(8000);
    request.memory = MiB(65536);
    request.models = {"A100"};
    return request;
  }
  std::int64_t submit_tagged(const std::string& name, const std::string& queue = "train") {
    JobRequest request = job(name, {asked()});
    request.tag = "bert";
    request.user = "ann";
    request.queue = queue;
    return submit(*db_, request);
  }
  static UsageSample usage() {
    return {.end = Seconds(0),
            .cpu_mean = MilliCpu(2000),
            .cpu_peak = MilliCpu(5000),
            .memory_peak = MiB(10000),
            .gpu_mean = MilliGpu(200),
            .gpu_memory_peak = MiB(20000)};
  }
  void run(std::int64_t id, const UsageSample& used) {
    TaskGroupRequest holds = asked();
    holds.cpu = MilliCpu(column(id, "cpu_milli"));
    holds.memory = MiB(column(id, "memory_mib"));
    holds.gpu_milli = MilliGpu(column(id, "gpu_milli"));
    const MiB device(holds.gpu_milli == kWholeDevice ? 81920 : column(id, "gpu_memory_mib"));
    EXPECT_OK(apply(*db_, plan_on(*db_, {placement(*db_, id, 0, 0, "a1", 1, holds, device)})));
    EXPECT_OK(change(
        *db_,
        [&](Change& c) -> Status {
          BERTH_TRY(end_job(c, id, JobState::kFinished));
          return record_usage(c, id, "", used);
        },
        Seconds(3000)));
  }
  std::int64_t column(std::int64_t id, const std::string& name) {
    return must_have(db_->integer("SELECT " + name + " FROM task_groups WHERE job_id = " + std::to_string(id)));
  }
  std::int64_t kept_requests() { return must_have(db_->integer("SELECT count(*) FROM requested_amounts")); }

  std::optional<Database> db_;
};

TEST_F(RunUsageRecordsTest, AdmissionGivesWhatIsNeededAndRemembersTheRequest) {
  for (int i = 0; i < 3; ++i) run(submit_tagged("run" + std::to_string(i)), usage());
  EXPECT_EQ(kept_requests(), 0);
  const std::int64_t id = submit_tagged("next");
  EXPECT_EQ(column(id, "cpu_milli"), 2200);
  EXPECT_EQ(column(id, "memory_mib"), 16000);
  EXPECT_EQ(column(id, "gpu_milli"), 220);
  EXPECT_EQ(column(id, "gpu_memory_mib"), 32000);
  EXPECT_EQ(must_have(db_->text("SELECT cpu_milli || ' ' || memory_mib || ' ' || gpu_milli || ' ' || policy FROM "
                                "requested_amounts WHERE job_id = " +
                                std::to_string(id))),
            "8000 65536 1000 histogram");
  // The smaller job is of the same recurrence group, and predictions still see what was asked for.
  run(id, usage());
  EXPECT_EQ(must_have(db_->integer("SELECT count(DISTINCT recurrence) FROM run_usage")), 1);
  EXPECT_EQ(must_have(db_->integer("SELECT count(*) FROM prediction_keys")), 7);
  expect_healthy(*db_);
}

TEST_F(RunUsageRecordsTest, OnlyWhereTheQueueHasOptedIn) {
  for (int i = 0; i < 3; ++i) run(submit_tagged("run" + std::to_string(i)), usage());
  EXPECT_EQ(column(submit_tagged("elsewhere", "serve"), "cpu_milli"), 8000);
  EXPECT_EQ(kept_requests(), 0);
}

TEST_F(RunUsageRecordsTest, BackToTheRequestAfterAnOom) {
  for (int i = 0; i < 3; ++i) run(submit_tagged("run" + std::to_string(i)), usage());
  const std::int64_t unlucky = submit_tagged("unlucky");
  UsageSample oom = usage();
  oom.out_of_memory = true;
  run(unlucky, oom);
  EXPECT_EQ(column(submit_tagged("after"), "memory_mib"), 65536);
}

TEST_F(RunUsageRecordsTest, LaterMeasuresCompleteEarlierOnes) {
  const std::int64_t id = submit_tagged("run");
  run(id, {.end = Seconds(0), .cpu_mean = MilliCpu(100)});
  EXPECT_OK(change(*db_, [&](Change& c) {
    return record_usage(c, id, "main", {.end = Seconds(0), .memory_peak = MiB(77), .out_of_memory = true});
  }));
  const std::int64_t recurrence = recurrence_of("bert", "ann", "main", 1, 1);
  const std::vector<UsageSample> runs = must_have(usage_of(*db_, recurrence, 5));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(
      runs[0],
      (UsageSample{.end = Seconds(3000), .cpu_mean = MilliCpu(100), .memory_peak = MiB(77), .out_of_memory = true}));
}

TEST_F(RunUsageRecordsTest, Refused) {
  const std::int64_t waiting = submit_tagged("waiting");
  const auto record = [&](std::int64_t id, const std::string& name) {
    return change(*db_, [&](Change& c) { return record_usage(c, id, name, usage()); });
  };
  EXPECT_ERROR(record(waiting, ""), Code::kConflict, "job 'waiting' has not ended a run yet");
  EXPECT_ERROR(record(waiting, "worker"), Code::kNotFound, "job 'waiting' has no task group 'worker'");
  TaskGroupRequest worker = group(1, 1);
  worker.name = "worker";
  const std::int64_t both = submit(*db_, job("both", {worker, group(1, 0)}));
  EXPECT_ERROR(record(both, ""), Code::kInvalid, "several task groups: worker, group1");
}

TEST_F(RunUsageRecordsTest, JobsWithoutATagAreLeftAlone) {
  JobRequest request = job("plain", {asked()});
  for (int i = 0; i < 4; ++i) {
    request.name = "plain" + std::to_string(i);
    const std::int64_t id = submit(*db_, request);
    EXPECT_EQ(column(id, "cpu_milli"), 8000);
    run(id, usage());
  }
  EXPECT_TRUE(must_have(usage_of(*db_, 0, 5)).empty());
}

}  // namespace
}  // namespace berth::test
