// The jobs that wait in a simulation, named one after the other in the order in which a pass tries them.
//
// Two kinds: waiting_buckets.h for orders by a key of each job, which keeps them sorted and leaves out those that
// cannot start; waiting_line.h for any order, which asks the policy at every moment. A job that runs with tasks missing
// waits too, for those.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/policy/policy.h"
#include "engine/sim/floor.h"

namespace berth {

// What is said of the job named last.
enum class Tried : std::uint8_t {
  kStarted,
  kFailed,       // so would all that ask for the same
  kFailedAlone,  // says nothing of others
};

class WaitingJobs {
 public:
  virtual ~WaitingJobs() = default;
  // Not during a pass. The slot must not wait yet.
  virtual void add(const Job& job, std::int32_t slot) = 0;
  // It ended without having got all its tasks. During a pass only of a waiting_line.h.
  virtual void remove(const Job& job, std::int32_t slot) = 0;
  virtual std::size_t size() const = 0;

  // `input` without its jobs; it and `floor` must stay until the end of the pass.
  virtual void begin_pass(const OrderInput& input, const Floor& floor) = 0;
  // All that wait, in id order, as far as they are kept so; until the end of the pass.
  virtual std::span<const Job> jobs() const { return {}; }
  // Slot of the next job to try; -1 = no more. After each, tried() must be called.
  virtual std::int32_t next() = 0;
  // Of the job named last; see JobSequence.
  virtual int levels_within_quota() const { return 0; }
  // A job that started waits no longer.
  virtual void tried(Tried outcome) = 0;
  // After a pass: when the order changes although nothing happens.
  virtual std::optional<Seconds> order_changes_at() { return std::nullopt; }
  // Not empty: the order policy failed in this pass.
  virtual std::string order_failure() const { return {}; }
};

}  // namespace berth
