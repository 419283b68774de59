#include "engine/runtime/remedy.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/round/schedule.h"

namespace berth {

namespace {

constexpr MilliGpu kLeastFraction{10};
constexpr std::int64_t kMoreThanThereIs = std::int64_t{1} << 50;  // milli-cores, MiB or milli-GPU

void take_highest_class(const Snapshot& snapshot, Job& job) {
  const auto& classes = snapshot.priority_classes;
  if (classes.empty()) return;
  const auto highest = std::ranges::max_element(classes, {}, &PriorityClass::value);
  job.priority_class = static_cast<std::int32_t>(highest - classes.begin());
}

void share_device(TaskShape& shape) {
  shape.gpu_milli = kLeastFraction;
  shape.gpu_memory = MiB(1);
}

// As far as it goes.
void apply_remedy(Remedy remedy, const RemedyAim& aim, std::int32_t group_index, Job& job, Snapshot& snapshot) {
  const auto terms_of = [&](std::size_t queue) -> QuotaTerms& { return snapshot.quotas.terms[queue][aim.resource]; };
  TaskGroup& group = job.groups[static_cast<std::size_t>(group_index)];
  switch (remedy) {
    case Remedy::kNone: break;
    case Remedy::kResumeNodes:
      for (Node& node : snapshot.cluster.nodes) node.state = NodeState::kUp;
      break;
    case Remedy::kLessCpu: group.shape.cpu = MilliCpu(0); break;
    case Remedy::kLessMemory: group.shape.memory = MiB(0); break;
    case Remedy::kFewerGpus: group.shape.gpu_count = 1; break;
    case Remedy::kFraction:
    case Remedy::kSmallerFraction: share_device(group.shape); break;
    case Remedy::kLessDeviceMemory: group.shape.gpu_memory = MiB(1); break;
    case Remedy::kAnyLinkGroup: group.locality = Locality::kNode; break;
    case Remedy::kWiderLocality: group.locality = Locality::kAny; break;
    case Remedy::kSmallerGang: group.min_tasks = group.placed + 1; break;
    case Remedy::kHigherClass: take_highest_class(snapshot, job); break;
    case Remedy::kEarlierEnd: job.time_limit = Seconds(1); break;
    case Remedy::kBackfill: snapshot.rules.backfill = BackfillMode::kEasy; break;
    case Remedy::kHigherLimit: terms_of(static_cast<std::size_t>(aim.queue)).limit = kNoLimit; break;
    case Remedy::kMoreQuota:
      terms_of(static_cast<std::size_t>(aim.queue)).has_quota = true;
      terms_of(static_cast<std::size_t>(aim.queue)).quota = kMoreThanThereIs;
      break;
    case Remedy::kMoreLending:
      for (std::size_t queue = 0; queue < snapshot.quotas.terms.size(); ++queue) terms_of(queue).lend_limit = kNoLimit;
      break;
  }
}

}  // namespace

std::string remedy_words(Remedy remedy, std::string_view queue) {
  switch (remedy) {
    case Remedy::kNone: return "";
    case Remedy::kResumeNodes: return "bring a node back with RESUME NODE (SHOW NODES; tells which)";
    case Remedy::kLessCpu: return "submit it with less CPU per task";
    case Remedy::kLessMemory: return "submit it with less memory per task";
    case Remedy::kFewerGpus: return "submit it with fewer GPUs per task";
    case Remedy::kFraction: return "submit it as a fraction of a GPU";
    case Remedy::kSmallerFraction: return "submit it with a smaller fraction";
    case Remedy::kLessDeviceMemory: return "submit it with less device memory";
    case Remedy::kAnyLinkGroup: return "submit it WITH (locality = node)";
    case Remedy::kWiderLocality: return "submit it with a wider or a merely preferred locality";
    case Remedy::kSmallerGang: return "submit it with a smaller min_tasks";
    case Remedy::kHigherClass: return "submit it in a higher priority class";
    case Remedy::kEarlierEnd: return "submit it with a time limit that ends before";
    case Remedy::kBackfill: return "SET backfill = easy";
    case Remedy::kHigherLimit: return fmt::format("raise the limit of {}", queue);
    case Remedy::kMoreQuota: return fmt::format("raise the quota of {}", queue);
    case Remedy::kMoreLending: return "raise the lend limit of another";
  }
  return "";
}

Snapshot with_remedy(const Snapshot& snapshot, std::int64_t job, std::int32_t group, Remedy remedy,
                     const RemedyAim& aim) {
  Snapshot fork = snapshot;
  apply_remedy(remedy, aim, group, *std::ranges::find(fork.jobs, job, &Job::id), fork);
  return fork;
}

Result<bool> would_start(const Snapshot& snapshot, std::int64_t job, const std::atomic<bool>* interrupted) {
  BERTH_ASSIGN(const ScheduleResult result, plan_schedule(snapshot, {.interrupted = interrupted, .until_job = job}));
  return std::ranges::find(result.plan.placements, job, &Placement::job) != result.plan.placements.end() ||
         std::ranges::any_of(result.plan.evictions, [job](const Eviction& each) { return each.makes_room_for(job); });
}

}  // namespace berth
