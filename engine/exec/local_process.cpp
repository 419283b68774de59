#include "engine/exec/local_process.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>

#include "engine/base/folder.h"
#include "engine/base/text.h"
#include "engine/exec/descriptor.h"
#include "engine/exec/done_file.h"
#include "engine/exec/plain_file.h"

namespace berth {

namespace {

// Empty where it may not be read.
std::string read_environment(const std::string& folder) {
  constexpr std::size_t kMost = std::size_t{8} << 20;  // more cannot be given to a program
  const Result<std::string> text = read_plain_file(folder + "/environ", kMost);
  return text.ok() ? *text : std::string();
}

std::string environment_of(std::int32_t pid) {
  const std::string folder = fmt::format("/proc/{}", pid);
  if (std::string text = read_environment(folder); !text.empty()) return text;
  // The main thread may have ended; the other threads still show it.
  const Result<std::vector<std::string>> threads = names_in(folder + "/task");
  if (!threads.ok()) return {};
  for (const std::string& thread : *threads) {
    if (std::string text = read_environment(folder + "/task/" + thread); !text.empty()) return text;
  }
  return {};
}

// As it was when the program began; nothing where it has none or may not be read.
std::optional<std::string> done_file_of(std::int32_t pid) {
  const std::string text = environment_of(pid);
  const std::string name = std::string(kDoneVariable) + "=";
  for (const std::string_view each : split(text, '\0')) {
    if (each.starts_with(name)) return std::string(each.substr(name.size()));
  }
  return std::nullopt;
}

std::map<std::int32_t, ProcessStat> all_processes() {
  std::map<std::int32_t, ProcessStat> all;
  const Result<std::vector<std::string>> names = names_in("/proc");
  if (!names.ok()) return all;
  for (const std::string& name : *names) {
    const Result<std::int64_t> number = read_integer(name);
    if (!number.ok()) continue;
    const auto pid = static_cast<std::int32_t>(*number);
    if (const std::optional<ProcessStat> stat = process_stat(pid)) all.emplace(pid, *stat);
  }
  return all;
}

}  // namespace

bool signal_process(const ProcessMark& process, int signal) {
  // By number of the call: glibc 2.36 declares its wrappers for C alone. The handle keeps to the process even if its
  // number is given again after the check.
  const Descriptor handle(process.pid > 0 ? static_cast<int>(syscall(SYS_pidfd_open, process.pid, 0)) : -1);
  return handle.is_open() && is_alive(process) && syscall(SYS_pidfd_send_signal, handle.get(), signal, nullptr, 0) == 0;
}

bool signal_process_group(const ProcessMark& leader, int signal) {
  return is_alive(leader) && kill(-leader.pid, signal) == 0;
}

void wake_stopped(const ProcessMark& process) {
  const std::optional<ProcessStat> stat = process.pid > 0 ? process_stat(process.pid) : std::nullopt;
  if (stat && stat->is_stopped) signal_process(process, SIGCONT);
}

Seconds running_time(const ProcessMark& process) {
  timespec now = {};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return std::max(Seconds(now.tv_sec - process.start / sysconf(_SC_CLK_TCK)), Seconds(0));
}

std::vector<Descendant> own_descendants(const std::map<std::int32_t, std::string>& first) {
  const std::map<std::int32_t, ProcessStat> all = all_processes();
  const std::int32_t own = getpid();
  std::vector<Descendant> found;
  for (const auto& [pid, stat] : all) {
    std::vector<std::int32_t> line;  // it and those above it, up to this one
    std::int32_t at = pid;
    for (auto each = all.find(at); at != own && each != all.end() && line.size() <= all.size(); each = all.find(at)) {
      line.push_back(at);
      at = static_cast<std::int32_t>(each->second.parent);
    }
    if (at != own || line.empty()) continue;
    Descendant descendant{{pid, stat.start, own_process_mark().boot}, stat.group, stat.session, {}};
    for (std::size_t i = 0; i < line.size() && !descendant.done_file; ++i) {
      const auto known = first.find(line[i]);
      descendant.done_file = known != first.end() ? std::optional(known->second) : done_file_of(line[i]);
    }
    found.push_back(std::move(descendant));
  }
  return found;
}

std::vector<std::string> done_files_below(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& [pid, stat] : all_processes()) {
    struct stat owner = {};
    if (::stat(fmt::format("/proc/{}", pid).c_str(), &owner) != 0 || owner.st_uid != geteuid()) continue;
    std::optional<std::string> file = done_file_of(pid);
    if (file && file->starts_with(folder + "/")) files.push_back(*std::move(file));
  }
  std::ranges::sort(files);
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

void kill_left_of_task(const std::string& done_file, const ProcessMark& first) {
  if (first.pid > 0 && !is_of_this_boot(first)) return;
  const std::map<std::int32_t, ProcessStat> all = all_processes();
  // Its number is given again when nothing of its session is left.
  const auto leader = all.find(first.pid);
  const bool has_session = first.pid > 0 && process_state(first) != ProcessState::kUnknown &&
                           (leader == all.end() || leader->second.start == first.start);
  for (const auto& [pid, stat] : all) {
    if (pid == getpid() || stat.start < first.start) continue;
    const std::optional<std::string> file = done_file_of(pid);
    if (file ? *file == done_file : has_session && stat.session == first.pid)
      signal_process({pid, stat.start, own_process_mark().boot}, SIGKILL);
  }
}

std::optional<int> read_signal(std::string_view name) {
  if (name.starts_with("SIG")) name.remove_prefix(3);
  for (int number = 1; number < NSIG; ++number) {
    const char* abbreviation = sigabbrev_np(number);
    if (abbreviation != nullptr && name == abbreviation) return number;
  }
  return std::nullopt;
}

}  // namespace berth
