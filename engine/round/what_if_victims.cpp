#include "engine/round/what_if_victims.h"

#include <algorithm>
#include <functional>
#include <span>

#include "engine/round/room_search.h"
#include "engine/round/schedule.h"
#include "engine/round/victims.h"

namespace berth {

namespace {

constexpr int kMostRoomTries = 16;

Snapshot without_eviction_rules(const Snapshot& snapshot) {
  Snapshot relaxed = snapshot;
  relaxed.rules.preemption = Preemption::kNone;
  relaxed.rules.told_still_stop = true;
  relaxed.rules.eviction_budget = -1;
  for (Queue& queue : relaxed.queues) queue.eviction_budget = -1;
  return relaxed;
}

// `queue`, an index, is the queue with that id or below it.
bool is_below(const Snapshot& snapshot, std::int32_t queue, std::int64_t id) {
  for (; queue >= 0; queue = snapshot.queues[static_cast<std::size_t>(queue)].parent) {
    if (snapshot.queues[static_cast<std::size_t>(queue)].id == id) return true;
  }
  return false;
}

// Of the first of `jobs` that does not fit beside those before it when the victims have gone, the group; null = all
// fit.
const TaskGroup* first_that_lacks_room(RoundState& state, const VictimIndex& index,
                                       std::span<const std::size_t> victims, std::span<const Job* const> jobs) {
  const Ledger::Checkpoint mark = state.ledger().checkpoint();
  for (const std::size_t victim : victims) {
    for (const RunningTask& task : index[victim].tasks) (void)state.ledger().release(task.holding);
  }
  const TaskGroup* lacks_room = nullptr;
  for (const Job* job : jobs) {
    const JobOutcome outcome = state.placer().place_job(*job);
    if (outcome.started || outcome.needed == 0) continue;
    lacks_room = &job->groups[static_cast<std::size_t>(outcome.group)];
    break;
  }
  state.ledger().rollback(mark);
  return lacks_room;
}

// Without those that turn out not to be needed, the dearest first.
void spare_needless(RoundState& state, const VictimIndex& index, std::span<const Job* const> jobs, Seconds now,
                    std::vector<std::size_t>& victims) {
  const auto lost_by = [&](std::size_t victim) {
    const RunningJob& run = *state.running().find(index[victim].job);
    return lost_work(run, now);
  };
  std::ranges::stable_sort(victims, std::greater<>(), lost_by);
  for (std::size_t i = 0; victims.size() > 1 && i < victims.size();) {
    std::vector<std::size_t> fewer = victims;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (first_that_lacks_room(state, index, fewer, jobs) == nullptr) {
      victims = std::move(fewer);
    } else {
      ++i;
    }
  }
}

}  // namespace

Result<std::vector<ProposedVictim>> victims_for_room(const Snapshot& snapshot, const Job& job, const Job* blocker,
                                                     const std::atomic<bool>* interrupted) {
  const Snapshot relaxed = without_eviction_rules(snapshot);
  BERTH_ASSIGN(const Planning planning, planning_of(relaxed));
  RoundState& state = *planning.state;
  BERTH_TRY(plan_schedule_on(relaxed, state, {.interrupted = interrupted, .until_job = job.id}).status());
  const VictimIndex index(state, relaxed.now, EvictionTimes::kIgnored);
  std::vector<VictimReach> reach;  // not those that the round itself starts
  for (const Victim& victim : index.victims()) {
    const bool runs =
        std::ranges::binary_search(snapshot.running, victim.job, {}, [](const RunningJob& run) { return run.job.id; });
    reach.push_back(runs ? VictimReach::kAll : VictimReach::kNone);
  }
  const std::vector<std::int64_t> lost(relaxed.queues.size() + 1, 0);
  VictimChoice choice(state, index, lost);
  RoomSearch search(state, index, reach, choice, relaxed.now);
  std::vector<ProposedVictim> victims;
  std::vector<const Job*> jobs = {&job};
  if (blocker != nullptr) jobs.insert(jobs.begin(), blocker);
  for (const Job* wanted : jobs) {
    for (const TaskGroup& group : wanted->groups) {
      if (!search.make_room(group)) return victims;
    }
  }
  const TaskGroup* lacks_room = nullptr;
  for (int tries = 0; tries < kMostRoomTries; ++tries) {
    lacks_room = first_that_lacks_room(state, index, choice.chosen(), jobs);
    if (lacks_room == nullptr || !search.make_one_more(*lacks_room)) break;
  }
  std::vector<std::size_t> chosen(choice.chosen().begin(), choice.chosen().end());
  if (lacks_room == nullptr && blocker != nullptr) spare_needless(state, index, jobs, relaxed.now, chosen);
  for (const std::size_t victim : chosen) {
    const RunningJob& run = *state.running().find(index[victim].job);
    victims.push_back({run.job.id, lost_work(run, snapshot.now)});
  }
  std::ranges::sort(victims, {}, &ProposedVictim::job);
  return victims;
}

Result<std::vector<ProposedVictim>> victims_for_quota(const Snapshot& snapshot, const Waiting& refused) {
  const auto named = std::ranges::find(snapshot.quotas.resources, refused.resource, &QuotaResource::name);
  std::vector<ProposedVictim> victims;
  if (named == snapshot.quotas.resources.end()) return victims;
  const auto resource = static_cast<std::size_t>(named - snapshot.quotas.resources.begin());
  BERTH_ASSIGN(const Planning planning, planning_of(snapshot));
  struct Candidate {
    std::int64_t lost;
    std::int64_t job;
    std::int64_t uses;
    auto operator<=>(const Candidate&) const = default;
  };
  std::vector<Candidate> candidates;
  for (const RunningJob& run : planning.state->running().all()) {
    if (!run.job.eviction.preemptible || !is_below(snapshot, run.job.queue, refused.queue)) continue;
    const std::int64_t uses = planning.state->held_by(run).all[resource];
    if (uses > 0) candidates.push_back({lost_work(run, snapshot.now), run.job.id, uses});
  }
  std::ranges::sort(candidates);
  std::int64_t freed = 0;
  std::size_t count = 0;
  for (; count < candidates.size() && freed < refused.short_by; ++count) freed += candidates[count].uses;
  if (freed < refused.short_by) return victims;
  while (count-- > 0) {
    const Candidate& candidate = candidates[count];
    if (freed - candidate.uses >= refused.short_by) {
      freed -= candidate.uses;
    } else {
      victims.push_back({candidate.job, candidate.lost});
    }
  }
  std::ranges::sort(victims, {}, &ProposedVictim::job);
  return victims;
}

}  // namespace berth
