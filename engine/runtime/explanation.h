// EXPLAIN JOB in words: the one dominant reason with its numbers, the next step, and the evidence behind it.
//
// The answer comes from the round itself: it is planned on the present state up to the job, without applying. When the
// plan starts it, the answer says where. When it waits, one reason dominates: what its queue may use, a reservation,
// the jobs ahead of it (when it would fit the cluster as it is), or the nodes. Beside it: who has what it needs, and
// when it is expected to start (round/forecast.h). What to do next is proved before it is advised (remedy.h).
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "engine/round/explain.h"
#include "engine/runtime/reason_words.h"
#include "engine/runtime/runtime.h"
#include "engine/store/expectation_records.h"
#include "engine/store/load.h"

namespace berth {

// One reason with what stands behind it, ready to be shown.
struct ReasonLine {
  Reason reason = Reason::kNone;
  std::int32_t nodes = 0;
  std::int32_t eligible_nodes = 0;
  std::string sentence;
  std::string nearest_node;  // of those that could run it and are up; empty = none
  std::string lacks;         // what it lacks for one task
};

struct JobExplanation {
  std::string job;
  JobState state = JobState::kPending;
  bool starts = false;        // the next round would start it
  bool never_starts = false;  // as things are, whatever ends: it has no place in the order
  Reason reason = Reason::kNone;
  std::string sentence;             // the dominant reason with numbers
  std::string next_step;            // what would help; may be empty
  std::string group;                // name of the task group that does not fit; empty when it starts
  std::int64_t place = 0;           // in the order, from 1; 0 = not waiting, as a job is that runs and wants more tasks
  std::int64_t waiting = 0;         // jobs in the order
  std::vector<ReasonLine> reasons;  // over all nodes, most first
  std::string nearest_node;
  std::string nearest_lacks;         // "2 GPUs and 4 CPU"
  std::string held_by;               // who has what it needs: queues, and the job expected to end first
  std::optional<Seconds> start_p50;  // when it is expected to start; nothing = starts now, or nobody knows
  std::optional<Seconds> start_p90;
  std::string start_when;  // "the dated limit of q of gpu ends": the date that lets it start; empty = none
  // Starts known that tell how wrong such forecasts are. With enough of them both hold as often as they say; else they
  // are forecasts with median and with long durations, without jobs to come.
  std::int64_t known_starts = 0;
  bool is_measured() const { return is_measured_start(known_starts); }
  std::string evicts;                        // whom, for that start
  std::optional<ExpectationRow> told;        // what was told of it before, where that differs
  std::int64_t guesses = 0;                  // jobs on which that rests and of which no duration is known:
  Seconds guessed_duration;                  // each is taken to run so long
  std::vector<Placement> placements;         // when it starts
  std::vector<std::string> placement_nodes;  // parallel to placements
};

Result<JobExplanation> explain_job(Runtime& runtime, std::string_view job,
                                   const std::atomic<bool>* interrupted = nullptr);

struct ExplainOptions {
  const std::atomic<bool>* interrupted = nullptr;
  bool next_step = true;  // of a job that waits; costs up to a round more
};
// The same of the present state loaded already, with node names; of a job by its id.
Result<JobExplanation> explain_loaded_job(Runtime& runtime, const Snapshot& snapshot, std::int64_t job,
                                          const ExplainOptions& options = {});

struct NodeExplanation {
  std::string job;
  std::string node;
  struct Group {
    std::string name;
    Reason reason = Reason::kNone;
    std::string sentence;
    std::int32_t fits = 0;  // tasks of the group that fit there now
  };
  std::vector<Group> groups;
};
Result<NodeExplanation> explain_job_on_node(Runtime& runtime, std::string_view job, std::string_view node);

}  // namespace berth
