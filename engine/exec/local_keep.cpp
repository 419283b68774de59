#include "engine/exec/local_keep.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <set>

#include "engine/base/folder.h"
#include "engine/base/text.h"
#include "engine/exec/descriptor.h"
#include "engine/exec/local_record.h"
#include "engine/exec/plain_file.h"

namespace berth {

namespace {

// None where it is gone meanwhile.
std::vector<std::string> known_in(const std::string& folder) {
  Result<std::vector<std::string>> names = names_in(folder);
  return names.ok() ? *std::move(names) : std::vector<std::string>();
}

// "<pid>.<start>"
ProcessMark mark_in(const std::string& name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string::npos) return {};
  const Result<std::int64_t> pid = read_integer(std::string_view(name).substr(0, dot));
  const Result<std::int64_t> start = read_integer(std::string_view(name).substr(dot + 1));
  if (!pid.ok() || !start.ok()) return {};
  return {static_cast<std::int32_t>(*pid), *start, ""};
}

enum class TaskAge { kOld, kYoung, kLive, kNoTask };

TaskAge age_of(const std::string& folder, const std::string& lists, Seconds oldest) {
  const Result<std::optional<TaskRecord>> record = read_record(folder);
  // Removed already, and something else stays in it; or it is being claimed just now, and its record must stay.
  if (!record.ok() || !*record) return TaskAge::kNoTask;
  if ((*record)->end) return (*record)->end->at <= oldest ? TaskAge::kOld : TaskAge::kYoung;
  const auto sees_to_it = [&](const ProcessMark& each) { return supervisor_state(lists, each) != ProcessState::kGone; };
  if (sees_to_it((*record)->supervisor) || sees_to_it((*record)->guard) ||
      ((*record)->start && is_alive((*record)->start->process)))
    return TaskAge::kLive;
  struct stat file = {};  // lost: when it was last heard of
  const bool is_there = stat((folder + "/record").c_str(), &file) == 0;
  return !is_there || Seconds(file.st_mtim.tv_sec) <= oldest ? TaskAge::kOld : TaskAge::kYoung;
}

void remove_task(const std::string& folder) {
  for (const char* name : {"/requests", "/stdout", "/stderr", "/done", "/record"}) unlink((folder + name).c_str());
  rmdir(local_work_folder(folder).c_str());
  rmdir(folder.c_str());
}

// False when an hour has not passed since the last time.
bool is_due(const std::string& root, std::string_view database, Seconds now) {
  const std::string path = fmt::format("{}/swept-{}", root, database);
  struct stat file = {};
  if (stat(path.c_str(), &file) == 0 && Seconds(file.st_mtim.tv_sec + 3600) > now) return false;
  const Result<Descriptor> made = open_plain_file(path, O_WRONLY | O_CREAT);
  return made.ok() && futimens(made->get(), nullptr) == 0;
}

}  // namespace

std::vector<ListedTasks> read_task_lists(const std::string& folder) {
  std::vector<ListedTasks> lists;
  for (const std::string& name : known_in(folder)) {
    ListedTasks list{folder + "/" + name, mark_in(name), {}};
    const Result<std::string> read = read_plain_file(list.path);
    const std::string text = read.ok() ? *read : "";
    for (const std::string_view line : split(text, '\n')) {
      if (list.supervisor.boot.empty()) {
        list.supervisor.boot = line;
      } else if (line == kListClaimed) {
        list.is_claimed = true;
      } else if (line.starts_with(kListEnded)) {
        std::erase(list.keys, line.substr(kListEnded.size()));
      } else if (!line.empty()) {
        list.keys.emplace_back(line);
      }
    }
    // Not yet written: whoever makes it lives.
    if (list.supervisor.boot.empty()) list.supervisor.boot = own_process_mark().boot;
    lists.push_back(std::move(list));
  }
  return lists;
}

std::string task_list_name(const ProcessMark& supervisor) {
  return fmt::format("{}.{}", supervisor.pid, supervisor.start);
}

ProcessState supervisor_state(const std::string& folder, const ProcessMark& supervisor) {
  const ProcessState state = process_state(supervisor);
  if (state != ProcessState::kUnknown) return state;
  const Result<Descriptor> list = open_plain_file(folder + "/" + task_list_name(supervisor), O_RDONLY);
  if (!list.ok()) return list.status().code() == Code::kNotFound ? ProcessState::kGone : ProcessState::kUnknown;
  return flock(list->get(), LOCK_SH | LOCK_NB) == 0 ? ProcessState::kGone : ProcessState::kUnknown;
}

void remove_old_tasks(const std::string& root, std::string_view database, Seconds keep, Seconds now) {
  if (!is_due(root, database, now)) return;
  std::set<std::string> claimed;
  for (ListedTasks& list : read_task_lists(root + "/supervisors")) {
    const bool lives = supervisor_state(root + "/supervisors", list.supervisor) != ProcessState::kGone;
    if (list.is_claimed && lives) claimed.insert(list.keys.begin(), list.keys.end());
  }
  std::vector<std::int64_t> thousands;
  for (const std::string& name : known_in(root + "/tasks")) {
    if (const Result<std::int64_t> number = read_integer(name); number.ok()) thousands.push_back(*number);
  }
  std::ranges::sort(thousands);
  for (const std::int64_t thousand : thousands) {
    const std::string folder = root + "/tasks/" + std::to_string(thousand);
    bool has_young = false;
    for (const std::string& name : known_in(folder)) {
      if (claimed.contains(name) || !read_task_key(database, name)) continue;
      const TaskAge age = age_of(folder + "/" + name, root + "/supervisors", now - keep);
      if (age == TaskAge::kOld) remove_task(folder + "/" + name);
      if (age == TaskAge::kNoTask) rmdir((folder + "/" + name).c_str());
      has_young |= age == TaskAge::kYoung;
    }
    rmdir(folder.c_str());
    if (has_young) return;
  }
}

}  // namespace berth
