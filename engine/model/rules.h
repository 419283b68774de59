// The rules of a round beyond order and score: what a blocked job means for those behind it, and who may be evicted.
//
// Settings of a database and options of a simulation both become this. Reservations are what a round leaves for the
// next: room held for a job, on certain nodes, from a certain time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/base/units.h"
#include "engine/model/ledger.h"

namespace berth {

// What happens behind a job that may start but does not fit.
enum class BackfillMode : std::uint8_t {
  kGreedy,        // it is passed over; whoever fits starts
  kNone,          // nobody starts
  kNonePerQueue,  // nobody of its queue starts
  kEasy,          // it gets a reservation; whoever does not delay that starts
  kConservative,  // everybody gets a reservation; whoever delays none starts
};
std::string_view backfill_mode_name(BackfillMode mode);  // "greedy", "none", "none_per_queue", "easy", "conservative"
Result<BackfillMode> read_backfill_mode(std::string_view text);

enum class Preemption : std::uint8_t {
  kNone,     // what runs runs to its end
  kReclaim,  // quota lent is taken back, a higher class goes before a lower one of the same queue; see round/reclaim.h
  kReplan,   // every job is put in order anew, those that run too; who does not fit is evicted
};
std::string_view preemption_name(Preemption preemption);
Result<Preemption> read_preemption(std::string_view text);

struct RoundRules {
  BackfillMode backfill = BackfillMode::kEasy;
  std::int32_t backfill_depth = 100;  // conservative: jobs that get a reservation
  Preemption preemption = Preemption::kReclaim;
  bool told_still_stop = false;    // with kNone: jobs that were told to stop do not run on; of plans for what would be
  Seconds min_runtime{600};        // for jobs that do not say
  Seconds pending_delay{30};       // a job waits that long before others are evicted for it
  Seconds eviction_cooldown{600};  // a job evicted is not evicted again so soon after its next start
  std::int64_t eviction_budget = -1;  // milli-GPU-seconds that the jobs of one queue may lose in an hour; -1 = any
  Seconds reservation_ttl{3600};      // room held for a beneficiary beyond the stop of its victims
  Seconds default_duration{86400};    // of a job about which nothing is known

  static constexpr std::int64_t kMostTimes = 24;  // the most often that a setting prolongs a wait
  Seconds most_behind() const { return Seconds(kMostTimes * reservation_ttl.value()); }
  // Where ranks move a job has the turn whatever its rank when it came by more than most_behind before those ahead.
  bool goes_by_age(Seconds in_line_since, Seconds ahead) const { return in_line_since + most_behind() < ahead; }
  // What was evicted n times rests that long before a higher class may evict it again.
  Seconds rest_after(std::int64_t evictions) const {
    return Seconds(std::min(evictions, kMostTimes) * eviction_cooldown.value());
  }
  // What is idle is for the first in the order.
  bool keeps_order_of_all() const { return backfill == BackfillMode::kNone || backfill == BackfillMode::kNonePerQueue; }
  // What was told to stop before evictions were forbidden runs on.
  bool withdraws_evictions() const { return preemption == Preemption::kNone && !told_still_stop; }

  bool operator==(const RoundRules&) const = default;
};

// Parameters of order policies; each policy's header says which it reads.
struct OrderKnobs {
  double usage_weight = 0;             // fair_share: how much decayed use counts against a queue (k of KAI); 0 = not
  Seconds usage_half_life{7 * 86400};  // of decayed use
  std::vector<std::int64_t> las_thresholds = {3250 * 1000,
                                              7200 * 1000};  // las: milli-GPU-seconds (or ms) that end each level
  bool las_by_gpu = true;                                    // las: service is time x GPUs; else time alone
  double wpai_low_use_penalty = 1.0;                         // wpai: per percent of requested GPU that goes unused
  double wpai_wait_bonus = 1.0;                              // wpai: per minute waited
  std::int64_t sjf_percentile = 50;                          // sjf: 50, 80 or 90, of the predicted duration

  bool operator==(const OrderKnobs&) const = default;
};

// Why a job is evicted.
enum class EvictionRule : std::uint8_t {
  kReclaim,   // the beneficiary's queue takes back its quota
  kPriority,  // the beneficiary has a higher class in the same queue
  kLoan,      // the loan it ran on has ended
  kReplan,    // the order put others first (simulations)
};
std::string_view eviction_rule_name(EvictionRule rule);
Result<EvictionRule> read_eviction_rule(std::string_view text);

// Why it was this one of the jobs that the rule allows to evict.
enum class VictimChoiceReason : std::uint8_t {
  kUnknown,       // an earlier round decided it and said why, or did not yet say such things
  kOnly,          // nobody else could make room
  kLowestClass,   // the others are of higher classes
  kLeastLost,     // none of the others of its class loses less per GPU
  kLeastForRoom,  // others lose less, but the room made here costs least in all
  kPolicy,        // a victim policy weighs what ending a job costs
  kLoan,          // it runs on what a loan lent
};
std::string_view victim_choice_reason_name(VictimChoiceReason reason);  // "least_lost"
Result<VictimChoiceReason> read_victim_choice_reason(std::string_view text);

enum class ReservationKind : std::uint8_t {
  kBackfill,  // the first in the order that does not fit
  kEviction,  // its victims are still writing their checkpoints
};
std::string_view reservation_kind_name(ReservationKind kind);
Result<ReservationKind> read_reservation_kind(std::string_view text);

struct ReservedTask {
  std::int32_t group = 0;
  std::int32_t task = 0;
  std::int64_t node_id = 0;  // of holding.node, which it outlives
  Holding holding;

  bool operator==(const ReservedTask&) const = default;
};

// Room held for a job that waits.
struct Reservation {
  std::int64_t job = 0;
  ReservationKind kind = ReservationKind::kBackfill;
  Seconds made_at;
  Seconds expected;     // start
  Seconds expires{-1};  // -1 = when the job starts or is no longer first; of one round alone: its time
  std::vector<ReservedTask> tasks;

  bool operator==(const Reservation&) const = default;
};

}  // namespace berth
