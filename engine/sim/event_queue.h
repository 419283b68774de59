// The simulated clock's appointments, arrivals apart (those come from a stream).
//
// Events leave in the order (time, kind, sequence): at one moment ends come first, so that what ends makes room, and
// equals leave in the order they were scheduled. An event about an attempt of a job that is over is void: the caller
// compares `attempt`.
#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <vector>

#include "engine/base/units.h"

namespace berth {

enum class EventKind : std::uint8_t {
  kEnd,     // a job has run its time
  kStop,    // a victim's grace is over: a moment at which the floor ends it
  kLeave,   // a job is withdrawn; `attempt` is its id
  kMoment,  // nothing but a look at who waits
};

struct TimedEvent {
  Seconds time;
  EventKind kind = EventKind::kEnd;
  std::int32_t slot = -1;    // whom it is about
  std::int64_t attempt = 0;  // and which start of it
  std::uint64_t sequence = 0;
};

class EventQueue {
 public:
  void schedule(Seconds time, EventKind kind, std::int32_t slot = -1, std::int64_t attempt = 0) {
    events_.push(TimedEvent{time, kind, slot, attempt, next_sequence_++});
  }
  std::optional<Seconds> next_time() const {
    return events_.empty() ? std::nullopt : std::optional(events_.top().time);
  }
  // Null = there is none.
  const TimedEvent* peek() const { return events_.empty() ? nullptr : &events_.top(); }
  TimedEvent take() {
    const TimedEvent event = events_.top();
    events_.pop();
    return event;
  }

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
};

}  // namespace berth
