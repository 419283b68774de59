// Jobs that ran somewhere else, or before: written as ended jobs with one run each, what they used, and what their
// durations teach about the next ones. Nothing that is live changes.
//
// What they waited for is not known, so all of their waiting is put down to kRound. Their use counts for no queue's
// fair share.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/policy/rightsizing.h"
#include "engine/store/job_records.h"
#include "engine/store/prediction_records.h"

namespace berth {

// What the run of such a job says of itself (runs.detail).
inline constexpr std::string_view kImported = "imported";
inline constexpr std::string_view kImportedWithStart = "imported with its start";

struct PastGroup {
  TaskGroupRequest asked;
  UsageSample used;  // what was not measured is empty; `end` is ignored
};

struct PastJob {
  std::string name;
  std::string queue;           // a leaf
  std::string priority_class;  // empty = none
  std::string user;
  std::string tag;
  Seconds submit;
  Seconds start;
  bool knows_start = false;  // else it is made up: the moment of its submission
  Seconds end;
  JobState outcome = JobState::kFinished;  // or kFailed, kCancelled
  Seconds time_limit;                      // 0 = none
  std::vector<PastGroup> groups;           // at least one
};

// Many of them in one Change. A job that is refused leaves nothing behind.
class PastJobWriter {
 public:
  static Result<PastJobWriter> make(Change& change);
  Status add(const PastJob& job);
  // Learns from the runs that finished.
  Status finish();

 private:
  struct Statements {
    Statement job;
    Statement group;
    Statement run;
    Statement usage;
    Statement wait;
  };
  PastJobWriter(Change& change, Statements statements) : change_(&change), statements_(std::move(statements)) {}
  Result<std::int64_t> find_leaf(const std::string& queue);
  Result<std::optional<std::int64_t>> find_class(const std::string& name);
  Result<std::optional<std::int64_t>> find_pool(const std::string& name);
  Status add_groups(const PastJob& job, std::int64_t id, JobFeatures& features);
  Status add_usage(const PastJob& job, std::size_t group, const std::string& name);

  Change* change_;
  Statements statements_;
  std::int64_t next_job_ = 1;
  std::int64_t next_run_ = 1;
  std::map<std::string, std::int64_t> leaves_;  // looked up so far, as all below
  std::map<std::string, std::int64_t> classes_;
  std::map<std::string, std::int64_t> pools_;
  std::vector<PastRun> runs_;
};

}  // namespace berth
