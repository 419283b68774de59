// Recorded workloads and clusters: what a reader of any trace format delivers, and the table of formats.
//
// A record holds names and amounts as the file gives them; turning names into indices of a Cluster is trace_model.h's
// business. A reader streams: one record in memory at a time. Adding a format: its own file pair, a row in trace.cpp, a
// CMake line, a test with a sample file.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/base/units.h"
#include "engine/model/cluster.h"
#include "engine/model/job.h"

namespace berth {

// What the file says of a device model beside its memory.
struct TraceModel {
  double speed = 1.0;
  std::optional<std::int64_t> price_milli;  // of a borrowed GPU-hour; nothing = the usual one
  std::string family;                       // empty = none

  bool operator==(const TraceModel&) const = default;
};

struct TraceNode {
  std::string name;
  MilliCpu cpu;
  MiB memory;
  std::int32_t devices = 0;
  std::string model;        // empty = no devices
  MiB device_memory;        // of each device; 0 = not known
  std::string rack;         // empty = none
  std::string pool;         // empty = none
  std::string link_groups;  // "[0 1] [2 3]", see read_link_groups
  std::string place;        // "nodes.csv:12", for errors found later
  std::string type = {};    // of the node; empty = it goes by what the node has
  std::vector<std::pair<std::string, std::string>> labels = {};
  std::vector<std::int32_t> unhealthy = {};  // devices
  std::optional<std::string> drain = {};     // why it is drained
  NodeState state = NodeState::kUp;          // of one that is drained and has a reason: up
  std::optional<TraceModel> about_model = {};

  bool operator==(const TraceNode&) const = default;
};

// What one task of a group really used while it ran, as a trace measured it. Nothing = the file does not say.
struct TraceUsage {
  std::optional<MilliCpu> cpu_mean;
  std::optional<MilliCpu> cpu_peak;
  std::optional<MiB> memory_peak;
  std::optional<MilliGpu> gpu_mean;    // of each device: 1000 = busy all the time
  std::optional<MiB> gpu_memory_peak;  // of each device

  bool operator==(const TraceUsage&) const = default;
};

struct TraceTaskGroup {
  std::string name;  // empty when the job has one group
  std::int32_t tasks = 1;
  std::int32_t min_tasks = 1;
  MilliCpu cpu;
  MiB memory;
  std::int32_t gpu_count = 0;
  MilliGpu gpu_milli;  // of each device
  MiB gpu_memory;      // of each device; 0 = in proportion
  std::string models;  // "A|B" as written; empty = any
  std::string pool;    // empty = any
  Locality locality = Locality::kAny;
  bool locality_required = true;
  TraceUsage usage = {};

  bool operator==(const TraceTaskGroup&) const = default;
};

// How long somebody thought the job would run: "user" = by the user's earlier jobs, "group" = by its recurrence group.
struct TraceEstimate {
  std::string name;
  std::int64_t milliseconds = 0;  // below 0 where noise was added

  bool operator==(const TraceEstimate&) const = default;
};

// What evicting a job means, and which jobs it comes after.
struct TraceTerms {
  bool preemptible = true;
  std::optional<Seconds> checkpoint_every = {};  // 0 = it writes none; nothing = the file does not say
  Seconds checkpoint_grace;                      // 0 = none
  std::optional<Seconds> restart_cost = {};      // 0 = none; nothing = the file does not say
  std::optional<Seconds> min_runtime = {};       // nothing = the setting
  std::vector<std::string> after;                // names

  bool operator==(const TraceTerms&) const = default;
};

// What is started for each task.
struct TraceCommand {
  std::string command;  // of /bin/sh
  std::string directory;
  std::vector<std::pair<std::string, std::string>> environment;
  std::string image;
  std::string checkpoint_signal;
  std::int64_t retries = 0;

