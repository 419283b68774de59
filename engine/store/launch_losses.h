// Launches that a node lost before they began, in a row: a node that loses whatever is started there rests.
//
// Its mount is gone, its driver hangs: the system calls the node idle, each launch there is lost in a second, and
// without a rest the oldest jobs would go there again and again until none of them may be started any more. A launch
// that begins there, and RESUME NODES, end the row.
//
// A node may also keep launches out: the cluster has planned something else for it, maintenance next week say, and
// takes nothing that would run into that. For an hour it gets no job that may run as long as one of those, unless one
// that may begins there.
#pragma once

#include <string>
#include <vector>

#include "engine/model/snapshot.h"
#include "engine/store/change.h"

namespace berth {

enum class LostBy : std::uint8_t { kThisNode, kFailedNode };  // kFailedNode: the system says itself that one failed
Status note_launch_loss(Database& db, std::int64_t node, std::int64_t job, std::int64_t attempt, Seconds now,
                        LostBy by);
Status note_kept_out(Database& db, std::int64_t node, std::int64_t job, std::int64_t attempt, Seconds now);
Status note_launch_begun(Database& db, std::int64_t node, std::int64_t job);
Result<bool> keeps_launches_out(Database& db, std::int64_t node);
// Of both kinds.
Status forget_launch_losses(Database& db, std::int64_t node);

struct RestingNode {
  std::string node;
  std::int64_t losses = 0;
  Seconds until;
};
// Two launches lost in a row and more. A rest is of five minutes, twice as long each time that more is lost, at most an
// hour.
Result<std::vector<RestingNode>> resting_nodes(Database& db, Seconds now);

// In job order. A job that was kept out gets no room by evictions for an hour, which others lost for nothing; then
// twice as long each time, at most twelve hours.
Result<std::vector<EvictsNobody>> jobs_kept_out(Database& db, Seconds now);

// An attempt that a node lost before it began, and the node is to blame: it lost one of another job, too, or no other
// node has lost this one. Then no loss is counted. A job that was lost five times (there alone: eight) is charged all
// the same. One that was kept out never is, nor one whose node failed as the system says.
Result<bool> is_loss_of_a_node(Database& db, std::int64_t job, std::int64_t attempt);

}  // namespace berth
