// CHECK names every kind of damage that another program can do to the tables, and finds a lived-in database whole.
//
// One database has lived: quotas, evictions at once and after a grace, an elastic job, retries' columns, plans. Each
// damage is done to a copy of it by plain SQL, with foreign keys and CHECKs off and the triggers dropped.
#include <set>

#include "engine/runtime/round_driver.h"
#include "engine/store/check_work.h"
#include "engine/store/loan_records.h"
#include "engine/store/quota_records.h"
#include "engine/store/settings.h"
#include "tests/unit/runtime/runtime_fixture.h"

namespace berth::test {
namespace {

struct Damage {
  std::string_view name;
  std::string_view promise;  // that must be found broken
  std::string_view sql;
};

constexpr Damage kDamages[] = {
    {"ViewForATable", "schema_whole",
     "ALTER TABLE drains RENAME TO drains_x; CREATE VIEW drains AS SELECT * FROM drains_x"},
    {"WrongMark", "marks_as_decided", "UPDATE jobs SET quota_mark = 0 WHERE name = 'serve1'"},
    {"MarkOfABorrower", "marks_as_decided", "UPDATE jobs SET quota_mark = 3 WHERE name = 'elastic'"},
    {"MarkTooDeep", "marks_have_depth", "UPDATE jobs SET quota_mark = 15 WHERE state = 'running' AND name = 'serve1'"},
    {"MarkOfAWaitingJob", "only_running_marked", "UPDATE jobs SET quota_mark = 1 WHERE name = 'waits'"},
    {"JobEndsBeforeItStarts", "jobs_in_time", "UPDATE jobs SET end_time = start_time - 60 WHERE name = 'old'"},
    {"JobStartsBeforeItIsSubmitted", "jobs_in_time",
     "UPDATE jobs SET submit_time = start_time + 60 WHERE name = 'old'"},
    {"RunEndsBeforeItStarts", "runs_in_time",
     "UPDATE runs SET end_time = start_time - 60 WHERE job_id = (SELECT id FROM jobs WHERE name = 'old')"},
    {"RunStartsBeforeTheOneBeforeEnds", "runs_in_time",
     "UPDATE runs SET end_time = end_time + 100000 WHERE job_id = (SELECT id FROM jobs WHERE name = 'twice') AND "
     "attempt "
     "= 1"},
    {"RunIsMissing", "ended_by_run", "DELETE FROM runs WHERE job_id = (SELECT id FROM jobs WHERE name = 'old')"},
    {"FirstRunIsMissing", "runs_numbered",
     "DELETE FROM runs WHERE job_id = (SELECT id FROM jobs WHERE name = 'twice') AND attempt = 1"},
    {"RunEndedOtherwise", "ended_by_run",
     "UPDATE runs SET state = 'failed' WHERE job_id = (SELECT id FROM jobs WHERE name = 'old')"},
    {"AllocationInTheFuture", "tasks_in_time", "UPDATE allocations SET start_time = start_time + 1000000000"},
    {"AllocationInTheFutureWithoutItsRound", "tasks_in_time",
     "UPDATE allocations SET start_time = start_time + 1000000000, round_id = NULL"},
    {"AllocationBeforeItsJob", "tasks_in_time", "UPDATE allocations SET start_time = start_time - 1, round_id = NULL"},
    {"TasksOfARun", "runs_sized", "UPDATE runs SET tasks = tasks + 1"},
    {"GpusOfARun", "runs_sized", "UPDATE runs SET gpu_milli = gpu_milli - 500"},
    {"NodesOfARun", "runs_sized", "UPDATE runs SET nodes = '[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\",\"i\"]'"},
    {"NegativeLostWork", "evictions_true", "UPDATE evictions SET lost_gpu_milli_s = -1 WHERE id = 1"},
    {"VictimIsBeneficiary", "evictions_true", "UPDATE evictions SET beneficiary_id = victim_id WHERE id = 1"},
    {"RuleOfAnEviction", "evictions_true", "UPDATE evictions SET rule = 'priority' WHERE id = 1"},
    {"EvictionOfARoundToCome", "evictions_true", "UPDATE evictions SET round_id = 4711 WHERE id = 1"},
    {"EvictionAtAnotherTime", "evictions_true", "UPDATE evictions SET time = time + 1 WHERE id = 1"},
    {"EvictionOfNoTasks", "evictions_true", "UPDATE evictions SET tasks = 0 WHERE id = 1"},
    {"VictimsQueue", "evictions_of_jobs", "UPDATE evictions SET victim_queue_id = 1 WHERE id = 1"},
    {"BeneficiarysQueue", "evictions_of_jobs",
     "UPDATE evictions SET beneficiary_queue_id = victim_queue_id WHERE id = 1"},
    {"EvictionForNobody", "evictions_of_jobs", "UPDATE evictions SET beneficiary_id = 4711 WHERE id = 1"},
    {"EvictionOfNobody", "evictions_of_jobs", "UPDATE evictions SET victim_id = 4711 WHERE id = 1"},
    {"EvictionOfTooManyTasks", "evictions_of_jobs", "UPDATE evictions SET tasks = 4711 WHERE id = 1"},
    {"EvictionOfAPart", "evictions_of_jobs", "UPDATE evictions SET whole = 1 - whole WHERE id = 1"},
    {"CountOfEvictions", "evictions_counted", "UPDATE jobs SET evictions = evictions + 1 WHERE name = 'waits'"},
    {"EvictionIsMissing", "evictions_counted",
     "DELETE FROM evictions WHERE id = (SELECT max(id) FROM evictions WHERE state IN ('stopping', 'done'))"},
    {"StopsForAnother", "stops_as_decided", "UPDATE stopping_jobs SET beneficiary_id = beneficiary_id + 1"},
    {"Attained", "attained_by_runs", "UPDATE jobs SET attained_milli_s = attained_milli_s + 1 WHERE name = 'old'"},
    {"AttainedOfAnElasticJob", "attained_by_runs", "UPDATE jobs SET attained_milli_s = -5 WHERE name = 'elastic'"},
    {"TooMuchOfAnElasticJob", "attained_by_runs",
     "UPDATE jobs SET attained_milli_s = 10000000000000 WHERE name = 'elastic'"},
    {"PastUse", "past_use_known", "INSERT OR REPLACE INTO decayed_usage VALUES (1, -1, 0)"},
    {"UnknownModelInAGroup", "models_known",
     "UPDATE task_groups SET models = 'A100|B200' WHERE job_id = (SELECT id FROM jobs WHERE name = 'waits')"},
    {"UnknownSetting", "readable", "INSERT INTO settings VALUES ('oder_policy', 'fifo')"},
    {"UnreadableSetting", "readable", "UPDATE settings SET value = 'soon' WHERE key = 'min_runtime'"},
    {"StartsOfARound", "rounds_counted", "UPDATE rounds SET started_jobs = started_jobs + 1 WHERE id = 1"},
    {"TasksOfARound", "rounds_counted", "UPDATE rounds SET placed_tasks = 0 WHERE id = 1"},
    {"WaitsOfARound", "rounds_counted", "UPDATE rounds SET waiting_jobs = -1 WHERE id = (SELECT max(id) FROM rounds)"},
    {"LastDecisionIsMissing", "rounds_counted",
     "DELETE FROM decisions WHERE round_id = 1 AND seq = (SELECT max(seq) FROM decisions WHERE round_id = 1)"},
    {"WaitDecisionsAreMissing", "rounds_counted", "DELETE FROM decisions WHERE kind = 'wait'"},
    {"AllDecisionsAreMissing", "rounds_counted", "DELETE FROM decisions"},
    {"DecisionAboutNobody", "decisions_of_jobs", "UPDATE decisions SET job_id = 4711 WHERE round_id = 1"},
    {"DecisionAboutAnother", "placed_by_rounds",
     "UPDATE decisions SET job_id = (SELECT id FROM jobs WHERE name = 'old') WHERE kind = 'start' AND job_id = (SELECT "
     "id FROM jobs WHERE name = 'serve1')"},
    {"TasksOfADecision", "placed_by_rounds",
     "UPDATE decisions SET detail = '{\"tasks\":0}' WHERE kind = 'start' AND job_id = (SELECT id FROM jobs WHERE name "
     "= "
     "'serve1')"},
    {"TasksOfARoundToCome", "placed_by_rounds", "UPDATE allocations SET round_id = 4711"},
    {"ChangesOfAMomentToCome", "history_of_moments", "UPDATE history_changes SET moment_id = 4711"},
    {"ChangesOfUnknownColumns", "history_of_moments", "UPDATE history_changes SET layout_id = 4711"},
    {"RoundOnAStateToCome", "rounds_in_order", "UPDATE rounds SET state_version = 4711"},
    {"RoundsOutOfOrder", "rounds_in_order", "UPDATE rounds SET state_version = 0 WHERE id = 2"},
    {"PartOfARecordIsMissing", "records",
     "DELETE FROM record_parts WHERE id NOT IN (SELECT input_parts FROM round_records UNION SELECT plan_parts FROM "
     "round_records) AND id = (SELECT max(id) - 2 FROM record_parts)"},
    {"ListOfARecordIsMissing", "records",
     "DELETE FROM record_parts WHERE id = (SELECT max(plan_parts) FROM round_records)"},
    {"IdsBeginAgain", "ids_go_on", "DELETE FROM sqlite_sequence WHERE name = 'jobs'"},
    {"RoomIsHeldOnNoDevice", "reserved_devices_exist", "UPDATE reserved_tasks SET device_mask = device_mask << 8"},
    {"RoomIsHeldOnTooFewDevices", "reserved_as_asked", "UPDATE reserved_tasks SET device_mask = 1"},
    {"RoomIsHeldOfOtherCpu", "reserved_as_asked", "UPDATE reserved_tasks SET cpu_milli = cpu_milli + 1"},
    {"RoomIsHeldOfOtherMemory", "reserved_as_asked", "UPDATE reserved_tasks SET memory_mib = memory_mib + 1"},
    {"RoomIsHeldOfOtherShares", "reserved_as_asked", "UPDATE reserved_tasks SET gpu_milli = gpu_milli - 1"},
    {"DeviceMemoryOfATask", "device_memory_as_asked",
     "UPDATE allocations SET gpu_memory_mib = gpu_memory_mib - 1 WHERE gpu_memory_mib > 1"},
    {"RoomIsHeldOnNoNode", "reserved_as_asked", "UPDATE reserved_tasks SET node_id = 4711"},
    {"FailuresWithoutRuns", "failures_counted", "UPDATE jobs SET failures = 2 WHERE name = 'old'"},
    {"PredictionsFall", "predictions_rise",
     "UPDATE jobs SET predicted_p50_s = 9, predicted_p80_s = 8, predicted_p90_s = 7 WHERE name = 'old'"},
    {"SizesOverlap", "run_sizes_apart",
     "INSERT INTO run_sizes SELECT id, 10, 20, 1 FROM jobs WHERE name = 'elastic' UNION ALL SELECT id, 15, 25, 2 FROM "
     "jobs "
     "WHERE name = 'elastic'"},
    {"SizeThatNobodyAskedFor", "run_sizes_asked",
     "INSERT INTO run_sizes SELECT id, start_time, start_time + 10, 4711000 FROM jobs WHERE name = 'elastic'"},
    {"SizesWithAGap", "run_sizes_asked",
     "INSERT INTO run_sizes SELECT id, start_time + 5, start_time + 10, 1000 FROM jobs WHERE name = 'elastic'"},
    {"UnknownCause", "readable",
     "INSERT INTO wait_stretches SELECT id, 1, 2, 'heldx', NULL FROM jobs WHERE name = 'old'"},
    {"UnknownReason", "readable", "UPDATE jobs SET wait_reason = 'cpux' WHERE name = 'waits'"},
    {"QueueBelowItself", "queue_tree", "UPDATE queues SET parent_id = id WHERE name = 'train'"},
    {"QueuesInACircle", "queue_tree",
     "UPDATE queues SET parent_id = (SELECT id FROM queues WHERE name = 'train') WHERE name = 'all'"},
    {"EventIsMissing", "changes_journalled", "DELETE FROM events WHERE state_version = 5"},
    {"UseOfAQueue", "borrowing_sums", "UPDATE queue_use SET gpu_milli = gpu_milli + 1000"},
    {"QueueOfAnAccount", "borrowing_sums", "UPDATE account_rates SET queue = queue || 'x'"},
    {"ModelOfAnAccount", "borrowing_sums", "UPDATE account_rates SET device_model = device_model || 'x'"},
    {"RatesOfAnAccount", "borrowing_sums", "UPDATE account_rates SET owned = owned + 1"},
    {"AccountIsMissing", "borrowing_sums", "DELETE FROM account_rates WHERE id = (SELECT min(id) FROM account_rates)"},
    {"TriggerIsMissing", "schema_whole", "SELECT 1"},
    {"TextOfAnEvent", "rows_unchanged", "UPDATE events SET detail = 'b' || substr(detail, 2) WHERE id = 3"},
    {"StatementOfAnEvent", "rows_unchanged", "UPDATE events SET statement = 'x' WHERE id = 3"},
    {"TextOfAPlan", "rows_unchanged", "UPDATE plans SET plan_json = replace(plan_json, 'best_fit', 'best_fiu')"},
    {"NameOfAGroup", "rows_unchanged", "UPDATE task_groups SET name = 'maio' WHERE job_id = 1"},
    {"PoolOfAGroup", "rows_unchanged", "UPDATE task_groups SET pool_id = 1 WHERE job_id = 2"},
    {"CommandOfAJob", "rows_unchanged", "UPDATE jobs SET command = 'rm -rf' WHERE name = 'command'"},
    {"WaitingJobsOfARound", "rows_unchanged", "UPDATE rounds SET waiting_jobs = 99 WHERE id = 2"},
    {"PlacedTasksOfARound", "rows_unchanged", "UPDATE rounds SET placed_tasks = 99 WHERE id = 2"},
    {"OrderOfARound", "rows_unchanged", "UPDATE rounds SET order_policy = 'fifo' WHERE id = 2"},
    {"AmountOfALoanThatIsOver", "rows_unchanged", "UPDATE loans SET amount = 999 WHERE state = 'returned'"},
    {"EndOfALoanThatIsOver", "rows_unchanged", "UPDATE loans SET valid_to = valid_to + 1 WHERE state = 'returned'"},
    {"VariablesOfAJob", "rows_unchanged", "UPDATE jobs SET environment = '{\"A\":\"2\"}' WHERE name = 'command'"},
};

class Damages : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    change([](Change& c) -> Status {
      for (const auto& [key, value] : {std::pair{"min_runtime", "0s"},
                                       {"pending_delay", "0s"},
                                       {"eviction_cooldown", "0s"},
                                       {"order_policy", "fair_share"},
                                       {"score_policy", "best_fit"},
                                       {"default_duration", "1h"}}) {
        BERTH_TRY(set_setting(c, key, value));
      }
      const QuotaSetting owned[] = {{.resource = "A100", .amount = 16000}};
      BERTH_TRY(set_quota(c, "train", owned));
      return set_quota(c, "serve", owned);
    });
    change([](Change& c) -> Status {
      BERTH_ASSIGN(const std::int64_t loan, add_loan(c, {.lender = "train",
                                                         .borrower = "serve",
                                                         .resource = "A100",
                                                         .amount = 1000,
                                                         .until = c.now() + Seconds(3600)}));
      return return_loan(c, loan).status();
    });
    submit("twice", "serve", 3);
    round();
    pass(600);
    submit("old", "train", 2);
    round();
    pass(1800);
    end("old", JobState::kFinished);
    round();
    pass(60);
    end("twice", JobState::kFinished);
    JobRequest elastic = request("elastic", "serve", 4);
    elastic.groups[0].models = {"T4"};
    elastic.groups[0].gpu_count = 1;
    elastic.groups[0].min_tasks = 1;
    submit(elastic);
    for (const char* name : {"serve1", "serve2", "serve3"}) submit(name, "serve", 1);
    round();
    pass(600);
    JobRequest graceful = request("graceful", "serve", 1);
    graceful.terms.checkpoint_grace = Seconds(600);
    submit(graceful);
    round();
    pass(600);
    submit("owner", "train", 2);
    round();
    pass(60);
    JobRequest command = request("command", "train", 4);
    command.command = {.command = "true", .environment = {{"A", "1"}}};
    submit(command);
    submit("waits", "train", 4);
    round();
    pass(60);
    must_have(save_round_plan(*runtime_));
  }