  bool operator==(const TraceCommand&) const = default;
};

struct TraceJob {
  std::string name;
  std::string queue;     // empty = none
  std::string priority;  // a class name or an integer; empty = none
  std::string user;
  std::string tag;  // of the recurrence group; empty = none
  Seconds submit;
  std::optional<Seconds> start;     // when it really started
  std::optional<Seconds> duration;  // nothing = the file does not say
  std::optional<JobState> outcome;  // how it ended: kFinished, kFailed or kCancelled
  Seconds time_limit;               // 0 = none
  std::vector<TraceEstimate> estimates;
  TraceTerms terms = {};
  std::vector<TraceTaskGroup> groups;  // at least one
  std::string place;
  std::vector<TraceCommand> command = {};  // one, or none: most jobs of a trace have none
  bool held = false;
  bool allow_infeasible = false;

  // The estimate of that name, in milliseconds.
  std::optional<std::int64_t> estimate(std::string_view by) const;

  bool operator==(const TraceJob&) const = default;
};

// A stream of records. kInvalid = this record is bad, the next call goes on after it; any other code = nothing more can
// be read.
template <class Record>
class RecordReader {
 public:
  virtual ~RecordReader() = default;
  // Fills `record`; false at the end.
  virtual Result<bool> next(Record& record) = 0;
};
using NodeReader = RecordReader<TraceNode>;
using JobReader = RecordReader<TraceJob>;

// What a file does not say of itself. Each format uses some of these; its header says how.
struct TraceOptions {
  std::int64_t devices_per_task = 1;      // of a gang: a job of more devices than a node has is cut into such tasks
  std::int64_t node_devices = 8;          // of a node, where the trace does not say
  bool processors_are_gpus = false;       // swf: a processor is a GPU, not a core
  std::string estimates_file = {};        // helios: duration estimates
  std::string tasks_file = {};            // pai2020: the task table; empty = beside the job table
  std::string tags_file = {};             // pai2020: the group tag table; empty = beside the job table, if there
  std::string throughputs_file = {};      // gavel: steps per second by device model
  std::string throughput_model = "v100";  // gavel: the model that durations are for
};

struct TraceFormat {
  std::string_view name;
  std::string_view summary;
  // Null = the format has none.
  Result<std::unique_ptr<NodeReader>> (*open_nodes)(const std::string& path, const TraceOptions& options);
  Result<std::unique_ptr<JobReader>> (*open_jobs)(const std::string& path, const TraceOptions& options);
};

std::span<const TraceFormat> trace_formats();
// kNotFound with the nearest name.
Result<const TraceFormat*> find_trace_format(std::string_view name);

// The formats whose readers take the first record of the file, nodes or jobs: what it may be, for an error's hint.
enum class TraceContent : std::uint8_t { kNodes, kJobs };
std::vector<std::string_view> recognise_trace(const std::string& path, TraceContent content,
                                              const TraceOptions& options = {});

// What would tell the durations that no job of such a file has by itself; empty = the file tells them, or nothing does.
std::string_view durations_hint(std::string_view format, const TraceOptions& options);

// All or nothing, and then all bad records are told; unless they are to be skipped: then each skipped one is reported.
// A file with very many of them is none of that format: kInvalid, whatever the options say.
struct ReadOptions {
  bool skip_bad_rows = false;
  TraceOptions format = {};
  const std::atomic<bool>* interrupted = nullptr;  // kInterrupted
};
template <class Record>
struct ReadRecords {
  std::vector<Record> records;
  std::vector<Status> skipped;
};

// What is wrong with several records as one error: the first ones in words, and how many more. `bad` is not empty.
Status as_one_error(std::span<const Status> bad);

// kInvalid where the format has no nodes, or no jobs.
Result<std::unique_ptr<NodeReader>> open_trace_nodes(std::string_view format, const std::string& path,
                                                     const TraceOptions& options = {});
Result<std::unique_ptr<JobReader>> open_trace_jobs(std::string_view format, const std::string& path,
                                                   const TraceOptions& options = {});

Result<ReadRecords<TraceNode>> read_trace_nodes(std::string_view format, const std::string& path,
                                                const ReadOptions& options = {});
// In file order; a name given to two jobs is an error.
Result<ReadRecords<TraceJob>> read_trace_jobs(std::string_view format, const std::string& path,
                                              const ReadOptions& options = {});

// Records already in memory, as a stream. `jobs` must outlive it.
std::unique_ptr<JobReader> read_from(std::span<const TraceJob> jobs);

}  // namespace berth
