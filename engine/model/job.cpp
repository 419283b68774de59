#include "engine/model/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "engine/base/text.h"

namespace berth {

namespace {

constexpr std::array<std::pair<Locality, std::string_view>, 4> kLocalityNames = {{
    {Locality::kAny, "any"},
    {Locality::kRack, "rack"},
    {Locality::kNode, "node"},
    {Locality::kLinkGroup, "link_group"},
}};

constexpr std::array<std::pair<JobState, std::string_view>, 6> kJobStateNames = {{
    {JobState::kPending, "pending"},
    {JobState::kHeld, "held"},
    {JobState::kRunning, "running"},
    {JobState::kFinished, "finished"},
    {JobState::kFailed, "failed"},
    {JobState::kCancelled, "cancelled"},
}};

struct JobEdge {
  JobState from;
  JobState to;
};

constexpr JobEdge kJobEdges[] = {
    {JobState::kPending, JobState::kRunning},    // a round started its gang
    {JobState::kPending, JobState::kHeld},       // HOLD
    {JobState::kPending, JobState::kCancelled},  // CANCEL
    {JobState::kHeld, JobState::kPending},       // RELEASE
    {JobState::kHeld, JobState::kCancelled},     // CANCEL
    {JobState::kRunning, JobState::kFinished},   // it ended well
    {JobState::kRunning, JobState::kFailed},     // it ended badly
    {JobState::kRunning, JobState::kCancelled},  // CANCEL
    {JobState::kRunning, JobState::kPending},    // evicted, or lost its node
};

}  // namespace

std::string_view locality_name(Locality locality) { return kLocalityNames[static_cast<std::size_t>(locality)].second; }

Result<Locality> read_locality(std::string_view text) {
  for (const auto& [locality, name] : kLocalityNames) {
    if (equals_ignoring_case(name, text)) return locality;
  }
  return Status(Code::kInvalid, fmt::format("'{}' is not a locality (any, rack, node, link_group)", text));
}

std::string_view job_state_name(JobState state) { return kJobStateNames[static_cast<std::size_t>(state)].second; }

Result<JobState> read_job_state(std::string_view text) {
  for (const auto& [state, name] : kJobStateNames) {
    if (equals_ignoring_case(name, text)) return state;
  }
  return Status(Code::kInvalid,
                fmt::format("'{}' is not a job state (pending, held, running, finished, failed, cancelled)", text));
}

bool job_may_change(JobState from, JobState to) {
  return std::any_of(std::begin(kJobEdges), std::end(kJobEdges),
                     [&](const JobEdge& edge) { return edge.from == from && edge.to == to; });
}

Job gang_of(const Job& job) {
  Job gang = job;
  for (TaskGroup& group : gang.groups) group.count = std::max(group.min_tasks, group.placed);
  return gang;
}

bool has_its_gang(const Job& job) {
  return std::ranges::all_of(job.groups, [](const TaskGroup& group) { return group.placed >= group.min_tasks; });
}

bool is_elastic(const Job& job) {
  return std::ranges::any_of(job.groups, [](const TaskGroup& group) { return group.min_tasks < group.count; });
}

const Job* find_job(std::span<const Job> jobs, std::int64_t id) {
  const auto found = std::ranges::lower_bound(jobs, id, {}, &Job::id);
  return found == jobs.end() || found->id != id ? nullptr : &*found;
}

}  // namespace berth