  void change(const std::function<Status(Change&)>& body) { EXPECT_OK(runtime_->change(body).status()); }
  static JobRequest request(const std::string& name, const std::string& queue, std::int64_t tasks) {
    TaskGroupRequest asked = group(tasks, 8);
    asked.models = {"A100"};
    JobRequest request = job(name, {asked});
    request.queue = queue;
    return request;
  }
  void submit(const JobRequest& request) {
    change([&](Change& c) { return submit_job(c, request).status(); });
  }
  void submit(const std::string& name, const std::string& queue, std::int64_t tasks) {
    submit(request(name, queue, tasks));
  }
  void end(const std::string& name, JobState state) {
    change([&](Change& c) -> Status {
      BERTH_ASSIGN(const std::int64_t id, find_job(c.db(), name));
      return end_job(c, id, state);
    });
  }
  void round() { must_have(run_round(*runtime_)); }
  void pass(std::int64_t seconds) { env_.advance(Seconds(seconds)); }

  // A copy of the database as it is, without its triggers.
  Database copy(const std::string& name) {
    EXPECT_OK(runtime_->db().execute("VACUUM INTO '" + path(name) + "'"));
    Database db = must_have(Database::open(path(name), Access::kReadWrite));
    EXPECT_OK(db.execute("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON; PRAGMA synchronous = OFF"));
    std::vector<std::string> triggers;
    {
      Statement rows = must_have(db.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'"));
      while (rows.next()) triggers.emplace_back(rows.text(0));
    }
    for (const std::string& trigger : triggers) EXPECT_OK(db.execute("DROP TRIGGER " + trigger));
    return db;
  }
};

TEST_F(Damages, ALivedInDatabaseIsWhole) {
  expect_healthy(runtime_->db());
  EXPECT_GT(must_have(runtime_->db().integer("SELECT count(*) FROM evictions")), 1);
  EXPECT_GT(must_have(runtime_->db().integer("SELECT count(*) FROM stopping_jobs")), 0);
  EXPECT_GT(must_have(runtime_->db().integer("SELECT count(*) FROM reserved_tasks")), 0);
  EXPECT_GT(must_have(runtime_->db().integer("SELECT count(*) FROM jobs WHERE quota_mark <> 0")), 0);
  EXPECT_GT(must_have(runtime_->db().integer("SELECT count(*) FROM runs WHERE attempt > 1 OR state = 'evicted'")), 0);
}

TEST_F(Damages, EachIsFound) {
  std::set<std::string_view> tried;
  for (const Damage& damage : kDamages) {
    Database db = copy(std::string(damage.name) + ".db");
    EXPECT_OK(db.execute(damage.sql));
    std::string found;
    for (const Finding& finding : must_have(check_state(db))) {
      if (finding.promise == damage.promise) found = finding.sentence;
    }
    EXPECT_FALSE(found.empty()) << damage.name << ": " << damage.promise << " is not found broken";
    tried.insert(damage.promise);
  }
  for (const PromiseQuery& query : work_promises()) {
    EXPECT_TRUE(tried.contains(query.promise.name)) << query.promise.name << " is not tested";
  }
}

// A statement that looks at the tree says so, and ends.
TEST_F(Damages, ARoundRefusesQueuesInACircle) {
  {
    Database db = must_have(Database::open(path(), Access::kReadWrite));
    EXPECT_OK(
        db.execute("DROP TRIGGER queues_tree_update; UPDATE queues SET parent_id = (SELECT id FROM queues WHERE "
                   "name = 'train') WHERE name = 'all'"));
  }
  EXPECT_ERROR(run_round(*runtime_).status(), Code::kCorrupt, "lies below itself");
  EXPECT_ERROR(save_round_plan(*runtime_).status(), Code::kCorrupt, "lies below itself");
}

TEST_F(Damages, ATriggerRefusesQueuesInACircle) {
  Database db = must_have(Database::open(path(), Access::kReadWrite));
  for (const char* sql :
       {"UPDATE queues SET parent_id = (SELECT id FROM queues WHERE name = 'train') WHERE name = 'all'",
        "INSERT OR REPLACE INTO queues (id, name, parent_id) SELECT a.id, a.name, t.id FROM queues a, "
        "queues t WHERE a.name = 'all' AND t.name = 'train'",
        "INSERT INTO queues (id, name, parent_id) VALUES (99, 'self', 99)"}) {
    EXPECT_FALSE(db.execute(sql).ok()) << sql;
  }
}

}  // namespace
}  // namespace berth::test
