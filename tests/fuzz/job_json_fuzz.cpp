// Jobs described in JSON: a request within its bounds, or an error that says what is wrong.
#include "engine/runtime/job_file.h"

#include "tests/fuzz/fuzz.h"

using berth::test::promise;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = berth::test::as_text(data, size);
  const berth::Result<berth::JobRequest> request = berth::read_job_json(text);
  if (!request.ok()) {
    promise(!request.status().message().empty(), "an error says what is wrong", text);
    return 0;
  }
  promise(!request->groups.empty(), "a job has a task group", text);
  promise(request->time_limit.value() >= 0, "a time limit is not negative", text);
  for (const berth::TaskGroupRequest& group : request->groups) {
    promise(group.cpu.value() >= 0 && group.memory.value() >= 0 && group.gpu_memory.value() >= 0,
            "amounts are not negative", text);
    promise(group.gpu_count == 0 || (group.gpu_milli.value() > 0 && group.gpu_milli <= berth::kWholeDevice),
            "a task takes a part of a device or all of it", text);
  }
  return 0;
}
