// PLAN <statement>: what the next round would do differently after a change, without making it.
//
// The statement runs in a transaction that is taken back; inside it the round is planned on what the tables then say,
// and compared with the round planned on what they say now. Nothing that both would do is named.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/runtime/round_driver.h"
#include "engine/runtime/runtime.h"

namespace berth {

enum class JobTurn : std::uint8_t { kStarts, kStartsNoMore, kEvicted, kEvictedNoMore, kWaitsOtherwise };
std::string_view job_turn_name(JobTurn turn);  // "starts", "starts no more", ...

struct JobDifference {
  std::string job;
  std::string queue;
  JobTurn turn = JobTurn::kStarts;
  std::string detail;  // "4 tasks on 8 GPUs", "for job ranking: 1.5 GPU-hours lost", "quota -> no room"
};

struct BorrowingDifference {
  std::string borrower;
  std::string lender;  // empty = capacity that is nobody's quota
  std::string resource;
  std::int64_t before = 0;
  std::int64_t after = 0;
};

struct ChangeOutlook {
  std::vector<JobDifference> jobs;             // in the order of JobTurn, then by job number
  std::vector<BorrowingDifference> borrowing;  // at once, before the round
  std::int64_t started_before = 0;             // jobs that the round would start
  std::int64_t started_after = 0;
  std::int64_t lost_before = 0;  // milli-GPU-seconds by evictions
  std::int64_t lost_after = 0;
};

// `make_change` makes the change through runtime.change(); its error is the answer when it fails.
Result<ChangeOutlook> outlook_of_change(Runtime& runtime, const std::function<Status()>& make_change,
                                        const std::atomic<bool>* interrupted = nullptr);

}  // namespace berth
