#include "engine/store/job_records.h"

#include <set>

#include "tests/unit/store/store_fixture.h"

namespace berth::test {
namespace {

class JobRecords : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    db_.emplace(open());
    fill(*db_);
  }
  Status try_submit(const JobRequest& request) {
    return change(*db_, [&](Change& c) { return submit_job(c, request); });
  }
  Status try_group(const TaskGroupRequest& request) { return try_submit(job("new", {request})); }
  std::string state_of(std::int64_t id) {
    return must_have(db_->text("SELECT state FROM jobs WHERE id = " + std::to_string(id)));
  }

  std::optional<Database> db_;
};

TEST_F(JobRecords, StoresWhatWasAsked) {
  JobRequest request = job("", {group(4, 2), group(1, 1, MilliGpu(250))});
  request.groups[0].min_tasks = 2;
  request.groups[0].models = {"T4", "A100"};
  request.groups[0].locality = Locality::kRack;
  request.groups[1].pool = "main";
  request.groups[1].locality_required = false;
  request.priority_class = "high";
  request.user = "eva";
  request.time_limit = Seconds(3600);
  request.submit_time = Seconds(500);
  const std::int64_t id = submit(*db_, request);
  EXPECT_EQ(must_have(name_of(*db_, Thing::kJob, id)), "job-" + std::to_string(id));

  const Loaded loaded = load(*db_);
  ASSERT_EQ(loaded.snapshot.jobs.size(), 1u);
  const Job& stored = loaded.snapshot.jobs[0];
  EXPECT_EQ(stored.submit, Seconds(500));
  EXPECT_EQ(stored.time_limit, Seconds(3600));
  EXPECT_EQ(loaded.snapshot.priority_classes[static_cast<std::size_t>(stored.priority_class)].name, "high");
  EXPECT_EQ(loaded.snapshot.queues[static_cast<std::size_t>(stored.queue)].name, "train");
  ASSERT_EQ(stored.groups.size(), 2u);
  EXPECT_EQ(stored.groups[0].min_tasks, 2);
  EXPECT_EQ(stored.groups[0].count, 4);
  EXPECT_EQ(stored.groups[0].shape.models, 0b11u);
  EXPECT_EQ(stored.groups[0].locality, Locality::kRack);
  EXPECT_EQ(stored.groups[0].shape.gpu_milli, kWholeDevice);
  EXPECT_EQ(stored.groups[1].shape.gpu_milli, MilliGpu(250));
  EXPECT_EQ(stored.groups[1].shape.pool, 0);
  EXPECT_FALSE(stored.groups[1].locality_required);
  EXPECT_EQ(loaded.shapes.size(), 2u);
  EXPECT_EQ(loaded.shapes[0].tasks, 4);
  EXPECT_EQ(loaded.shapes[0].models_text, "T4|A100");
}

TEST_F(JobRecords, RefusesBadInput) {
  JobRequest request = job("j", {group(1, 1)});
  request.queue = "trian";
  EXPECT_ERROR(try_submit(request), Code::kNotFound, "no queue 'trian'");
  request.queue = "all";
  EXPECT_ERROR(try_submit(request), Code::kInvalid, "only leaves hold jobs");
  request.queue = "train";
  request.priority_class = "hihg";
  EXPECT_ERROR(try_submit(request), Code::kNotFound, "no priority class 'hihg'");
  request.priority_class = "";
  request.time_limit = Seconds(-1);
  EXPECT_ERROR(try_submit(request), Code::kInvalid, "time limit");
  EXPECT_ERROR(try_submit(job("j", {})), Code::kInvalid, "at least one group");
  const Status number = try_submit(job("2", {group(1, 1)}));
  EXPECT_ERROR(number, Code::kInvalid, "'2' cannot name a job: numbers are the ids of jobs");
  EXPECT_ERROR(try_submit(job("  ", {group(1, 1)})), Code::kInvalid, "must not be blank");
  JobRequest by = job("j", {group(1, 1)});
  by.user = "e\nva";
  EXPECT_ERROR(try_submit(by), Code::kInvalid, "the user of a job must not have control characters");

  TaskGroupRequest asked = group(0, 1);
  EXPECT_ERROR(try_group(asked), Code::kInvalid, "1 to 1,000,000 tasks, not 0");
  asked = group(-3, 1);
  EXPECT_ERROR(try_group(asked), Code::kInvalid, "not -3");
  asked = group(2, 1);
  asked.min_tasks = 3;
  EXPECT_ERROR(try_group(asked), Code::kInvalid, "min_tasks");
  asked = group(1, 1);
  asked.cpu = MilliCpu(-1);
  EXPECT_ERROR(try_group(asked), Code::kInvalid, "must not be negative");
  asked = group(1, -1);
  EXPECT_ERROR(try_group(asked), Code::kInvalid, "0 to 32 devices, not -1");
  EXPECT_ERROR(try_group(group(1, 2, MilliGpu(500))), Code::kInvalid, "fraction of one device");
  EXPECT_ERROR(try_group(group(1, 1, MilliGpu(0))), Code::kInvalid, "1 to 1000 milli-GPU");
  asked = group(1, 0);
  asked.gpu_memory = MiB(5);
  EXPECT_ERROR(try_group(asked), Code::kInvalid, "device memory without a GPU");
  asked = group(1, 1);
  asked.models = {"A10"};
  EXPECT_ERROR(try_group(asked), Code::kNotFound, "no device model 'A10'");
  asked.models = {"T4", "T4"};
  EXPECT_ERROR(try_group(asked), Code::kInvalid, "named twice");
  asked = group(1, 1);
  asked.pool = "mian";
  EXPECT_ERROR(try_group(asked), Code::kNotFound, "no pool 'mian'");
  EXPECT_ERROR(try_group({}), Code::kInvalid, "must ask for something");
  EXPECT_ERROR(try_submit(job("j", {group(1, 1), group(0, 1)})), Code::kInvalid, "in task group 2");

  submit(*db_, job("j", {group(1, 1)}));
  EXPECT_ERROR(try_submit(job("j", {group(1, 1)})), Code::kExists, "job 'j' exists already");
  EXPECT_EQ(must_have(db_->integer("SELECT count(*) FROM jobs")), 1);
  expect_healthy(*db_);
}

