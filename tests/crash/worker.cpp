// The process that crash_test kills: performs random statements and rounds on a database and prints a line after each
// one that was accepted - "<state version>|<event kind>|<event object>" - unbuffered, so that what was printed was
// acknowledged.
//
//   crash_worker run DATABASE SEED      statements until killed
//   crash_worker load DATABASE FILE     one SNAPSHOT LOAD
//   crash_worker open DATABASE          opens it (and migrates)

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "engine/base/env.h"
#include "engine/round/schedule.h"
#include "engine/store/apply.h"
#include "engine/store/change.h"
#include "engine/store/cluster_records.h"
#include "engine/store/job_records.h"
#include "engine/store/lease.h"
#include "engine/store/load.h"
#include "engine/store/open.h"
#include "engine/store/queue_records.h"
#include "engine/store/snapshot_file.h"

namespace berth {
namespace {

constexpr std::int64_t kMostLiveJobs = 60;

class Worker {
 public:
  Worker(Database& db, std::uint64_t seed) : db_(db), random_(seed) {}

  Status run() {
    BERTH_TRY(make_cluster());
    while (true) BERTH_TRY(step());
  }

 private:
  Status make_cluster() {
    BERTH_ASSIGN(const std::int64_t queues, db_.integer("SELECT count(*) FROM queues"));
    if (queues > 0) return {};
    return statement([](Change& change) -> Status {
      BERTH_TRY(add_device_model(change, {"A100", MiB(81920), 1.0}));
      BERTH_TRY(add_node_type(change, {"a100x8", MilliCpu(128000), MiB(1048576), "A100", 8, ""}));
      std::vector<NodeRequest> nodes;
      for (int i = 0; i < 12; ++i) nodes.push_back({"n" + std::to_string(i), "a100x8", "", "", {}});
      BERTH_TRY(add_nodes(change, nodes));
      return add_queue(change, {"train", ""});
    });
  }

  Status step() {
    switch (random_.below(10)) {
      case 0:
      case 1: return submit();
      case 2:
      case 3:
      case 4: return round();
      case 5:
        return end_one("running", [](Change& c, std::int64_t job) { return end_job(c, job, JobState::kFinished); });
      case 7: return evict();
      case 8: return end_one("pending", [](Change& c, std::int64_t job) { return hold_job(c, job); });
      case 9: return end_one("held", [](Change& c, std::int64_t job) { return release_job(c, job); });
      case 6: return end_one("pending", [](Change& c, std::int64_t job) { return cancel_job(c, job); });
      default: return turn_node();
    }
  }

  template <class Body>
  Status statement(Body&& body) {
    BERTH_ASSIGN(Change change, Change::begin(db_, "worker", env_.now()));
    BERTH_TRY(body(change));
    BERTH_ASSIGN(const std::int64_t version, change.commit());
    return acknowledge(version);
  }

  // Says what the journal holds for that version.
  Status acknowledge(std::int64_t version) {
    BERTH_ASSIGN(Statement row,
                 db_.prepare("SELECT kind, object FROM events WHERE state_version = ?1 ORDER BY id DESC LIMIT 1"));
    if (!row.with(version).next()) return Status(Code::kInternal, "a version without an event");
    const std::string line =
        std::to_string(version) + "|" + std::string(row.text(0)) + "|" + std::string(row.text(1)) + "\n";
    if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) return Status(Code::kUnavailable, "nobody listens");
    return {};
  }

  Status submit() {
    BERTH_ASSIGN(const std::int64_t live,
                 db_.integer("SELECT count(*) FROM jobs WHERE state IN ('pending', 'running')"));
    if (live > kMostLiveJobs) return {};
    return statement([this](Change& change) -> Status {
      BERTH_ASSIGN(Submitter submitter, Submitter::make(change));
      for (std::uint64_t i = 0; i <= random_.below(4); ++i) {
        JobRequest job;
        job.queue = "train";
        for (std::uint64_t groups = 0; groups <= random_.below(2); ++groups) job.groups.push_back(random_group());
        BERTH_TRY(submitter.submit(job).status());
      }
      return submitter.finish();
    });
  }

  TaskGroupRequest random_group() {
    TaskGroupRequest group;
    group.count = 1 + static_cast<std::int64_t>(random_.below(6));
    group.cpu = MilliCpu(1000);
    group.memory = MiB(1024);
    group.gpu_count = static_cast<std::int64_t>(random_.below(5));
    if (group.gpu_count == 1) group.gpu_milli = MilliGpu(static_cast<std::int64_t>(100 + random_.below(900)));
    return group;
  }

