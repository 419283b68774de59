// Plan to tables, in one write transaction. Nothing is launched here: executors read what was applied.
//
// Refused with kConflict when the state has moved since the plan was made, saying what moved; when a gang would start
// below its min_tasks or be left so; and by the database's own triggers when anything would be over-allocated. Then
// nothing is changed. A plan that changes nothing still leaves its round row.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/model/plan.h"
#include "engine/store/assertion_holds.h"
#include "engine/store/assertion_records.h"
#include "engine/store/change.h"
#include "engine/store/load.h"
#include "engine/store/round_records.h"
#include "engine/store/sqlite.h"

namespace berth {

// How long each step took; goes into the round's row.
struct StepSeconds {
  double load = 0;
  double order = 0;
  double place = 0;
};

// The first decision of a plan that would break assertions.
struct Culprit {
  std::int64_t job = 0;
  std::vector<BrokenAssertion> broken;
  std::vector<std::int64_t> before;  // jobs of the decisions before it, which break none
  std::vector<NodeIndex> nodes;      // where it was to get tasks; ascending
};
// A plan that does without it.
struct PlanWithout {
  Plan plan;
  std::optional<RoundRecord> record;
};

struct ApplyRequest {
  std::string kind = "schedule";
  Author actor = {};
  Seconds now = {};
  StepSeconds seconds = {};
  // Loaded::last_reasons of the snapshot that the plan was made from; empty = read from the tables.
  std::span<const LastReason> last_reasons = {};
  std::int64_t plan_id = 0;             // saved plan to mark applied; 0 = none: the round gets the plan's record
  const RoundRecord* record = nullptr;  // to be kept with the round; nullptr = none
  // Called for a plan that breaks assertions, until one breaks none; nothing = it is refused, as where this is empty.
  std::function<Result<std::optional<PlanWithout>>(const Culprit&)> plan_without = {};
  std::span<const HeldBackJob> held_back = {};  // why jobs in Plan::holds are held, for the journal
  Asking asking = {};
  // Jobs submitted since the plan was made do not make it stale: on a busy database a live round would never end.
  bool accept_new_jobs = false;
  // Only tried: jobs that are to stop now are gone, also those that an executor runs.
  bool stopped_are_gone = false;
};

struct ApplyResult {
  std::int64_t round = 0;
  std::int64_t version = 0;  // new state version
  std::int64_t placed_tasks = 0;
  std::int64_t started_jobs = 0;
  std::int64_t waiting_jobs = 0;
  std::int64_t evicted_jobs = 0;    // that wait again
  std::int64_t shrunk_jobs = 0;     // that gave up surplus tasks
  std::int64_t stopping_jobs = 0;   // told to stop
  std::int64_t reprieved_jobs = 0;  // told to run on
  std::int64_t changed_reasons = 0;
  double seconds = 0;
  std::vector<BrokenAssertion> broken;  // by a plan that is refused for it: no round and no new version
  std::optional<Plan> replanned;        // applied instead of one that breaks assertions
  std::vector<HeldBackJob> held_back;   // jobs that it does without, in the order in which they were found

  bool is_refused() const { return !broken.empty(); }
};

// A plan that breaks assertions is an answer, not an error.
Result<ApplyResult> apply_plan(Database& db, const Plan& plan, const ApplyRequest& request);
// The same with nothing changed: what the plan would break now, and what of it would be applied.
Result<ApplyResult> foretell_plan(Database& db, const Plan& plan, const ApplyRequest& request);
// The same inside a change that the caller commits or takes back; the state must be the one it was planned on. Of a
// plan that is refused nothing is written.
Result<ApplyResult> write_watched_plan(Change& change, const Plan& plan, const ApplyRequest& request,
                                       const AssertionWatch& watch);
// And whatever it breaks: assertions are the caller's business.
Result<ApplyResult> write_plan(Change& change, const Plan& plan, const ApplyRequest& request);

// kConflict, saying what moved, unless the state is the one that the plan was made for: the same version, and no date
// of a quota or loan has passed since.
Status check_not_moved(Database& db, const Plan& plan, std::int64_t present_version, Seconds now);

}  // namespace berth
