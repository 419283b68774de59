// Files into tables: nodes and jobs from any format of sim/trace.h, all of a file or none of it.
//
// One import is one accepted statement. What nodes are made of is found or made: a device model by its name, a node
// type with the same contents, else a new one named after them ("g2x8-96c-384g"). Pools, queues and priority classes
// must exist unless the caller asks for them to be made.
#pragma once

#include <string>
#include <vector>

#include "engine/runtime/runtime.h"

namespace berth {

struct ImportOptions {
  std::string format = "berth";   // name in sim/trace.h
  bool skip_bad_rows = false;     // report them instead of refusing the file
  bool create_missing = false;    // pools, queues and priority classes that the file names
  std::string pool;               // nodes: of rows that name none
  MiB device_memory;              // nodes: of new models whose memory the file does not say; 0 = not tracked
  std::string queue;              // jobs: of rows that name none
  bool keep_times = false;        // jobs: submitted when the file says, not now
  bool allow_infeasible = false;  // jobs: accept what can never run on this cluster
};

struct ImportReport {
  std::int64_t added = 0;                 // nodes or jobs
  std::vector<std::string> also_created;  // "device model G2", "queue nlp"
  std::vector<std::string> skipped;       // "nodes.csv:12:4: ..." in file order
};

Result<ImportReport> import_nodes(Runtime& runtime, const std::string& path, const ImportOptions& options);
Result<ImportReport> import_jobs(Runtime& runtime, const std::string& path, const ImportOptions& options);

// Nodes and jobs of the database in Berth's own CSV, as import reads it. Jobs: those waiting, held or running.
Result<std::string> export_nodes(Runtime& runtime);
Result<std::string> export_jobs(Runtime& runtime);

}  // namespace berth