TEST_F(JobRecords, FractionsAreOfOneDevice) {
  TaskGroupRequest asked;
  EXPECT_OK(set_gpus(asked, MilliGpu(500)));
  EXPECT_EQ(asked.gpu_count, 1);
  EXPECT_EQ(asked.gpu_milli, MilliGpu(500));
  EXPECT_OK(set_gpus(asked, MilliGpu(3000)));
  EXPECT_EQ(asked.gpu_count, 3);
  EXPECT_EQ(asked.gpu_milli, kWholeDevice);
  EXPECT_OK(set_gpus(asked, MilliGpu(0)));
  EXPECT_EQ(asked.gpu_count, 0);
  EXPECT_ERROR(set_gpus(asked, MilliGpu(1500)), Code::kInvalid, "1.5 GPUs a task");
  EXPECT_ERROR(set_gpus(asked, MilliGpu(-500)), Code::kInvalid, "negative");
}

TEST_F(JobRecords, NamesWhatCanNeverRun) {
  TaskGroupRequest asked = group(1, 1, MilliGpu(500));
  asked.gpu_memory = MiB(204800);
  EXPECT_ERROR(try_group(asked), Code::kInfeasible,
               "wants 200GiB of device memory; the most any device it may use has is 80GiB (A100)");
  asked.models = {"T4"};
  asked.gpu_memory = MiB(20480);
  EXPECT_ERROR(try_group(asked), Code::kInfeasible, "16GiB (T4)");
  EXPECT_ERROR(try_group(group(1, 9)), Code::kInfeasible,
               "wants 9 devices on one node; the most a node it may use has is 8");
  asked = group(1, 1);
  asked.pool = "empty";
  EXPECT_ERROR(try_group(asked), Code::kInfeasible, "pool 'empty' has no nodes");
  asked = group(1, 1);
  asked.pool = "main";
  asked.models = {"T4"};
  EXPECT_ERROR(try_group(asked), Code::kInfeasible, "no node has a device of the models");
  asked = group(1, 0);
  asked.cpu = MilliCpu(129000);
  EXPECT_ERROR(try_group(asked), Code::kInfeasible, "wants 129 CPU on one node; the most a node it may use has is 128");
  asked = group(1, 0);
  asked.memory = MiB(2097152);
  EXPECT_ERROR(try_group(asked), Code::kInfeasible, "wants 2TiB of memory");
  EXPECT_ERROR(try_group(group(41, 1)), Code::kInfeasible,
               "41 of its tasks must start together; the whole cluster when empty has room for 40");
  asked = group(9, 1);
  asked.locality = Locality::kNode;
  EXPECT_ERROR(try_group(asked), Code::kInfeasible, "a node when empty has room for 8");
  asked.locality_required = false;
  EXPECT_OK(try_group(asked));

  JobRequest request = job("anyway", {group(1, 9)});
  request.allow_infeasible = true;
  EXPECT_OK(try_submit(request));
  const Status hint = try_group(group(1, 9));
  EXPECT_NE(hint.hint().find("allow_infeasible"), std::string::npos);
}

