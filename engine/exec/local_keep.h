// Which tasks supervisors have taken on, and which folders of tasks are old enough to go.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/units.h"
#include "engine/exec/local_process.h"

namespace berth {

// What one supervisor has said that it will claim, in a file named by its mark.
struct ListedTasks {
  std::string path;
  ProcessMark supervisor;
  std::vector<std::string> keys;  // less those that have ended
  bool is_claimed = false;        // they are its, whatever becomes of their records
};
inline constexpr std::string_view kListClaimed = "claimed";
inline constexpr std::string_view kListEnded = "ended ";  // and the key
// By path. As many as there are supervisors, and a few that were killed.
std::vector<ListedTasks> read_task_lists(const std::string& folder);
std::string task_list_name(const ProcessMark& supervisor);
// Of a supervisor or guard with its list in `folder`. Those of other containers are known by their lists, which they
// lock as long as they live: a container that is gone must not keep its tasks for ever.
ProcessState supervisor_state(const std::string& folder, const ProcessMark& supervisor);

// Removes records and logs of tasks that ended more than `keep` ago (what else lies in their folders stays). At most
// once an hour, and only through the oldest jobs up to the first thousand of which some task is younger. Only those of
// the database (ExecutorContext::database): others may share the folder, and have not asked for theirs yet.
void remove_old_tasks(const std::string& root, std::string_view database, Seconds keep, Seconds now);

}  // namespace berth
