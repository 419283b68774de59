// Launches that a node lost before they began, in a row: a node that loses whatever is started there rests.
//
// Its mount is gone, its driver hangs: the system calls the node idle, each launch there is lost in a second, and
// without a rest the oldest jobs would go there again and again until none of them may be started any more. A launch
// that begins there, and RESUME NODES, end the row.
//
// A node may also keep launches out: the cluster has reserved it, or drains it. What has waited there for minutes is
// withdrawn, and the node rests for an hour, whatever else begins there.
#pragma once

#include <string>
#include <vector>

#include "engine/store/change.h"

namespace berth {

Status note_launch_loss(Database& db, std::int64_t node, std::int64_t job, std::int64_t attempt, Seconds now);
Status note_kept_out(Database& db, std::int64_t node, std::int64_t job, std::int64_t attempt, Seconds now);
Status note_launch_begun(Database& db, std::int64_t node);

struct RestingNode {
  std::string node;
  std::int64_t losses = 0;  // 0 = it keeps launches out
  Seconds until;
};
// Two launches lost in a row and more. A rest is of five minutes, twice as long each time that more is lost, at most an
// hour.
Result<std::vector<RestingNode>> resting_nodes(Database& db, Seconds now);

// An attempt that a node lost as it lost one of another job: the node is to blame, and no loss is counted. A job that
// has been lost five times is charged all the same. One that was kept out never is.
Result<bool> is_loss_of_a_node(Database& db, std::int64_t job, std::int64_t attempt);

}  // namespace berth
