// Places in the order of their last change, newest first: so that each of many readers sees every place that changed
// since its last look exactly once, however often it changed.
#pragma once

#include <cstdint>
#include <vector>

namespace berth {

class RecentNodes {
 public:
  using Moment = std::uint64_t;

  explicit RecentNodes(std::size_t places) : links_(places) {}

  Moment now() const { return now_; }

  void touch(std::int32_t place) {
    Link& link = links_[static_cast<std::size_t>(place)];
    link.changed = ++now_;
    if (place == newest_) return;
    if (link.newer >= 0) links_[static_cast<std::size_t>(link.newer)].older = link.older;
    if (link.older >= 0) links_[static_cast<std::size_t>(link.older)].newer = link.newer;
    link.newer = -1;
    link.older = newest_;
    if (newest_ >= 0) links_[static_cast<std::size_t>(newest_)].newer = place;
    newest_ = place;
  }

  // Calls visit(place) for each place touched after `since`.
  template <class Visit>
  void visit_since(Moment since, Visit visit) const {
    for (std::int32_t place = newest_; place >= 0;) {
      const Link& link = links_[static_cast<std::size_t>(place)];
      if (link.changed <= since) return;
      visit(static_cast<std::size_t>(place));
      place = link.older;
    }
  }

 private:
  struct Link {
    Moment changed = 0;
    std::int32_t newer = -1;
    std::int32_t older = -1;
  };

  std::vector<Link> links_;
  std::int32_t newest_ = -1;
  Moment now_ = 0;
};

}  // namespace berth
