// From the ids of rows to their indices in a snapshot.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace berth {

// Of rows that arrive in id order.
class IdIndex {
 public:
  void add(std::int64_t id) { ids_.push_back(id); }
  // -1 when there is none. Looks next to the last answer first: most callers ask in rising order.
  std::int32_t find(std::int64_t id) {
    if (last_ < ids_.size() && ids_[last_] == id) return static_cast<std::int32_t>(last_);
    if (last_ + 1 < ids_.size() && ids_[last_ + 1] == id) return static_cast<std::int32_t>(++last_);
    const auto found = std::lower_bound(ids_.begin(), ids_.end(), id);
    if (found == ids_.end() || *found != id) return -1;
    last_ = static_cast<std::size_t>(found - ids_.begin());
    return static_cast<std::int32_t>(last_);
  }

 private:
  std::vector<std::int64_t> ids_;
  std::size_t last_ = 0;
};

}  // namespace berth