TEST_F(JobRecords, MoveAlongTheirTable) {
  const std::int64_t id = submit(*db_, job("j", {group(1, 1)}));
  EXPECT_ERROR(change(*db_, [&](Change& c) { return release_job(c, id); }), Code::kConflict,
               "job 'j' is pending, not held");
  EXPECT_OK(change(*db_, [&](Change& c) { return hold_job(c, id); }));
  EXPECT_EQ(state_of(id), "held");
  EXPECT_EQ(load(*db_).snapshot.jobs.size(), 0u);
  EXPECT_ERROR(change(*db_, [&](Change& c) { return hold_job(c, id); }), Code::kConflict, "held already");
  EXPECT_OK(change(*db_, [&](Change& c) { return release_job(c, id); }));
  EXPECT_OK(change(*db_, [&](Change& c) { return cancel_job(c, id); }));
  EXPECT_EQ(state_of(id), "cancelled");
  EXPECT_ERROR(change(*db_, [&](Change& c) { return cancel_job(c, id); }), Code::kConflict, "cancelled already");
  EXPECT_ERROR(change(*db_, [&](Change& c) { return hold_job(c, id); }), Code::kConflict, "it cannot become held");
  EXPECT_ERROR(change(*db_, [&](Change& c) { return cancel_job(c, 99); }), Code::kNotFound, "no job 99");
  expect_healthy(*db_);
}

TEST_F(JobRecords, EndingFreesWhatIsHeldAndKeepsTheAttempt) {
  const std::int64_t id = run_job(*db_, "j", 3, "a1");
  EXPECT_ERROR(change(*db_, [&](Change& c) { return hold_job(c, id); }), Code::kConflict, "CANCEL ends a running one");
  EXPECT_OK(change(
      *db_, [&](Change& c) { return end_job(c, id, JobState::kFailed, "exit code 1"); }, Seconds(5000)));
  EXPECT_EQ(state_of(id), "failed");
  EXPECT_EQ(must_have(db_->integer("SELECT count(*) FROM allocations")), 0);
  EXPECT_EQ(must_have(db_->text("SELECT attempt || state || tasks || ' ' || gpu_milli || nodes || detail || "
                                "(end_time - start_time) FROM runs")),
            "1failed3 3000[\"a1\"]exit code 13000");
  expect_healthy(*db_);
}

TEST_F(JobRecords, ABadRowOfAnImportLeavesTheOthers) {
  EXPECT_OK(change(*db_, [&](Change& c) -> Status {
    BERTH_ASSIGN(Submitter submitter, Submitter::make(c));
    for (int i = 0; i < 10; ++i) {
      const Result<std::int64_t> id = submitter.submit(job("", {group(i % 2 == 0 ? 1 : 0, 1)}));
      EXPECT_EQ(id.ok(), i % 2 == 0);
    }
    return submitter.finish();
  }));
  EXPECT_EQ(must_have(db_->integer("SELECT count(*) FROM jobs")), 5);
  EXPECT_EQ(must_have(db_->text("SELECT object FROM events ORDER BY id DESC LIMIT 1")), "job-1 .. job-5 (5)");
  expect_healthy(*db_);
}

TEST_F(JobRecords, NamesMadeFromIdsStepAside) {
  submit(*db_, job("job-2", {group(1, 1)}));
  const std::int64_t id = submit(*db_, job("", {group(1, 1)}));
  EXPECT_EQ(must_have(name_of(*db_, Thing::kJob, id)), "job-3");
  EXPECT_EQ(must_have(find_job(*db_, "job-2")), 1);
  EXPECT_EQ(must_have(find_job(*db_, "3")), 3);
  EXPECT_ERROR(find_job(*db_, "4"), Code::kNotFound, "no job '4'");
  EXPECT_ERROR(find_job(*db_, "job-"), Code::kNotFound, "no job 'job-'");
}

// Another program put it there: no order may overflow with it.
TEST_F(JobRecords, APriorityBeyondItsBoundsCountsAsTheBound) {
  EXPECT_OK(
      db_->execute("PRAGMA ignore_check_constraints = ON; INSERT INTO priority_classes (name, value) VALUES "
                   "('lowest', -9223372036854775807 - 1), ('highest', 9223372036854775807)"));
  std::set<std::int64_t> values;
  for (const PriorityClass& each : must_have(read_priority_classes(*db_))) values.insert(each.value);
  EXPECT_TRUE(values.contains(-kMostPriority));
  EXPECT_TRUE(values.contains(kMostPriority));
}

}  // namespace
}  // namespace berth::test
