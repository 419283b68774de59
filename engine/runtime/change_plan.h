// PLAN <statement>: what the next round would do differently after a change, without making it. The change and that
// round are kept as a plan (change_apply.h carries it out).
//
// The statement runs in a transaction that is taken back; inside it the round is planned on what the tables then say
// and carried out, and compared with the round on what they say now. Nothing that both would do is named. Of a job that
// waits both times its reason, its reservation and its place in the order are compared; when it would start without a
// reservation is a forecast of its own (EXPLAIN JOB), not made here.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/runtime/change_nodes.h"
#include "engine/runtime/explanation.h"
#include "engine/runtime/round_driver.h"
#include "engine/runtime/runtime.h"
#include "engine/store/journal.h"

namespace berth {

enum class JobTurn : std::uint8_t {
  kStops,  // by the change itself
  kStarts,
  kStartsElsewhere,
  kStartsNoMore,
  kEvicted,
  kEvictedNoMore,
  kWaitsOtherwise,
  kWaitsNoMore,  // nor does it start: held, cancelled, ...
  kReserved,
  kReservedOtherwise,  // expected to start at another time
  kReservedNoMore,
  kMoves,  // in the order of the jobs that wait both times
};
std::string_view job_turn_name(JobTurn turn);  // "starts", "starts no more", ...

struct JobDifference {
  std::string job;
  std::string queue;
  JobTurn turn = JobTurn::kStarts;
  std::string detail;  // "4 tasks on 8 GPUs", "for ranking: 1.5 GPU-hours lost", "place 1 of 12; before: 9"
};

struct BorrowingDifference {
  std::string borrower;
  std::string lender;  // empty = capacity that is nobody's quota
  std::string resource;
  std::int64_t before = 0;
  std::int64_t after = 0;
};

struct ChangeOutlook {
  std::int64_t plan = 0;                  // its number; 0 = not kept
  std::string not_kept;                   // why
  std::vector<JobExplanation> submitted;  // jobs that the change brings, the first of them: when and where they start
  std::vector<NodeDifference> nodes;
  std::vector<JobDifference> jobs;  // in the order of JobTurn, then by job number; those that move by their new place
  std::int64_t more_moves = 0;      // jobs that move beyond those named
  std::int64_t more_elsewhere = 0;  // jobs that start elsewhere, beyond those named
  std::vector<BorrowingDifference> borrowing;      // after the round without the change, and with it
  std::vector<BrokenAssertion> broken;             // by the change and the round after it, which would be refused
  std::vector<HeldBackJob> held_back;              // for that held back, and
  std::vector<AssertionHold> holds;                // with those like them
  std::map<std::int64_t, std::string> held_names;  // of those jobs
  std::int64_t started_before = 0;                 // jobs that the round would start
  std::int64_t started_after = 0;
  std::int64_t lost_before = 0;  // milli-GPU-seconds by evictions
  std::int64_t lost_after = 0;
};

// `make_change` makes the change through runtime.change(); its error is the answer when it fails. A statement without
// text is not kept as a plan.
Result<ChangeOutlook> outlook_of_change(Runtime& runtime, const PlannedStatement& statement,
                                        const std::function<Status()>& make_change,
                                        const std::atomic<bool>* interrupted = nullptr);

}  // namespace berth
