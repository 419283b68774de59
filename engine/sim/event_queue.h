// The simulated clock and what will happen.
//
// Events leave in the order (time, kind, sequence): at one moment ends come before arrivals, so that what ends makes
// room for what arrives, and equals leave in the order they were scheduled. The clock moves only forward, to the event
// just taken.
#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <vector>

#include "engine/base/units.h"

namespace berth {

enum class EventKind : std::uint8_t { kEnd, kArrival };

struct TimedEvent {
  Seconds time;
  EventKind kind = EventKind::kEnd;
  std::int64_t subject = 0;    // whom it is about
  std::uint64_t sequence = 0;  // set by the queue
};

class EventQueue {
 public:
  // `time` must not lie before now().
  void schedule(Seconds time, EventKind kind, std::int64_t subject) {
    events_.push(TimedEvent{time, kind, subject, next_sequence_++});
  }
  bool empty() const { return events_.empty(); }
  std::optional<Seconds> next_time() const {
    return events_.empty() ? std::nullopt : std::optional(events_.top().time);
  }
  TimedEvent take() {
    const TimedEvent event = events_.top();
    events_.pop();
    now_ = event.time;
    return event;
  }
  Seconds now() const { return now_; }

 private:
  struct Later {
    bool operator()(const TimedEvent& a, const TimedEvent& b) const {
      if (a.time != b.time) return a.time > b.time;
      if (a.kind != b.kind) return a.kind > b.kind;
      return a.sequence > b.sequence;
    }
  };
  std::priority_queue<TimedEvent, std::vector<TimedEvent>, Later> events_;
  std::uint64_t next_sequence_ = 0;
  Seconds now_;
};

}  // namespace berth
