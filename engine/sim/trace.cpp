#include "engine/sim/trace.h"

#include <fmt/format.h>

#include <unordered_map>

#include "engine/base/text.h"
#include "engine/sim/berth_trace.h"
#include "engine/sim/dlrm_trace.h"
#include "engine/sim/gavel_trace.h"
#include "engine/sim/helios_trace.h"
#include "engine/sim/openb_trace.h"
#include "engine/sim/pai_sim_trace.h"
#include "engine/sim/pai_tables_trace.h"
#include "engine/sim/philly_trace.h"
#include "engine/sim/swf_trace.h"
#include "engine/sim/tiresias_trace.h"

namespace berth {

namespace {

constexpr TraceFormat kTraceFormats[] = {
    {"berth", "our own CSV: nodes with devices, link groups, racks and pools; jobs with task groups and gangs",
     open_berth_nodes, open_berth_jobs},
    {"openb", "Alibaba cluster-trace-gpu-v2023: openb_node_list_*.csv and openb_pod_list_*.csv", open_openb_nodes,
     open_openb_jobs},
    {"philly", "Microsoft Philly 2017: a job list with virtual clusters, and their node counts", open_philly_nodes,
     open_philly_jobs},
    {"helios", "the Helios simulator: jobs and nodes of virtual clusters, each a cluster of its own", open_helios_nodes,
     open_helios_jobs},
    {"tiresias", "the Tiresias simulator: jobs, and a cluster of switches with equal nodes", open_tiresias_nodes,
     open_tiresias_jobs},
    {"pai_sim", "Alibaba's PAI simulator: jobs with instances and duration estimates; machines of PAI 2020",
     open_pai_nodes, open_pai_sim_jobs},
    {"pai2020", "Alibaba cluster-trace-gpu-v2020: pai_job_table, pai_task_table, pai_group_tag_table; its machines",
     open_pai_nodes, open_pai2020_jobs},
    {"dlrm", "Alibaba cluster-trace-gpu-v2025: instances of recommendation services, created and deleted", nullptr,
     open_dlrm_jobs},
    {"gavel", "Gavel's Philly-derived jobs: arrivals, model types and steps", nullptr, open_gavel_jobs},
    {"swf", "the Standard Workload Format of the Parallel Workloads Archive", nullptr, open_swf_jobs},
};

constexpr std::size_t kMostBadRows = 100'000;

// Reads to the end, past bad records.
template <class Record>
Result<ReadRecords<Record>> read_all_records(RecordReader<Record>& reader, const ReadOptions& options) {
  ReadRecords<Record> read;
  std::unordered_map<std::string, std::string> place_of;  // name -> where it was first given
  for (std::uint64_t rows = 1;; ++rows) {
    if (options.interrupted != nullptr && rows % 1024 == 0 && options.interrupted->load(std::memory_order_relaxed))
      return Status(Code::kInterrupted, "interrupted while reading; nothing changed");
    Record record;
    Result<bool> more = reader.next(record);
    Status problem = more.status();
    if (problem.ok()) {
      if (!*more) {
        if (!options.skip_bad_rows && !read.skipped.empty()) return as_one_error(read.skipped);
        return read;
      }
      const auto [first, is_new] = place_of.try_emplace(record.name, record.place);
      if (is_new) {
        read.records.push_back(std::move(record));
        continue;
      }
      problem = Status(Code::kInvalid, fmt::format("{}: the name '{}' was given before, at {}", record.place,
                                                   record.name, first->second))
                    .about(std::is_same_v<Record, TraceJob> ? "jobs" : "nodes");
    }
    if (problem.code() != Code::kInvalid) return problem;
    read.skipped.push_back(std::move(problem));
    if (read.skipped.size() > kMostBadRows)
      return as_one_error(read.skipped).with_hint(fmt::format("after {} bad rows the rest was not read", kMostBadRows));
  }
}

Status lacks(const TraceFormat& format, std::string_view what) {
  std::vector<std::string> others;
  for (const TraceFormat& each : kTraceFormats) {
    if ((what == "nodes" ? each.open_nodes != nullptr : each.open_jobs != nullptr)) others.emplace_back(each.name);
  }
  return Status(Code::kInvalid, fmt::format("the format '{}' has no {}", format.name, what),
                fmt::format("formats with {}: {}", what, join(others, ", ")));
}

template <class Record>
bool takes_first_record(Result<std::unique_ptr<RecordReader<Record>>> reader) {
  if (!reader.ok()) return false;
  Record record;
  const Result<bool> found = (*reader)->next(record);
  return found.ok() && *found;
}

class MemoryJobReader : public JobReader {
 public:
  explicit MemoryJobReader(std::span<const TraceJob> jobs) : jobs_(jobs) {}
  Result<bool> next(TraceJob& record) override {
    if (next_ == jobs_.size()) return false;
    record = jobs_[next_++];
    return true;
  }

