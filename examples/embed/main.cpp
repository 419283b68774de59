// A program of its own that embeds Berth: it describes two nodes, submits a gang and a job that has to wait, runs one
// scheduling round and prints what the round decided.
//
//   embed DATABASE
#include <cstdio>
#include <string>
#include <vector>

#include "engine/base/text.h"
#include "engine/runtime/explanation.h"
#include "engine/runtime/round_driver.h"
#include "engine/runtime/runtime.h"
#include "engine/store/cluster_records.h"
#include "engine/store/job_records.h"
#include "engine/store/names.h"
#include "engine/store/queue_records.h"

using namespace berth;

namespace {

constexpr MiB kGiB{1024};

Status describe_cluster(Change& change) {
  BERTH_TRY(add_device_model(change, {.name = "A100", .memory = kGiB * 80}));
  BERTH_TRY(add_node_type(change, {.name = "a100x8",
                                   .cpu = MilliCpu(128000),
                                   .memory = kGiB * 1024,
                                   .device_model = "A100",
                                   .device_count = 8,
                                   .link_groups = "[0 1 2 3] [4 5 6 7]"}));
  const std::vector<NodeRequest> nodes = {{.name = "node1", .type = "a100x8", .pool = {}, .rack = "r1", .labels = {}},
                                          {.name = "node2", .type = "a100x8", .pool = {}, .rack = "r1", .labels = {}}};
  return add_nodes(change, nodes);
}

JobRequest gang(const std::string& name, std::int64_t tasks, std::int64_t gpus) {
  const TaskGroupRequest group{.count = tasks, .cpu = MilliCpu(16000), .memory = kGiB * 64, .gpu_count = gpus};
  JobRequest job{.name = name, .queue = "research"};
  job.groups.push_back(group);
  return job;
}

Status submit_work(Change& change) {
  BERTH_TRY(add_queue(change, {.name = "research"}));
  BERTH_ASSIGN(const std::int64_t training, submit_job(change, gang("training", 3, 4)));
  BERTH_ASSIGN(const std::int64_t tuning, submit_job(change, gang("tuning", 2, 4)));
  std::printf("submitted jobs %lld and %lld\n", static_cast<long long>(training), static_cast<long long>(tuning));
  return {};
}

Status print_plan(Runtime& runtime, const Plan& plan) {
  for (const Placement& placement : plan.placements) {
    BERTH_ASSIGN(const std::string job, name_of(runtime.db(), Thing::kJob, placement.job));
    BERTH_ASSIGN(const std::string node, name_of(runtime.db(), Thing::kNode, placement.node_id));
    std::printf("%s task %d: %s, devices %s\n", job.c_str(), placement.task, node.c_str(),
                print_device_mask(placement.devices).c_str());
  }
  for (const Waiting& waiting : plan.waiting) {
    BERTH_ASSIGN(const std::string job, name_of(runtime.db(), Thing::kJob, waiting.job));
    BERTH_ASSIGN(const JobExplanation why, explain_job(runtime, job));
    std::printf("%s: %s\n", job.c_str(), why.sentence.c_str());
  }
  return {};
}

Status run(const std::string& database) {
  BERTH_ASSIGN(const std::unique_ptr<Runtime> runtime, Runtime::open({.database = database}));
  BERTH_ASSIGN(std::int64_t version, runtime->change(describe_cluster));
  BERTH_ASSIGN(version, runtime->change(submit_work));
  BERTH_ASSIGN(const RoundReport round, run_round(*runtime));
  std::printf("round %lld started %lld tasks, state version %lld to %lld\n",
              static_cast<long long>(round.applied.round), static_cast<long long>(round.applied.placed_tasks),
              static_cast<long long>(version), static_cast<long long>(round.applied.version));
  return print_plan(*runtime, round.plan);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("usage: embed DATABASE\n", stderr);
    return 2;
  }
  const Status status = run(arguments[1]);
  if (!status.ok()) std::fprintf(stderr, "error: %s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
