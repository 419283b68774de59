// What to do about a waiting job beside waiting: a remedy is advised only when planning says that it starts the job.
//
// Advice that sounds right and changes nothing (fewer GPUs per task where every GPU is taken, a node brought back that
// is full) costs an admin more than none. So a remedy is taken as far as it goes (one GPU per task, all nodes up, the
// highest class) on a copy of the state, and the round is planned there up to the job: one round at most. How far it
// has to go is for EXPLAIN JOB ... COUNTERFACTUAL (round/what_if.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/model/snapshot.h"

namespace berth {

enum class Remedy : std::uint8_t {
  kNone,
  kResumeNodes,
  kLessCpu,
  kLessMemory,
  kFewerGpus,  // per task
  kFraction,   // of a GPU instead of a whole one
  kSmallerFraction,
  kLessDeviceMemory,
  kAnyLinkGroup,
  kWiderLocality,
  kSmallerGang,
  kHigherClass,
  kEarlierEnd,
  kBackfill,
  kHigherLimit,  // of a queue
  kMoreQuota,
  kMoreLending,  // by all others
};

// Whose terms, for the last three.
struct RemedyAim {
  std::int32_t queue = -1;   // index
  std::size_t resource = 0;  // the same
};

// "submit it with fewer GPUs per task", "raise the quota of nlp".
std::string remedy_words(Remedy remedy, std::string_view queue = {});

// The state with the remedy taken as far as it goes. `group`: of the waiting job, the one that does not fit.
Snapshot with_remedy(const Snapshot& snapshot, std::int64_t job, std::int32_t group, Remedy remedy,
                     const RemedyAim& aim = {});

// Whether the next round starts the job, or makes room for it. kInterrupted.
Result<bool> would_start(const Snapshot& snapshot, std::int64_t job, const std::atomic<bool>* interrupted = nullptr);

}  // namespace berth
