// The earliest start of a gang when what runs ends as expected and reservations are kept.
//
// Walks through the moments at which room appears: ends of running tasks, ends of reservations. A copy of the ledger
// follows, showing what is free for as long as the gang will run; a count per node says when a try is worth it
// (gang_room.h), then the placer tries. A group alone is found at the very first moment; where groups compete, or link
// groups, a failed try is followed by tries after 1, 2, 4, ... more moments, and the last such step is searched by
// halves.
#pragma once

#include <optional>
#include <vector>

#include "engine/round/round_state.h"
#include "engine/round/timeline.h"

namespace berth {

struct StartFound {
  Seconds time;
  std::vector<PlacedTask> placed;
};

struct StartBounds {
  Seconds from = kNoneEnded;    // no start before that is possible; not in the past
  Seconds before = kNever;      // only starts earlier than that
  Seconds started_by = kNever;  // what started later is taken to stay for ever
};

// `gang`: with no more tasks than are to be placed. Nothing = not within the bounds, or never on this cluster.
std::optional<StartFound> earliest_start(const RoundState& state, Timeline& timeline, const Job& gang, Seconds duration,
                                         const StartBounds& bounds);

}  // namespace berth
