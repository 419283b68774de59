#include "engine/base/process_mark.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <string_view>
#include <vector>

#include "engine/base/text.h"

namespace berth {

namespace {

// What fits in one page: the files asked here are shorter.
std::string read_one_page(const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::array<char, 4096> text;
  const ssize_t size = read(file, text.data(), text.size());
  close(file);
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
  return ProcessStat{number(kGroup), number(kGroup + 1), number(kStart)};
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

const std::string& this_boot() {
  static const std::string boot(trim(read_one_page("/proc/sys/kernel/random/boot_id")));
  return boot;
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

std::string machine_id() { return std::string(trim(read_one_page("/etc/machine-id"))); }

}  // namespace berth
