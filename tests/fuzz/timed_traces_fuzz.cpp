// Readers of the traces with times: any bytes give records or errors that name the place, and the same twice.
#include <cstdint>

#include "tests/fuzz/trace_reading.h"

namespace {

using berth::test::promise;
using berth::test::read_leniently;

void check(const std::vector<berth::TraceJob>& jobs) {
  for (const berth::TraceJob& job : jobs) {
    promise(!job.groups.empty(), "a job has a task group", job.name);
    promise(job.submit >= berth::Seconds(0) || job.submit < berth::Seconds(INT64_MAX / 2), "times can be summed");
    for (const berth::TraceTaskGroup& group : job.groups) {
      promise(group.tasks >= 1 && group.min_tasks >= 1 && group.min_tasks <= group.tasks, "a gang fits its group");
      promise(group.gpu_count >= 0 && group.gpu_count <= berth::kMaxDevices, "a task has 0 to 32 devices", job.name);
      promise((group.gpu_count == 0) == (group.gpu_milli == berth::MilliGpu(0)), "no devices, no share", job.name);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const berth::test::MemoryFile file(berth::test::as_text(data, size));
  for (const berth::TraceFormat& format : berth::trace_formats()) {
    // Every other file that a format wants is the same one.
    const auto read_jobs = [&](std::string_view name, const std::string& path, berth::ReadOptions options) {
      options.format.tasks_file = options.format.tags_file = path;
      return berth::read_trace_jobs(name, path, options);
    };
    if (format.open_jobs != nullptr) check(read_leniently<berth::TraceJob>(read_jobs, format.name, file));
    if (format.open_nodes != nullptr) {
      for (const berth::TraceNode& node :
           read_leniently<berth::TraceNode>(berth::read_trace_nodes, format.name, file)) {
        promise(node.devices >= 0 && node.devices <= berth::kMaxDevices, "a node has 0 to 32 devices");
      }
    }
  }
  return 0;
}