 private:
  std::span<const TraceJob> jobs_;
  std::size_t next_ = 0;
};

}  // namespace

Status as_one_error(std::span<const Status> bad) {
  constexpr std::size_t kMostTold = 20;
  const Status& first = bad.front();
  std::string text = first.message();
  for (std::size_t i = 1; i < std::min(kMostTold, bad.size()); ++i) text += "; " + bad[i].message();
  if (bad.size() > kMostTold)
    text += fmt::format("; and {}", print_counted(static_cast<std::int64_t>(bad.size() - kMostTold), "more bad row"));
  return Status(first.code(), std::move(text), first.hint()).about(first.subject().field, first.subject().value);
}

std::optional<std::int64_t> TraceJob::estimate(std::string_view by) const {
  for (const TraceEstimate& each : estimates) {
    if (each.name == by) return each.milliseconds;
  }
  return std::nullopt;
}

std::span<const TraceFormat> trace_formats() { return kTraceFormats; }

Result<const TraceFormat*> find_trace_format(std::string_view name) {
  std::vector<std::string> names;
  for (const TraceFormat& format : kTraceFormats) {
    if (equals_ignoring_case(format.name, name)) return &format;
    names.emplace_back(format.name);
  }
  const std::string near = suggest(name, names);
  return Status(Code::kNotFound, fmt::format("no trace format '{}'", name),
                near.empty() ? "the formats are " + join(names, ", ") : near)
      .about("format", name);
}

std::vector<std::string_view> recognise_trace(const std::string& path, TraceContent content,
                                              const TraceOptions& options) {
  std::vector<std::string_view> formats;
  if (path == "-") return formats;  // it has been read
  for (const TraceFormat& format : kTraceFormats) {
    const bool takes = content == TraceContent::kNodes
                           ? format.open_nodes != nullptr && takes_first_record(format.open_nodes(path, options))
                           : format.open_jobs != nullptr && takes_first_record(format.open_jobs(path, options));
    if (takes) formats.push_back(format.name);
  }
  return formats;
}

std::string_view durations_hint(std::string_view format, const TraceOptions& options) {
  if (!equals_ignoring_case(format, "gavel") || !options.throughputs_file.empty()) return {};
  return "WITH (throughputs_file = '...') names the file of speeds that gives them";
}

Result<std::unique_ptr<NodeReader>> open_trace_nodes(std::string_view format, const std::string& path,
                                                     const TraceOptions& options) {
  BERTH_ASSIGN(const TraceFormat* found, find_trace_format(format));
  if (found->open_nodes == nullptr) return lacks(*found, "nodes");
  return found->open_nodes(path, options);
}

Result<std::unique_ptr<JobReader>> open_trace_jobs(std::string_view format, const std::string& path,
                                                   const TraceOptions& options) {
  BERTH_ASSIGN(const TraceFormat* found, find_trace_format(format));
  if (found->open_jobs == nullptr) return lacks(*found, "jobs");
  return found->open_jobs(path, options);
}

Result<ReadRecords<TraceNode>> read_trace_nodes(std::string_view format, const std::string& path,
                                                const ReadOptions& options) {
  BERTH_ASSIGN(std::unique_ptr<NodeReader> reader, open_trace_nodes(format, path, options.format));
  return read_all_records(*reader, options);
}

Result<ReadRecords<TraceJob>> read_trace_jobs(std::string_view format, const std::string& path,
                                              const ReadOptions& options) {
  BERTH_ASSIGN(std::unique_ptr<JobReader> reader, open_trace_jobs(format, path, options.format));
  return read_all_records(*reader, options);
}

std::unique_ptr<JobReader> read_from(std::span<const TraceJob> jobs) { return std::make_unique<MemoryJobReader>(jobs); }

}  // namespace berth