  Status round() {
    BERTH_ASSIGN(const Lease lease, Lease::acquire(db_, {.name = "round", .holder = "worker", .now = env_.now()}));
    BERTH_ASSIGN(Loaded loaded, load_state(db_, {.now = env_.now()}));
    loaded.snapshot.order_policy = "fifo";
    loaded.snapshot.score_policy = "best_fit";
    BERTH_ASSIGN(const ScheduleResult planned, plan_schedule(loaded.snapshot));
    BERTH_ASSIGN(const ApplyResult applied, apply_plan(db_, planned.plan,
                                                       {.kind = "schedule",
                                                        .actor = "worker",
                                                        .now = env_.now(),
                                                        .seconds = {},
                                                        .last_reasons = loaded.last_reasons,
                                                        .plan_id = 0}));
    return acknowledge(applied.version);
  }

  // A round that evicts some running jobs for some waiting one, now or after a grace, and holds room for it.
  Status evict() {
    BERTH_ASSIGN(const Lease lease, Lease::acquire(db_, {.name = "round", .holder = "worker", .now = env_.now()}));
    BERTH_ASSIGN(Loaded loaded, load_state(db_, {.now = env_.now()}));
    const Snapshot& snapshot = loaded.snapshot;
    const auto waits = std::ranges::find(snapshot.jobs, JobState::kPending, &Job::state);
    if (snapshot.running.empty() || waits == snapshot.jobs.end()) return {};
    Plan plan;
    plan.version = snapshot.version;
    plan.planned_at = snapshot.now;
    const std::size_t first = random_.below(snapshot.running.size());
    for (std::size_t i = first; i < std::min(first + 3, snapshot.running.size()); ++i) {
      const Seconds grace(static_cast<std::int64_t>(random_.below(2)));
      plan.evictions.push_back(
          {.job = snapshot.running[i].job.id, .beneficiary = waits->id, .stop_at = plan.planned_at + grace});
    }
    Reservation room{.job = waits->id, .made_at = plan.planned_at, .expected = plan.planned_at, .tasks = {}};
    const std::size_t node = random_.below(snapshot.cluster.nodes.size());
    const NodeKind& kind = snapshot.cluster.kind_of(node);
    const TaskShape& shape = waits->groups.front().shape;
    if (shape.gpu_count <= kind.device_count) {
      const DeviceMask devices = (DeviceMask{1} << shape.gpu_count) - 1;
      room.tasks.push_back(
          {0, 0, snapshot.cluster.nodes[node].id, holding_for(shape, kind, static_cast<NodeIndex>(node), devices)});
      plan.reservations.push_back(room);
    }
    BERTH_ASSIGN(const ApplyResult applied, apply_plan(db_, plan,
                                                       {.kind = "schedule",
                                                        .actor = "worker",
                                                        .now = env_.now(),
                                                        .seconds = {},
                                                        .last_reasons = loaded.last_reasons,
                                                        .plan_id = 0}));
    return acknowledge(applied.version);
  }

  template <class End>
  Status end_one(const std::string& state, End&& end) {
    BERTH_ASSIGN(Statement rows, db_.prepare("SELECT id FROM jobs WHERE state = ?1 ORDER BY id"));
    rows.with(state);
    std::vector<std::int64_t> jobs;
    while (rows.next()) jobs.push_back(rows.integer(0));
    BERTH_TRY(rows.status());
    if (jobs.empty()) return {};
    const std::int64_t job = jobs[random_.below(jobs.size())];
    return statement([&](Change& change) { return end(change, job); });
  }

  Status turn_node() {
    const std::vector<std::string> node = {"n" + std::to_string(random_.below(12))};
    BERTH_ASSIGN(const std::string state, db_.text("SELECT state FROM nodes WHERE name = '" + node[0] + "'"));
    return statement(
        [&](Change& change) { return state == "up" ? drain_nodes(change, node) : resume_nodes(change, node); });
  }

  Database& db_;
  Random random_;
  SystemEnv env_;
};

Status run_worker(const std::vector<std::string>& arguments) {
  if (arguments.size() < 2) return Status(Code::kInvalid, "too few arguments");
  BERTH_ASSIGN(Database db, open_state(arguments[1]));
  if (arguments[0] == "run" && arguments.size() == 3) return Worker(db, std::stoull(arguments[2])).run();
  if (arguments[0] == "load" && arguments.size() == 3)
    return load_snapshot(db, arguments[2], "worker", Seconds(1)).status();
  return {};
}

}  // namespace
}  // namespace berth

int main(int count, char** arguments) {
  const berth::Status status = berth::run_worker(std::vector<std::string>(arguments + 1, arguments + count));
  if (!status.ok()) std::cerr << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
