// PLAN RIGHTSIZE: what each recurring job would be given next time, and what that saves, before any queue opts in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/policy/rightsizing.h"
#include "engine/store/sqlite.h"

namespace berth {

// A task group that came again, as its last run asked for it.
struct RightsizedGroup {
  std::string queue;
  std::string tag;
  std::string user;
  std::string group;
  std::int64_t tasks = 1;
  TaskShape asked;
  Rightsizing next;
  std::string policy;
  bool applied = false;  // its queue has opted in to that policy
};

struct RightsizeQuestion {
  std::optional<std::int64_t> queue = {};  // it and those below it; nothing = all
  std::string_view policy = {};            // empty = that of the job's queue, histogram where it has none
};
// By queue, tag, user and group.
Result<std::vector<RightsizedGroup>> plan_rightsizing(Database& db, const RightsizeQuestion& question, Seconds now);

}  // namespace berth
