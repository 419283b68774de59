#include "engine/model/snapshot.h"

#include <algorithm>

#include "engine/model/quota.h"

namespace berth {

namespace {

// How many of the limits it may reach.
std::int32_t limit_class_of(const Job& job, const std::vector<Seconds>& limits) {
  if (job.time_limit == Seconds(0)) return TaskShape::kUnlimited;
  return static_cast<std::int32_t>(std::ranges::upper_bound(limits, job.time_limit) - limits.begin());
}

void close_to_long_jobs(Snapshot& snapshot) {
  if (snapshot.kept_out.empty()) return;
  std::vector<Seconds> limits;
  for (const KeptOutNode& each : snapshot.kept_out) limits.push_back(each.limit);
  std::ranges::sort(limits);
  limits.erase(std::unique(limits.begin(), limits.end()), limits.end());
  Cluster& cluster = snapshot.cluster;
  for (const KeptOutNode& each : snapshot.kept_out) {
    Node& node = cluster.nodes[static_cast<std::size_t>(each.node)];
    NodeKind kind = cluster.kinds[static_cast<std::size_t>(node.kind)];
    kind.keeps_out = static_cast<std::int32_t>(std::ranges::lower_bound(limits, each.limit) - limits.begin()) + 1;
    kind.takes_unlimited = each.takes_unlimited;
    node.kind = cluster.add_kind(kind);
  }
  const auto classify = [&](Job& job) {
    for (TaskGroup& group : job.groups) group.shape.limit_class = limit_class_of(job, limits);
  };
  for (Job& job : snapshot.jobs) classify(job);
  for (RunningJob& run : snapshot.running) classify(run.job);
}

}  // namespace

void apply_kept_out(Snapshot& snapshot) {
  close_to_long_jobs(snapshot);
  for (const EvictsNobody& each : snapshot.evict_nobody) {
    const auto job = std::ranges::find(snapshot.jobs, each.job, &Job::id);
    if (job != snapshot.jobs.end()) job->eviction.evicts_from = each.until;
  }
}

}  // namespace berth
