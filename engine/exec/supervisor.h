// The process that stands by running tasks when Berth is gone: a small part of the same program.
//
// Berth starts one for up to a few dozen tasks, with their order on its standard input and a pipe as descriptor 3. It
// leaves its parent, its terminal and its session; claims every task (whoever claims a key first runs it, others leave
// it); closes the pipe, having written there what it could not claim and why; starts what it has claimed; and stays
// until all have ended, each outcome in the task's record. It sleeps until a child ends, a deadline passes or a signal
// comes: SIGUSR1 means that something was asked of its tasks (see local_record.h), SIGTERM that all have to end, as
// when the machine shuts down: they are lost then, whatever they make of it.
//
// It may die at any moment. A task that was claimed but not started then never starts. One that runs goes on: the
// supervisor's parent, its guard, sleeps until then, becomes the parent of what runs (see PR_SET_CHILD_SUBREAPER) and
// does the rest. Either lets the other go on where a signal has stopped it. With both killed, who observes a task finds
// it by the process in its record; how it ends, nobody will know. A task cannot be running without its process in the
// record: until that is written the kernel kills it with its supervisor.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/units.h"
#include "engine/exec/local_limits.h"

namespace berth {

struct SupervisedTask {
  std::string key;
  std::string folder;                    // see local_record.h
  std::string done_file;                 // as the task knows it
  std::string command;                   // for /bin/sh -c
  std::string directory;                 // where it runs
  std::vector<std::string> environment;  // "NAME=value", all of it
  Seconds time_limit;                    // 0 = none
  MilliCpu cpu;                          // 0 = not limited
  MiB memory;
};
struct SupervisorOrder {
  std::string list;  // folder in which it says which tasks are its, in a file named by its mark
  LimitKind limits = LimitKind::kNone;
  std::string cgroups;  // see prepare_cgroups
  Seconds grace;        // between TERM and KILL when a time limit or a SIGTERM ends a task
  std::vector<SupervisedTask> tasks;
};
inline constexpr int kSupervisorReply = 3;  // descriptor

// Any bytes go through.
std::string print_order(const SupervisorOrder& order);
std::optional<SupervisorOrder> read_order(std::string_view text);

// `program --supervise ...` runs this before it does anything else. Never returns to what called it but to exit.
inline constexpr std::string_view kSupervisorArgument = "--supervise";
bool is_supervisor_call(int count, char** arguments);
int supervise();

}  // namespace berth
