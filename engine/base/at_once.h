// Work on several items at once, for programs of others that keep us waiting.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace berth {

// body(i) for each i < count, by up to `most` threads, this one among them; by fewer where the system has no more. What
// one of them throws (std::bad_alloc) is thrown here once all have ended, and items not begun by then are left.
template <class Body>
void for_each_at_once(std::size_t count, std::size_t most, Body&& body) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr thrown;
  std::mutex mutex;
  const auto work = [&]() noexcept {
    try {
      for (std::size_t i = next++; i < count; i = next++) body(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      thrown = std::current_exception();
      next = count;
    }
  };
  std::vector<std::thread> helpers;
  helpers.reserve(std::min(most, count));
  try {
    while (helpers.size() + 1 < std::min(most, count)) helpers.emplace_back(work);
  } catch (const std::exception&) {  // no more threads, or no memory for one: those there are do it
  }
  work();
  for (std::thread& helper : helpers) helper.join();
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace berth
