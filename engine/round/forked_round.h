// A copy of the state that may be changed, and the round planned on it up to one waiting job: does it start now?
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "engine/model/plan.h"
#include "engine/model/snapshot.h"
#include "engine/round/smallest.h"

namespace berth {

// The typical workload when these have ended, and a job asks for what `is` does in place of `was`.
using WorkloadThen =
    std::function<std::vector<WorkloadShape>(std::span<const RunningJob* const> ended, const Job& was, const Job& is)>;

class ForkedRound {
 public:
  // `job`: index into snapshot.jobs. The snapshot must outlive it. `workload_then`: null = it stays as it is.
  ForkedRound(const Snapshot& snapshot, std::size_t job, WorkloadThen workload_then,
              const std::atomic<bool>* interrupted)
      : snapshot_(snapshot),
        interrupted_(interrupted),
        fork_(snapshot),
        workload_then_(std::move(workload_then)),
        job_(job) {}

 protected:
  static constexpr std::optional<std::int64_t> kOwnPlace = std::nullopt;

  // What a plan of the fork says about the job.
  struct Planned {
    Waiting waiting;
    std::vector<Placement> placed;
    std::vector<Eviction> evicted;  // for it
    std::vector<std::int64_t> ahead;
    std::vector<std::int64_t> takers;  // places in `ahead` of those that take something from it
    bool goes_first = false;
  };

  Job& job() { return fork_.jobs[job_]; }
  std::int64_t id() const { return snapshot_.jobs[job_].id; }

  // These running jobs have ended in the fork, and no others.
  void end_only(const std::set<std::int64_t>& jobs);

  // Plans the fork up to the job, tried after so many others; what the plan says is in planned_.
  Result<bool> starts_at(std::optional<std::int64_t> place);
  // At its own place, or else before all others - but where that alone starts it, a change that needs it is none.
  Result<bool> starts();
  // At the place at which a change has been found to start it.
  Result<bool> starts_again(bool goes_first);

  // Leaves members of a change out as long as the job starts without them. It starts with all of them, as planned_
  // says; `take` makes the change with some. Ends with the plan of what is left in planned_.
  template <class Member>
  Result<Smallest> leave_out(std::vector<Member>& members, Questions& questions,
                             const std::function<void(const std::vector<Member>&)>& take) {
    Planned proof = planned_;
    const auto works = [&](const std::vector<Member>& fewer) -> Result<bool> {
      take(fewer);
      BERTH_ASSIGN(const bool started, starts_again(proof.goes_first));
      if (started) proof = planned_;
      return started;
    };
    BERTH_ASSIGN(const Smallest found, leave_out_needless<Member>(members, questions, works));
    planned_ = std::move(proof);
    return found;
  }

  const Snapshot& snapshot_;
  const std::atomic<bool>* interrupted_;
  Snapshot fork_;
  Planned planned_;                  // the last plan
  std::vector<std::int64_t> ahead_;  // jobs before it in the order, as things are
  bool order_is_enough_ = false;     // before all others it starts, with nothing else changed
  std::int64_t plans_ = 0;           // made so far

 private:
  void note_takers(const Plan& plan);

  WorkloadThen workload_then_;
  std::vector<const RunningJob*> ended_;
  std::size_t job_;
};

}  // namespace berth
