// Tables to Snapshot, in one read transaction.
//
// Reads every node, every live allocation, every job that is pending or runs, and the room held for jobs; the cost
// follows their number, not the length of the history. Policies, rules and seed come from settings. Beside the snapshot
// it returns what the caller needs next: how often each task shape occurs among live jobs (Snapshot::workload is made
// from that by the runtime), and what each waiting job was last found to wait for, so that apply writes only changes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/model/plan.h"
#include "engine/model/snapshot.h"
#include "engine/model/wait_cause.h"
#include "engine/store/sqlite.h"

namespace berth {

struct LoadOptions {
  Seconds now = {};
  bool node_names = true;
  std::optional<std::int64_t> also_job = {};  // a job to load whatever its state (EXPLAIN JOB on a held one)
};

// Tasks of live jobs (waiting and running) that ask for the same.
struct ShapeCount {
  TaskShape shape;
  std::string models_text;  // as stored: "A100|H100", empty = any
  std::int64_t tasks = 0;
};

// What a waiting job was last found to wait for.
struct LastReason {
  std::int64_t job = 0;
  Reason reason = Reason::kNone;  // kNone = not judged since it began to wait
  WaitCause cause = WaitCause::kRound;
  std::int64_t beneficiary = 0;  // queue; 0 = none
  Seconds since{-1};             // for that cause and beneficiary; -1 = it runs
  bool reclaimed = false;        // see cause_of()
};

struct Loaded {
  Snapshot snapshot;                     // workload is left empty
  std::vector<ShapeCount> shapes;        // most tasks first, then by the first job that has it
  std::vector<LastReason> last_reasons;  // of snapshot.jobs, in id order
};

// kCorrupt when rows cannot be read as what they should be (a state nobody knows, link groups that do not parse).
Result<Loaded> load_state(Database& db, const LoadOptions& options);

// In id order.
Result<std::vector<PriorityClass>> read_priority_classes(Database& db);

// Name of a job by id for messages and tables of a plan.
Result<std::string> job_name(Database& db, std::int64_t job);

}  // namespace berth
