// Philly's 82,247 jobs on 80 nodes of 8 GPUs, its virtual clusters as queues.
//
// Quota of a virtual cluster = GPUs of its nodes x 640 / 2,816, rounded down; those without nodes have none and borrow.
// With quotas multi-GPU jobs are gangs of one-GPU tasks that prefer one node, so that no quota is blocked by where free
// GPUs lie. Only for tests and benches; needs the folder that $BERTH_SHARED names.
#pragma once

#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/sim/timed.h"
#include "engine/sim/trace_model.h"

namespace berth::test {

inline constexpr std::int32_t kPhillyNodes = 80;
inline constexpr std::int32_t kPhillyNodeGpus = 8;
inline constexpr std::int64_t kPublishedGpus = 2816;

struct PhillyWorld {
  Cluster cluster;
  std::vector<TraceJob> as_read;  // one task up to 8 GPUs, gangs above
  std::vector<TraceJob> jobs;     // gangs of one-GPU tasks
  std::map<std::string, std::int64_t> quota_gpus;
};

inline std::string philly_folder() {
  const char* folder = std::getenv("BERTH_SHARED");
  return (folder != nullptr ? std::string(folder) : std::string("../shared")) + "/traces/philly/";
}

inline Result<PhillyWorld> philly_world() {
  PhillyWorld world;
  std::vector<TraceNode> nodes;
  for (int i = 0; i < kPhillyNodes; ++i) {
    TraceNode node;
    node.name = fmt::format("n{:02}", i + 1);
    node.cpu = MilliCpu(64000);
    node.memory = MiB(512 * 1024);
    node.devices = kPhillyNodeGpus;
    node.model = "GPU";
    nodes.push_back(std::move(node));
  }
  BERTH_ASSIGN(world.cluster, cluster_from(nodes));
  BERTH_ASSIGN(ReadRecords<TraceJob> read, read_trace_jobs("philly", philly_folder() + "philly_jobs.csv.gz"));
  world.jobs = std::move(read.records);
  sort_by_submit(world.jobs);
  world.as_read = world.jobs;
  for (TraceJob& job : world.jobs) {
    std::int64_t gpus = 0;
    for (const TraceTaskGroup& group : job.groups) gpus += std::int64_t{group.tasks} * group.gpu_count;
    TraceTaskGroup gang;
    gang.tasks = gang.min_tasks = static_cast<std::int32_t>(gpus);
    gang.gpu_count = 1;
    gang.gpu_milli = kWholeDevice;
    gang.locality = gpus > 1 && gpus <= kPhillyNodeGpus ? Locality::kNode : Locality::kAny;
    gang.locality_required = false;
    job.groups = {gang};
    job.user = job.queue;
  }
  BERTH_ASSIGN(const ReadRecords<TraceNode> owned, read_trace_nodes("philly", philly_folder() + "philly_vc_nodes.csv"));
  for (const TraceNode& node : owned.records) world.quota_gpus[node.pool] += node.devices;
  for (auto& [queue, gpus] : world.quota_gpus) gpus = gpus * kPhillyNodes * kPhillyNodeGpus / kPublishedGpus;
  return world;
}

// The trace `times` over, one after the other, without ever holding it: for memory.
class RepeatedReader : public JobReader {
 public:
  RepeatedReader(const std::vector<TraceJob>& jobs, int times)
      : jobs_(jobs), times_(times), span_(jobs.back().submit - jobs.front().submit) {}
  Result<bool> next(TraceJob& record) override {
    if (at_ == jobs_.size()) {
      at_ = 0;
      ++round_;
    }
    if (round_ == times_) return false;
    record = jobs_[at_++];
    record.submit += span_ * round_;
    return true;
  }

 private:
  const std::vector<TraceJob>& jobs_;
  int times_;
  Seconds span_;
  std::size_t at_ = 0;
  int round_ = 0;
};

inline Result<TimedInput> philly_input(const PhillyWorld& world, bool with_quotas, int times = 1) {
  const std::vector<TraceJob>& jobs = with_quotas ? world.jobs : world.as_read;
  BERTH_ASSIGN(TimedInput input, timed_from(world.cluster, [&jobs, times]() -> Result<std::unique_ptr<JobReader>> {
                 return std::unique_ptr<JobReader>(std::make_unique<RepeatedReader>(jobs, times));
               }));
  if (!with_quotas) return input;
  QuotaResource gpu;
  gpu.name = "gpu";
  input.quotas.resources = {gpu};
  for (const Queue& queue : input.queues) {
    QuotaTerms terms;
    terms.has_quota = true;
    const auto owned = world.quota_gpus.find(queue.name);
    terms.quota = owned == world.quota_gpus.end() ? 0 : owned->second * kWholeDevice.value();
    input.quotas.terms.push_back({terms});
  }
  return input;
}

}  // namespace berth::test
