// What each queue of a simulation has used of GPUs, decaying, as a database keeps it (store/usage_records.h).
//
// Told of every change of what a queue's jobs hold; between two of them use grows and decays by itself.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/model/snapshot.h"

namespace berth {

class PastUse {
 public:
  // Nobody has used anything.
  PastUse(std::size_t queues, Seconds half_life, Seconds begin);

  // Before the beginning.
  void add_past(std::size_t queue, MilliGpu gpu, Seconds start, Seconds end);
  // Jobs of the queue (-1 = of none) hold so many milli-GPU more from now on.
  void hold(std::int32_t queue, std::int64_t more, Seconds now);
  // Queue::decayed_usage as it is now.
  void write_to(std::vector<Queue>& queues, Seconds now) const;

 private:
  struct Use {
    double used = 0;  // what counted at `at`
    MilliGpu held;    // since then
    Seconds at;
  };
  double used_by(const Use& use, Seconds now) const;

  Seconds half_life_;
  std::vector<Use> uses_;  // by queue
};

}  // namespace berth
