// Files into tables: nodes and jobs from any format of sim/trace.h, all of a file or none of it.
//
// One import is one accepted statement. What nodes are made of is found or made: a device model by its name, a node
// type with the same contents, else a new one named after them ("g2x8-96c-384g"). Pools, queues and priority classes
// must exist unless the caller asks for them to be made.
#pragma once

#include <atomic>
#include <span>
#include <string>
#include <vector>

#include "engine/runtime/runtime.h"
#include "engine/sim/trace.h"

namespace berth {

struct ImportOptions {
  std::string format = "berth";   // name in sim/trace.h
  TraceOptions trace;             // what the file does not say of itself
  bool skip_bad_rows = false;     // report them instead of refusing the file
  bool create_missing = false;    // pools, queues and priority classes that the file names
  std::string pool;               // nodes: of rows that name none
  MiB device_memory;              // nodes: of new models whose memory the file does not say; 0 = not tracked
  std::string queue;              // jobs: of rows that name none
  bool keep_times = false;        // jobs: submitted when the file says, not now
  bool allow_infeasible = false;  // jobs: accept what can never run on this cluster
  const std::atomic<bool>* interrupted = nullptr;  // looked at before every row: kInterrupted, nothing changed
};

// IMPORT TRACE puts jobs that ran elsewhere into the tables as history: ended, with a run each and what they used, for
// predictions and right-sizing to learn from. A job whose duration the file does not say is left out: it had not ended;
// so is one that ends after now. kInvalid when the file says no duration at all.
struct TraceImport {
  std::string queue;   // of all jobs, whatever the file says; empty = as it says
  std::string prefix;  // put before every name; names that are numbers get "<format>-" without one
  bool shift = false;  // move all times so that the last job ends now
};

struct ImportReport {
  std::int64_t added = 0;                 // nodes or jobs
  std::vector<std::string> also_created;  // "device model G2", "queue nlp"
  std::vector<std::string> kept;          // device models that the file describes otherwise: a sentence each
  std::vector<std::string> skipped;  // "nodes.csv:12:4: ...": rows that cannot be read, then those that were refused
  std::int64_t left_out = 0;         // IMPORT TRACE: jobs that had not ended
  std::int64_t in_future = 0;        // IMPORT TRACE: left out, too, as they end after now
  bool too_old = false;              // IMPORT TRACE: all ended so long ago that they teach nothing
};

Result<ImportReport> import_nodes(Runtime& runtime, const std::string& path, const ImportOptions& options);
// The same of records that come from elsewhere.
Result<ImportReport> import_nodes(Runtime& runtime, std::span<const TraceNode> nodes, const ImportOptions& options);
Result<ImportReport> import_jobs(Runtime& runtime, const std::string& path, const ImportOptions& options);

// Starts when the file says, else at once; outcome finished unless it says otherwise.
Result<ImportReport> import_trace(Runtime& runtime, const std::string& path, const ImportOptions& options,
                                  const TraceImport& import);

// Nodes and jobs of the database in Berth's own CSV, as import reads it. Jobs: those waiting, held or running.
Result<std::string> export_nodes(Runtime& runtime);
// A job after one that failed or was cancelled never starts: it is written as held and without that dependency, for the
// other is not in the file, and no job of its name there is meant.
struct ExportedJobs {
  std::string csv;
  std::vector<std::string> held;  // names of those
};
Result<ExportedJobs> export_jobs(Runtime& runtime);

}  // namespace berth
