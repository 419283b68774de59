// C libraries call functions of ours. No exception may pass through their frames, which would stay half done.
#pragma once

#include <new>
#include <stdexcept>

namespace berth {

// Runs `body`; false when memory ran out on the way. Any other exception is our bug and ends the process.
template <class Body>
bool has_memory_for(Body&& body) noexcept {
  try {
    body();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  } catch (const std::length_error&) {  // of what cannot be as long as that
    return false;
  }
}

}  // namespace berth
