// What happened and what was planned: events, saved plans, and how long they are kept. (Round rows are written by
// apply.h.)
//
// Saving a plan is no change of state: it does not move the state version, or every plan would be stale at once.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/plan.h"
#include "engine/store/change.h"
#include "engine/store/round_records.h"
#include "engine/store/sqlite.h"

namespace berth {

struct Event {
  std::int64_t id = 0;
  Seconds time;
  std::int64_t version = 0;
  std::string kind;
  std::string object;
  std::string actor;
  std::string detail;
};
// Of what is no change of the state; mostly Berth does it by itself.
Status write_event(Database& db, Seconds now, std::string_view kind, std::string_view object, std::string_view detail,
                   const Author& author = "berth");
// Events of versions above `version`, oldest first, at most `most`.
Result<std::vector<Event>> events_after(Database& db, std::int64_t version, std::size_t most);
// "create node train065 by alice" and so on: what moved since `version`, at most a few, then how many more.
Result<std::string> describe_moves_since(Database& db, std::int64_t version);

// A job that a planned statement brings: it has a number, but no row until the plan is applied.
struct PlannedJob {
  std::string name;
  std::int64_t queue = 0;           // id
  std::vector<std::string> groups;  // names, by index
};
using PlannedJobs = std::map<std::int64_t, PlannedJob>;
// Those with numbers above `last_job`.
Result<PlannedJobs> read_planned_jobs(Database& db, std::int64_t last_job);

// The change that a plan begins with. Empty text = none, it is a round alone.
struct PlannedStatement {
  std::string text;                            // as it is carried out
  std::string spoken = {};                     // for readers: what is secret in it is masked
  std::map<std::string, std::string> digests;  // of the files that it reads, by name
  PlannedJobs jobs = {};                       // that it brings
};
// "PLAN SUBMIT JOB ...; makes a new one", for hints.
std::string makes_anew(const PlannedStatement& statement);
enum class PlanState { kOpen, kApplied };
struct SavedPlan {
  std::int64_t id = 0;
  Seconds created_at;
  std::string kind;
  PlanState state = PlanState::kOpen;
  Plan plan;
  PlannedStatement statement;
};
// With what it was planned on, where `record` has that.
Result<std::int64_t> save_plan(Database& db, const Plan& plan, std::string_view kind, Seconds now,
                               const RoundRecord* record = nullptr, const PlannedStatement& statement = {});
// kNotFound with the ids there are.
Result<SavedPlan> load_plan(Database& db, std::int64_t id);

// Deletes rounds with their decisions and records, events, plans, ended jobs, history and days of accounts older than
// the retention settings. Leaves an event that says how much. Rows deleted.
Result<std::int64_t> prune_history(Database& db, Seconds now, const Author& author = "berth");
// Deletes records of rounds older than `keep_since`, with an event.
Status vacuum_records(Database& db, Seconds keep_since, Seconds now, const Author& author);
// Deletes those that are damaged, with an event. Records deleted.
Result<std::int64_t> vacuum_damaged_records(Database& db, Seconds now, const Author& author);

}  // namespace berth
