#include "engine/base/process_mark.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/text.h"

namespace berth {

namespace {

constexpr const char* kBootFile = "/proc/sys/kernel/random/boot_id";
constexpr const char* kMachineFile = "/etc/machine-id";

// What fits in one page, empty with errno when it cannot be read: the files asked here are shorter.
std::string read_one_page(const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::array<char, 4096> text;
  const ssize_t size = read(file, text.data(), text.size());
  const int failed = size < 0 ? errno : 0;
  close(file);
  errno = failed;
  return size > 0 ? std::string(text.data(), static_cast<std::size_t>(size)) : std::string();
}

}  // namespace

// The second field is a name in brackets that may hold anything.
std::optional<ProcessStat> process_stat(std::int32_t pid) {
  const std::string text = read_one_page(fmt::format("/proc/{}/stat", pid).c_str());
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
  return ProcessStat{fields[kState] == "T", number(kGroup - 1), number(kGroup), number(kGroup + 1), number(kStart)};
}

ProcessMark own_process_mark() {
  const std::int32_t pid = getpid();
  const std::optional<ProcessStat> stat = process_stat(pid);
  return {pid, stat ? stat->start : 0, this_boot()};
}

bool is_alive(const ProcessMark& process) {
  if (process.pid <= 0 || process.boot != this_boot()) return false;
  const std::optional<ProcessStat> stat = process_stat(process.pid);
  return stat && stat->start == process.start;
}

std::string this_boot() {
  static std::mutex lock;
  static std::string boot;
  const std::lock_guard<std::mutex> guard(lock);
  if (boot.empty()) boot = trim(read_one_page(kBootFile));
  return boot;
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

Result<MachineMark> this_machine() {
  MachineMark mark{host_name(), {}, {}};
  for (const auto& [path, field] :
       {std::pair(kMachineFile, &MachineMark::id), std::pair(kBootFile, &MachineMark::boot)}) {
    errno = 0;
    mark.*field = trim(read_one_page(path));
    const bool is_for_good = errno == ENOENT || errno == ENOTDIR || errno == EACCES || errno == EPERM;
    if ((mark.*field).empty() && errno != 0 && !is_for_good)
      return Status(Code::kUnavailable,
                    fmt::format("cannot read '{}', which tells which machine this is: {}", path, std::strerror(errno)));
  }
  return mark;
}

}  // namespace berth
