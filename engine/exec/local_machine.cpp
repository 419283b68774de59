#include "engine/exec/local_machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <functional>

#include "engine/base/text.h"
#include "engine/exec/local_limits.h"
#include "engine/exec/process.h"

namespace berth {

namespace {

constexpr std::string_view kCgroupRoot = "/sys/fs/cgroup";

// The least that `read` finds in this process's cgroup and those above it.
std::optional<std::int64_t> least_in_cgroups(
    const std::function<std::optional<std::int64_t>(const std::string&)>& read) {
  std::optional<std::int64_t> least;
  std::string folder = own_cgroup().value_or("");
  while (folder.size() >= kCgroupRoot.size()) {
    if (const auto value = read(folder); value && (!least || *value < *least)) least = value;
    folder.resize(folder.rfind('/'));
  }
  return least;
}

// "max 100000" is no limit, "150000 100000" 1500.
std::optional<std::int64_t> cpu_limit(const std::string& cgroup) {
  const std::string text = read_small_file(cgroup + "/cpu.max").value_or("");
  const std::vector<std::string_view> words = split(text, ' ');
  if (words.size() != 2) return std::nullopt;
  const Result<std::int64_t> quota = read_integer(words[0]);
  const Result<std::int64_t> period = read_integer(words[1]);
  if (!quota.ok() || !period.ok() || *period <= 0) return std::nullopt;
  return *quota * 1000 / *period;
}

std::optional<std::int64_t> memory_limit(const std::string& cgroup) {
  const Result<std::int64_t> bytes = read_integer(read_small_file(cgroup + "/memory.max").value_or(""));
  return bytes.ok() ? std::optional(*bytes >> 20) : std::nullopt;
}

}  // namespace

std::optional<std::string> own_cgroup() {
  std::ifstream lines("/proc/self/cgroup");
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("0::/")) return std::string(kCgroupRoot) + (line == "0::/" ? "" : line.substr(3));
  }
  return std::nullopt;
}

MilliCpu machine_cpu() {
  cpu_set_t allowed;
  const bool is_known = sched_getaffinity(0, sizeof allowed, &allowed) == 0;
  const std::int64_t cores = is_known ? CPU_COUNT(&allowed) : sysconf(_SC_NPROCESSORS_ONLN);
  return MilliCpu(std::min(cores * 1000, least_in_cgroups(cpu_limit).value_or(INT64_MAX)));
}

MiB machine_memory() {
  const std::int64_t pages = sysconf(_SC_PHYS_PAGES);
  const std::int64_t total = pages * (sysconf(_SC_PAGESIZE) / 1024) / 1024;
  return MiB(std::min(total, least_in_cgroups(memory_limit).value_or(INT64_MAX)));
}

std::string machine_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0' ? name.data() : "localhost";
}

Result<NvidiaDevices> machine_devices() {
  // Without its persistence daemon the driver takes seconds for each GPU.
  const Result<ProcessOutput> said =
      run_process({.command = {"nvidia-smi", "-q", "-x"}, .deadline = std::chrono::seconds(60)});
  if (!said.ok() && said.status().code() == Code::kNotFound) return NvidiaDevices{};
  if (!said.ok()) return said.status();
  if (said->output.find("<nvidia_smi_log") == std::string::npos && !said->ok())
    return Status(Code::kUnavailable, said->complaint("nvidia-smi"));
  return read_nvidia_smi(said->output);
}

}  // namespace berth
