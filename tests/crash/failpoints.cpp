// Linked into a program, makes its failpoints (engine/base/failpoint.h) kill it.
//
// BERTH_FAILPOINT="mid_write:3" in the environment: the third call of failpoint("mid_write") ends the process with
// SIGKILL, as a power switch would. Nothing is flushed, no destructor runs.
#include "engine/base/failpoint.h"

#include <csignal>
#include <cstdlib>

namespace {

std::string_view armed_name;
std::atomic<long> calls_left = 1;

void kill_there(std::string_view name) {
  if (name == armed_name && --calls_left <= 0) std::raise(SIGKILL);
}

const bool is_armed = [] {
  const char* const text = std::getenv("BERTH_FAILPOINT");
  if (text == nullptr) return false;
  armed_name = text;
  if (const std::size_t colon = armed_name.find(':'); colon != std::string_view::npos) {
    calls_left = std::atol(text + colon + 1);
    armed_name = armed_name.substr(0, colon);
  }
  berth::failpoint_handler = kill_there;
  return true;
}();

}  // namespace
