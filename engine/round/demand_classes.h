// Jobs that ask for the same in the same queue and class fail for the same reason: a pass tries one of them.
//
// Nothing is released during a pass but by evictions, so what failed once fails for the rest of that pass or until
// somebody was evicted - unless it failed for a reservation, or got one of its own (PassOutcome::keeps_room).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "engine/model/demand_key.h"
#include "engine/model/rules.h"

namespace berth {

enum class MayEvict : std::uint8_t { kNobody, kOfItsQueue, kAll };

// Numbers for what decides whether a job starts. Outlives a pass.
class DemandClasses {
 public:
  // Jobs of one kind ask for the same in the same queue and priority class. Numbers count from 0.
  std::size_t kind_of(const Job& job);

  // `may_evict`: who may be evicted for the job now (reclaim.h); `end`: when it would end, where that matters to
  // quotas (QuotaLedger::looks_at_end); `levels`: of its path, within whose quotas it must stay. Numbers count from 0.
  std::size_t of(std::size_t kind, const Job& job, MayEvict may_evict, Seconds end = Seconds(0), int levels = 0);
  std::size_t of(const Job& job, MayEvict may_evict, Seconds end = Seconds(0), int levels = 0) {
    return of(kind_of(job), job, may_evict, end, levels);
  }
  // Kinds stay, so that they can be kept with the jobs that wait.
  void forget_classes() { numbers_.clear(); }

 private:
  std::map<DemandKey, std::size_t> kinds_;
  std::map<std::array<std::int64_t, 6>, std::size_t> numbers_;
};

// Which classes have failed in a pass, and what is remembered of it.
class FailedDemands {
 public:
  // `evictions`: how many the pass has made so far.
  void note(std::size_t demand_class, std::size_t evictions, std::size_t remembered = 0);
  // What was remembered of the failure, if it still counts.
  std::optional<std::size_t> find(std::size_t demand_class, std::size_t evictions) const;

 private:
  struct Failure {
    std::size_t evictions = 0;
    std::size_t remembered = 0;
  };
  std::vector<std::optional<Failure>> failures_;  // by class
};

}  // namespace berth
