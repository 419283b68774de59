// CHECK: every promise that the tables must keep, looked at from scratch.
//
// Nothing is trusted that was computed before: sums are taken again from allocations, device by device. A healthy
// database gives an empty list.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/store/sqlite.h"

namespace berth {

struct Finding {
  std::string promise;   // name of the broken promise, as in check_promises()
  std::string object;    // what it is about: "node train001 device 3"
  std::string sentence;  // what is wrong, with numbers
};

struct Promise {
  std::string_view name;
  std::string_view sentence;
};
// What is checked, in order.
std::vector<Promise> check_promises();

// At most `most` findings a promise; a last one then says how many more.
Result<std::vector<Finding>> check_state(Database& db, std::size_t most = 20);

}  // namespace berth
