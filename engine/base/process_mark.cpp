#include "engine/base/process_mark.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
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

std::string_view boot_of(const ProcessMark& process) {
  return std::string_view(process.boot).substr(0, process.boot.find('/'));
}

// Empty where the mark names none.
std::string_view namespace_of(const ProcessMark& process) {
  const std::size_t slash = process.boot.find('/');
  return slash == std::string::npos ? std::string_view() : std::string_view(process.boot).substr(slash + 1);
}

// Empty where it cannot be told.
std::string own_namespace() {
  struct stat file = {};
  return stat("/proc/self/ns/pid", &file) == 0 ? std::to_string(file.st_ino) : std::string();
}

// A /proc that was mounted in another namespace has other numbers.
bool is_own_proc() {
  std::array<char, 32> number{};
  const ssize_t size = readlink("/proc/self", number.data(), number.size());
  return size > 0 && std::string_view(number.data(), static_cast<std::size_t>(size)) == std::to_string(getpid());
}

}  // namespace

// The second field is a name in brackets that may hold anything.
std::optional<ProcessStat> process_stat(std::int32_t pid) {
  const std::string text = read_one_page(fmt::format("/proc/{}/stat", pid).c_str());
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  const std::vector<std::string_view> fields = split(std::string_view(text).substr(name_end + 1), ' ');
  constexpr std::size_t kState = 1;     // after the blank that follows the name
  constexpr std::size_t kGroup = 3;     // field 5, counted from the state as field 3
  constexpr std::size_t kThreads = 18;  // field 20
  constexpr std::size_t kStart = 20;    // field 22
  if (fields.size() <= kStart || fields[kState] == "X") return std::nullopt;
  const auto number = [&](std::size_t field) {
    std::int64_t value = 0;
    std::from_chars(fields[field].data(), fields[field].data() + fields[field].size(), value);
    return value;
  };
  // Where main() has ended by pthread_exit(), the other threads work on.
  if (fields[kState] == "Z" && number(kThreads) <= 1) return std::nullopt;
  return ProcessStat{fields[kState] == "T", number(kGroup - 1), number(kGroup), number(kGroup + 1), number(kStart)};
}

ProcessMark own_process_mark() {
  const std::int32_t pid = getpid();
  const std::optional<ProcessStat> stat = process_stat(pid);
  const std::string counted = own_namespace();
  return {pid, stat ? stat->start : 0, counted.empty() ? this_boot() : this_boot() + "/" + counted};
}

ProcessState process_state(const ProcessMark& process) {
  if (process.pid <= 0 || !is_of_this_boot(process)) return ProcessState::kGone;
  const std::string_view counted = namespace_of(process);
  if (!counted.empty() && (counted != own_namespace() || !is_own_proc())) return ProcessState::kUnknown;
  const std::optional<ProcessStat> stat = process_stat(process.pid);
  return stat && stat->start == process.start ? ProcessState::kAlive : ProcessState::kGone;
}

bool is_alive(const ProcessMark& process) { return process_state(process) == ProcessState::kAlive; }

bool is_gone(const ProcessMark& process) { return process_state(process) == ProcessState::kGone; }

bool is_of_this_boot(const ProcessMark& process) { return boot_of(process) == this_boot(); }

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
