// What rounds tell of when waiting jobs will start, so that it can be compared with what came (SHOW CALIBRATION).
//
// After a round, for some of the newest waiting jobs of which nothing has been told yet: one play of the future finds
// the starts of all of them (round/forecast.h), past errors correct them (policy/start_calibration.h), and they are
// stored. No decision looks at it, so it may be left out: a play looks at so many jobs at most, and a round that would
// take longer than the share of the time of rounds that the settings allow for it since the last play tells nothing.
#pragma once

#include "engine/model/snapshot.h"
#include "engine/runtime/runtime.h"

namespace berth {

// `snapshot` is what the round looked at. What cannot be told now is left to a later round.
Status tell_expected_starts(Runtime& runtime, const Snapshot& snapshot);

}  // namespace berth
