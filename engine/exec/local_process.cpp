#include "engine/exec/local_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "engine/base/text.h"
#include "engine/exec/descriptor.h"

namespace berth {

namespace {

// What fits in one page: the files of /proc asked here are shorter.
std::string read_proc_file(const char* path) {
  const Descriptor file(open(path, O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> text;
  const ssize_t size = file.is_open() ? read(file.get(), text.data(), text.size()) : -1;
  return size > 0 ? std::string(text.data(), static_cast<std::size_t>(size)) : std::string();
}

struct ProcessStat {
  std::int64_t group = 0;
  std::int64_t session = 0;
  std::int64_t start = 0;
};

// Nothing when it is gone. The second field is a name in brackets that may hold anything.
std::optional<ProcessStat> process_stat(std::int32_t pid) {
  const std::string text = read_proc_file(fmt::format("/proc/{}/stat", pid).c_str());
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  const std::vector<std::string_view> fields = split(std::string_view(text).substr(name_end + 1), ' ');
  constexpr std::size_t kState = 1;   // after the blank that follows the name
  constexpr std::size_t kGroup = 3;   // field 5, counted from the state as field 3
  constexpr std::size_t kStart = 20;  // field 22
  if (fields.size() <= kStart || fields[kState] == "Z" || fields[kState] == "X") return std::nullopt;
  const auto number = [&](std::size_t field) {
    std::int64_t value = 0;
    std::from_chars(fields[field].data(), fields[field].data() + fields[field].size(), value);
    return value;
  };
  return ProcessStat{number(kGroup), number(kGroup + 1), number(kStart)};
}

std::optional<std::int64_t> process_start(std::int32_t pid) {
  const std::optional<ProcessStat> stat = process_stat(pid);
  return stat ? std::optional(stat->start) : std::nullopt;
}

bool has_variable(std::int32_t pid, const std::string& variable) {
  std::ifstream file(fmt::format("/proc/{}/environ", pid), std::ios::binary);
  for (std::string each; std::getline(file, each, '\0');) {
    if (each == variable) return true;
  }
  return false;
}

}  // namespace

const std::string& this_boot() {
  static const std::string boot(trim(read_proc_file("/proc/sys/kernel/random/boot_id")));
  return boot;
}

ProcessMark own_process_mark() {
  const std::int32_t pid = getpid();
  return {pid, process_start(pid).value_or(0), this_boot()};
}

bool is_alive(const ProcessMark& process) {
  return process.pid > 0 && process.boot == this_boot() && process_start(process.pid) == process.start;
}

bool signal_process(const ProcessMark& process, int signal) {
  // By number of the call: glibc 2.36 declares its wrappers for C alone. The handle keeps to the process even if its
  // number is given again after the check.
  const Descriptor handle(process.pid > 0 ? static_cast<int>(syscall(SYS_pidfd_open, process.pid, 0)) : -1);
  return handle.is_open() && is_alive(process) && syscall(SYS_pidfd_send_signal, handle.get(), signal, nullptr, 0) == 0;
}

bool signal_process_group(const ProcessMark& leader, int signal) {
  return is_alive(leader) && kill(-leader.pid, signal) == 0;
}

void kill_left_of_group(const ProcessMark& leader, const std::string& variable) {
  if (leader.pid <= 0 || leader.boot != this_boot() || process_stat(leader.pid)) return;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
    const Result<std::int64_t> number = read_integer(entry->path().filename().string());
    if (!number.ok()) continue;
    const auto pid = static_cast<std::int32_t>(*number);
    const std::optional<ProcessStat> stat = process_stat(pid);
    const bool is_of_it = stat && stat->group == leader.pid && stat->session == leader.pid &&
                          stat->start >= leader.start && has_variable(pid, variable);
    if (is_of_it) signal_process({pid, stat->start, leader.boot}, SIGKILL);
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
