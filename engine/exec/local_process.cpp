#include "engine/exec/local_process.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "engine/base/text.h"
#include "engine/exec/descriptor.h"

namespace berth {

namespace {

bool has_variable(std::int32_t pid, const std::string& variable) {
  std::ifstream file(fmt::format("/proc/{}/environ", pid), std::ios::binary);
  for (std::string each; std::getline(file, each, '\0');) {
    if (each == variable) return true;
  }
  return false;
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
