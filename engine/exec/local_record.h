// What is kept of one task on this machine: a folder of its own with a record, its logs and what was asked of it.
//
//   <root>/tasks/<job / 1000>/<key>/record    lines of JSON, one for each event: claim, start, end of the first
//                                             process, end or loss; who takes over claims it again
//                                  stdout, stderr
//                                  requests   lines of JSON: signals to send, stops
//                                  done       see done_file.h
//                                  work/      where it runs by default: what it clears there is none of the above
//
// The record appears whole, by a hard link, with the claim as its first line: of several that try to start a key just
// one succeeds, for ever. What follows are single appended writes, and a line without its end is not there. Nothing is
// forced to the disk: the claim names the boot, so after a crash of the machine whatever had begun is known as lost.
// (A claim made in the seconds before a power failure may be gone altogether: see README.md.)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/exec/descriptor.h"
#include "engine/exec/executor.h"
#include "engine/exec/local_process.h"

namespace berth {

struct TaskStart {
  ProcessMark process;
  Seconds at;
};
struct TaskEnd {
  Seconds at;
  std::int32_t exit_code = 0;
  std::int32_t signal = 0;
  bool is_out_of_time = false;
  bool is_out_of_memory = false;
  bool was_told = false;  // it was asked to end, or got a signal, before that
  TaskUse use = {};
  std::string detail = {};
};
struct TaskRecord {
  ProcessMark supervisor;  // that claimed it last; number 0 = nobody will run it
  ProcessMark guard;       // that takes over when the supervisor dies; number 0 = nobody does
  Seconds time_limit;      // 0 = none
  std::optional<TaskStart> start;
  std::optional<TaskEnd> first_end;  // of its first process, which others of the task may outlive
  std::optional<TaskEnd> end;
  std::optional<std::string> lost;  // why nobody will ever know how it ended
};
// Asked of a running task.
struct TaskRequest {
  int signal = 0;
  std::optional<Seconds> grace;  // then it is killed; nothing = it runs on
  Seconds at;                    // when it was asked
  bool is_out_of_time = false;   // by whoever found its time limit passed
  Seconds lasts = {};            // of a signal alone; see StopRequest
};

std::string local_task_folder(const std::string& root, std::string_view database, const TaskKey& key);
// Of a task's folder.
std::string local_work_folder(const std::string& folder);
std::string local_done_file(const std::string& folder);

// Makes the folder and the record, through a draft named by the number and start in the mark. A closed descriptor: the
// key was claimed before. kUnavailable: the disk refused, and nothing is claimed.
Result<Descriptor> claim_task(const std::string& folder, const ProcessMark& supervisor, const ProcessMark& guard = {},
                              Seconds time_limit = {});
// What another one has claimed, who is gone. A closed descriptor: it is not to be had.
Descriptor take_over_claim(const std::string& folder, const ProcessMark& supervisor);
// Whether the folder's record still is the one that is open, and can be read.
bool is_record_of(const Descriptor& record, const std::string& folder);
// Appended to a record that claim_task has opened. False when the disk refuses.
bool write_start(const Descriptor& record, const TaskStart& start);
// Before that process is reaped: a supervisor that dies between that and the task's end leaves its exit code.
bool write_first_end(const Descriptor& record, const TaskEnd& end);
bool write_end(const Descriptor& record, const TaskEnd& end);
bool write_lost(const Descriptor& record, const std::string& why);
// Nothing: no such task was ever claimed here. kCorrupt: it is no file, or a huge one. kUnavailable: it could not
// be read.
Result<std::optional<TaskRecord>> read_record(const std::string& folder);

Status write_request(const std::string& folder, const TaskRequest& request);
// Those from byte `offset` on, of a file that was made again from its beginning, which moves to the end of the last
// whole one.
std::vector<TaskRequest> read_requests(const std::string& folder, std::size_t& offset);

}  // namespace berth
