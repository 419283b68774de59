#include "engine/exec/local_limits.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "engine/base/text.h"
#include "engine/exec/descriptor.h"
#include "engine/exec/plain_file.h"

namespace berth {

namespace {

constexpr std::int64_t kBytesPerMiB = std::int64_t{1} << 20;

Status write_setting(const std::string& path, const std::string& value) {
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  const bool is_written =
      file.is_open() && write(file.get(), value.data(), value.size()) == static_cast<ssize_t>(value.size());
  return is_written ? Status() : file_error(path);
}

}  // namespace

std::optional<std::string> read_small_file(const std::string& path) {
  const Result<Descriptor> file = open_plain_file(path, O_RDONLY);
  std::array<char, 4096> text;
  const ssize_t size = file.ok() ? read(file->get(), text.data(), text.size()) : -1;
  if (size < 0) return std::nullopt;
  return std::string(trim({text.data(), static_cast<std::size_t>(size)}));
}

Result<std::string> prepare_cgroups(const std::string& parent) {
  const std::optional<std::string> controllers = read_small_file(parent + "/cgroup.controllers");
  if (!controllers) return Status(Code::kUnavailable, fmt::format("{} is no cgroup of version 2", parent));
  for (const std::string_view needed : {"cpu", "memory"}) {
    bool is_there = false;
    for (const std::string_view each : split(*controllers, ' ')) is_there |= each == needed;
    if (!is_there) return Status(Code::kUnavailable, fmt::format("{} has no controller '{}'", parent, needed));
  }
  BERTH_TRY(write_setting(parent + "/cgroup.subtree_control", "+cpu +memory"));
  const std::string own = parent + "/berth";
  if (mkdir(own.c_str(), 0755) != 0 && errno != EEXIST) return file_error(own);
  BERTH_TRY(write_setting(own + "/cgroup.subtree_control", "+cpu +memory"));
  return own;
}

Status TaskLimits::prepare() const {
  if (kind_ != LimitKind::kCgroup) return {};
  if (mkdir(cgroup_.c_str(), 0755) != 0 && errno != EEXIST) return file_error(cgroup_);
  if (memory_ > MiB(0)) {
    BERTH_TRY(write_setting(cgroup_ + "/memory.max", std::to_string(memory_.value() * kBytesPerMiB)));
    BERTH_TRY(write_setting(cgroup_ + "/memory.oom.group", "1"));
    // Absent where the kernel has no swap.
    static_cast<void>(write_setting(cgroup_ + "/memory.swap.max", "0"));
  }
  if (cpu_ <= MilliCpu(0)) return {};
  constexpr std::int64_t kPeriodUs = 100000;
  return write_setting(cgroup_ + "/cpu.max", fmt::format("{} {}", cpu_.value() * kPeriodUs / 1000, kPeriodUs));
}

Status TaskLimits::enter() const {
  if (kind_ == LimitKind::kCgroup) return write_setting(cgroup_ + "/cgroup.procs", "0");
  if (kind_ == LimitKind::kNone || memory_ <= MiB(0)) return {};
  rlimit limit = {};
  if (getrlimit(RLIMIT_DATA, &limit) != 0) return file_error("RLIMIT_DATA");
  const auto bytes = static_cast<rlim_t>(memory_.value() * kBytesPerMiB);
  limit.rlim_cur = std::min(bytes, limit.rlim_max);
  limit.rlim_max = limit.rlim_cur;
  return setrlimit(RLIMIT_DATA, &limit) == 0 ? Status() : file_error("RLIMIT_DATA");
}

void TaskLimits::kill_all() const {
  if (kind_ == LimitKind::kCgroup) static_cast<void>(write_setting(cgroup_ + "/cgroup.kill", "1"));
}

std::optional<MiB> TaskLimits::memory_peak() const {
  if (kind_ != LimitKind::kCgroup) return std::nullopt;
  const std::optional<std::string> text = read_small_file(cgroup_ + "/memory.peak");
  const Result<std::int64_t> bytes = read_integer(text.value_or(""));
  return bytes.ok() ? std::optional(MiB(divide_up(*bytes, kBytesPerMiB))) : std::nullopt;
}

bool TaskLimits::ran_out_of_memory(MiB peak) const {
  if (kind_ == LimitKind::kNone || memory_ <= MiB(0)) return false;
  if (kind_ == LimitKind::kRlimit) return peak * 10 >= memory_ * 9;
  const std::string events = read_small_file(cgroup_ + "/memory.events").value_or("");
  for (const std::string_view line : split(events, '\n')) {
    if (line.starts_with("oom_kill ")) return line != "oom_kill 0";
  }
  return false;
}

bool TaskLimits::remove() const { return kind_ != LimitKind::kCgroup || rmdir(cgroup_.c_str()) == 0 || errno != EBUSY; }

}  // namespace berth
