// Is what was reserved for a job still room for it? Nodes, their pools and racks, and the job may have changed since.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "engine/model/rules.h"
#include "engine/round/round_state.h"

namespace berth {

// Tasks that the group lacks to start.
std::int32_t tasks_needed(const TaskGroup& group);
// What is to be reserved where these were placed.
std::vector<ReservedTask> reserved_tasks(std::span<const PlacedTask> placed, const Cluster& cluster);
// It is up and these devices are healthy: what was reserved there may be used.
bool may_use_node(const Ledger& ledger, const Holding& holding);
// The reservation still is for what the job asks for, on nodes that can run it, as near each other as it must be.
bool is_room_for(const Reservation& reservation, const Job& job, const RoundState& state);
// A task of a running job, by its place there.
struct TaskPlace {
  const RunningJob* run = nullptr;
  std::size_t task = 0;
};
// Surplus tasks that keep the job from what was reserved for it by evictions, when its victims have gone and who was
// told to end or stop by then: by devices, CPU or memory. Only of jobs of which `may_take` is true; nothing = something
// else is in its way. The ledger is as before.
std::optional<std::vector<TaskPlace>> surplus_in_the_way(RoundState& state, const Reservation& promise,
                                                         const std::function<bool(const RunningJob&)>& may_take);
// The same, whether or not it may take them.
std::vector<TaskPlace> surplus_left_for(RoundState& state, const Reservation& promise);
// Marks as they will be without those who make room for the job, and surplus tasks that it may take when they have
// gone.
QuotaLedger marked_without_leaving(const RoundState& state, const Job& job);
// The ledger at that moment: the quotas, limits and loans that hold then, and the jobs that still run. Nothing = no
// date changes them before.
std::optional<QuotaLedger> quotas_then(const RoundState& state, Seconds then);
// The job, which is to get `amounts` until `end`, may take the surplus tasks of that one: they are not told to stop
// with the victims, but end when the victims have gone.
bool may_take_surplus(const RoundState& state, const QuotaLedger& quotas, const Job& job, const Amounts& amounts,
                      const RunningJob& run, Seconds end);

}  // namespace berth
