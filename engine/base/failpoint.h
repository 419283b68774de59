// Named places where a crash test may kill the process.
//
// BERTH_FAILPOINT="mid_write:3" in the environment makes the third call of failpoint("mid_write") end the process with
// SIGKILL, as a power switch would: nothing is flushed, no destructor runs. Without the variable a call costs one test
// of a cached pointer. Any thread may call. Names: before_begin, mid_write, mid_eviction, before_commit, after_commit
// (engine/store); mid_delivery (engine/exec); before_delivery, after_delivery, before_acknowledge, mid_observe
// (engine/runtime).
#pragma once

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <string_view>

namespace berth {

namespace failpoint_detail {
struct Armed {
  Armed() {
    const char* text = std::getenv("BERTH_FAILPOINT");
    if (text == nullptr) return;
    name = text;
    const std::size_t colon = name.find(':');
    if (colon == std::string_view::npos) return;
    name = name.substr(0, colon);
    countdown = std::atol(text + colon + 1);
  }

  std::string_view name;
  std::atomic<long> countdown = 1;
};

inline Armed& armed() {
  static Armed wanted;
  return wanted;
}
}  // namespace failpoint_detail

inline void failpoint(std::string_view name) {
  failpoint_detail::Armed& armed = failpoint_detail::armed();
  if (armed.name.empty() || armed.name != name) return;
  if (--armed.countdown <= 0) std::raise(SIGKILL);
}

}  // namespace berth
