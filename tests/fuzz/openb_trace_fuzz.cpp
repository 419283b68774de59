// Readers of the openb format: any bytes give records or errors that name the place, and the same twice.
#include "engine/sim/openb_trace.h"

#include "tests/fuzz/trace_reading.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using berth::test::read_leniently;
  const berth::test::MemoryFile file(berth::test::as_text(data, size));
  const auto nodes = read_leniently<berth::TraceNode>(berth::read_trace_nodes, "openb", file);
  const auto jobs = read_leniently<berth::TraceJob>(berth::read_trace_jobs, "openb", file);
  for (const berth::TraceNode& node : nodes) {
    berth::test::promise(node.devices >= 0 && node.devices <= berth::kMaxDevices, "a node has 0 to 32 devices");
  }
  for (const berth::TraceJob& job : jobs) {
    berth::test::promise(job.groups.size() == 1 && job.groups[0].tasks == 1, "a pod is a job of one task", job.name);
  }
  return 0;
}
