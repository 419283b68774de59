// Every second that a job waits has a cause: the stretch that lasts is in jobs (wait_cause, wait_since), those that
// ended are in wait_stretches. A stretch ends when the cause or the beneficiary changes; nothing is written before.
//
// Should the clock be set back, a second that is written down is not counted again: the next stretch begins where the
// last one ended, and one that would end before it began is none.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/model/plan.h"
#include "engine/store/change.h"
#include "engine/store/load.h"

namespace berth {

// A pending or held job waits no longer; nothing for one that runs. To be called before its state changes.
Status end_wait(Change& change, std::int64_t job);
// From now on, or since an earlier moment, the job waits for this; `beneficiary` is a queue, 0 = none. To be called
// before its state changes.
Status begin_wait(Change& change, std::int64_t job, WaitCause cause, std::int64_t beneficiary = 0,
                  std::optional<Seconds> since = std::nullopt);

// What every live job was last found to wait for, in id order.
Result<std::vector<LastReason>> read_last_reasons(Database& db);

// The same looked up by id, in any order. A hundred thousand jobs are; ids are close to one another, so a place each
// beats a search. Sparse ids (somebody chose them by hand) fall back to that.
class LastReasons {
 public:
  explicit LastReasons(std::span<const LastReason> by_id);
  // Null = not known.
  const LastReason* find(std::int64_t job) const;

 private:
  static constexpr std::size_t kMostPlaces = std::size_t{1} << 22;
  std::span<const LastReason> by_id_;
  std::int64_t first_ = 0;
  std::vector<std::uint32_t> place_;  // 1 + index into by_id_; 0 = none
};

// Writes what a round found, job by job; best in id order.
class WaitWriter {
 public:
  static Result<WaitWriter> make(Change& change);
  // It starts.
  Status end(const LastReason& last);
  // It goes on waiting, perhaps for something else. `last` may be null.
  Status judge(const Waiting& waiting, const LastReason* last);

 private:
  WaitWriter(Seconds now, Statement stretch, Statement move, Statement reason)
      : now_(now), stretch_(std::move(stretch)), move_(std::move(move)), reason_(std::move(reason)) {}
  Seconds now_;
  Statement stretch_;
  Statement move_;
  Statement reason_;
};

// Does the round find something else than the one before?
bool finds_the_same(const Waiting& waiting, const LastReason* last);

}  // namespace berth
