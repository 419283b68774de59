// Named places where a crash test may kill the process.
//
// Nothing happens there unless somebody has set a handler, and no program of ours does: tests/crash/failpoints.cpp sets
// one in the programs that the crash tests run. Any thread may call. Names: before_begin, mid_write, mid_eviction,
// before_commit, after_commit (engine/store); mid_delivery (engine/exec); before_delivery, after_delivery,
// before_acknowledge, mid_observe (engine/runtime).
#pragma once

#include <atomic>
#include <string_view>

namespace berth {

using FailpointHandler = void (*)(std::string_view name);
inline std::atomic<FailpointHandler> failpoint_handler = nullptr;

inline void failpoint(std::string_view name) {
  if (const FailpointHandler handler = failpoint_handler.load(std::memory_order_relaxed); handler != nullptr)
    handler(name);
}

}  // namespace berth
