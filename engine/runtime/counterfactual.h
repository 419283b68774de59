// EXPLAIN JOB ... COUNTERFACTUAL in words: what would start the job now, each change proved by planning it
// (round/what_if.h), with the statement that makes it and what it costs; and when it starts if nothing changes.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/round/what_if.h"
#include "engine/runtime/runtime.h"

namespace berth {

struct CounterfactualLine {
  std::string change;         // "quota", "device model", ..., "wait"
  std::string sentence;       // "queue search has 4 A100 more (20 instead of 16)"; all names, for programs
  std::string statement;      // what to type; empty where no statement alone does it
  std::string cost;           // "1.5 GPU-hours of 2 jobs lost"; empty = none
  std::string shown = {};     // the sentence with the first names only, for people
  bool starts_later = false;  // room is made now, by jobs that get a grace
};

struct Counterfactual {
  std::string job;
  JobState state = JobState::kPending;
  bool starts_anyway = false;
  std::string why;  // the reason as things are, in words
  std::vector<CounterfactualLine> lines;
  std::int64_t plans = 0;  // made to prove them
};

Result<Counterfactual> explain_counterfactual(Runtime& runtime, std::string_view job,
                                              const std::atomic<bool>* interrupted = nullptr);

}  // namespace berth
