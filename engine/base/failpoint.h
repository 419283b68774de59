// Named places where a crash test may kill the process.
//
// BERTH_FAILPOINT="mid_write:3" in the environment makes the third call of failpoint("mid_write") end the process with
// SIGKILL, as a power switch would: nothing is flushed, no destructor runs. Without the variable a call costs one test
// of a cached pointer. Names: before_begin, mid_write, mid_eviction, before_commit,
// after_commit (engine/store); before_delivery, after_delivery, before_acknowledge, mid_observe (engine/runtime).
#pragma once

#include <csignal>
#include <cstdlib>
#include <string_view>

namespace berth {

namespace failpoint_detail {
struct Armed {
  std::string_view name;
  long countdown = 1;
};

inline Armed& armed() {
  static Armed wanted = [] {
    Armed parsed;
    const char* text = std::getenv("BERTH_FAILPOINT");
    if (text == nullptr) return parsed;
    parsed.name = text;
    const std::size_t colon = parsed.name.find(':');
    if (colon != std::string_view::npos) {
      parsed.countdown = std::atol(text + colon + 1);
      parsed.name = parsed.name.substr(0, colon);
    }
    return parsed;
  }();
  return wanted;
}
}  // namespace failpoint_detail

inline void failpoint(std::string_view name) {
  failpoint_detail::Armed& armed = failpoint_detail::armed();
  if (armed.name.empty() || armed.name != name) return;
  if (--armed.countdown <= 0) std::raise(SIGKILL);
}

}  // namespace berth
