// Plans a round twice from the same state: as it stands, and from a snapshot file of it.
//
// Nothing that a decision rests on may live outside the database, and a saved snapshot must hold all of it: both plans
// must be the same text. Used by the mode replay, before each statement that plans.
#pragma once

#include <string>
#include <string_view>

#include "engine/base/status.h"
#include "shell/session_factory.h"

namespace berth::test {

// Whether the statement runs or plans a round.
bool plans_a_round(std::string_view statement);

// kInternal with both plans when they differ. `options` are the session's; `file` is made anew and removed.
Status replay_round(Session& session, std::string_view statement, const SessionOptions& options,
                    const std::string& file);

}  // namespace berth::test
