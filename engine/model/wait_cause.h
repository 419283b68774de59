// What the waiting of a job is put down to. Every second that a job waits has exactly one cause, so that waits can be
// added up over jobs, queues and days.
//
// A cause is coarser than the reason a round finds (plan.h): which of CPU, memory or GPUs is short moves with every
// round, that capacity is short is what an admin can do something about.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/base/status.h"
#include "engine/model/plan.h"
#include "engine/model/rules.h"

namespace berth {

enum class WaitCause : std::uint8_t {
  kRound,            // no round has judged it yet
  kHeld,             // HOLD, or submitted as held
  kDependency,       // jobs it depends on have not finished
  kOwnQuota,         // its queue uses its quota up, or may not borrow more
  kLenderReclaimed,  // it was evicted by the owner of what it ran on, and finds no room or quota since
  kOrder,            // jobs ahead of it took room in which it would run by now
  kReservation,      // it would delay a job that has a reservation, or waits for its own
  kLocality,         // there is room, not close enough together
  kFragmentation,    // there is enough free, in pieces that are too small
  kNoCapacity,       // there is not enough free of what it asks for
  kAssertion,        // it would run, but for an assertion
  kPolicy,           // a policy of the site holds it back
};
std::string_view wait_cause_name(WaitCause cause);  // "own_quota"
Result<WaitCause> read_wait_cause(std::string_view text);
// The same for people: "its queue has used up its quota".
std::string_view wait_cause_words(WaitCause cause);

// `last`: the cause so far; `reclaimed`: its last attempt was ended by the owner of the quota it ran on. Had that not
// happened, or had it gone first when jobs ahead of it took the room, it would run: so these two causes last as long as
// it finds no room.
WaitCause cause_of(const Waiting& waiting, WaitCause last, bool reclaimed);
// From an eviction until a round judges the job again.
WaitCause cause_of(EvictionRule rule);
// Does that eviction count as `reclaimed` above?
bool is_reclaim(EvictionRule rule);

}  // namespace berth
