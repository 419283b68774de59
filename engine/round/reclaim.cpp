#include "engine/round/reclaim.h"

namespace berth {

Reclaim::Reclaim(RoundState& state, Seconds now) : state_(state), now_(now), lost_(state.setup().queues.size(), 0) {}

std::optional<RoomMade> Reclaim::make_room(const Job& job) {
  (void)job;
  (void)now_;
  return std::nullopt;
}

}  // namespace berth
