#include "engine/sim/trace.h"

#include <fmt/format.h>

#include <array>
#include <unordered_map>

#include "engine/base/text.h"
#include "engine/sim/berth_trace.h"
#include "engine/sim/openb_trace.h"

namespace berth {

namespace {

constexpr std::array<TraceFormat, 2> kTraceFormats = {{
    {"berth", "our own CSV: nodes with devices, link groups, racks and pools; jobs with task groups and gangs",
     open_berth_nodes, open_berth_jobs},
    {"openb", "Alibaba cluster-trace-gpu-v2023: openb_node_list_*.csv and openb_pod_list_*.csv", open_openb_nodes,
     open_openb_jobs},
}};

// Reads to the end. A bad record ends it, or is noted and passed over.
template <class Record>
Result<ReadRecords<Record>> read_all_records(RecordReader<Record>& reader, const ReadOptions& options) {
  ReadRecords<Record> read;
  std::unordered_map<std::string, std::string> place_of;  // name -> where it was first given
  for (;;) {
    Record record;
    Result<bool> more = reader.next(record);
    Status problem = more.status();
    if (problem.ok()) {
      if (!*more) return read;
      const auto [first, is_new] = place_of.try_emplace(record.name, record.place);
      if (is_new) {
        read.records.push_back(std::move(record));
        continue;
      }
      problem = Status(Code::kInvalid, fmt::format("{}: the name '{}' was given before, at {}", record.place,
                                                   record.name, first->second));
    }
    if (!options.skip_bad_rows || problem.code() != Code::kInvalid) return problem;
    read.skipped.push_back(std::move(problem));
  }
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

std::span<const TraceFormat> trace_formats() { return kTraceFormats; }

Result<const TraceFormat*> find_trace_format(std::string_view name) {
  std::vector<std::string> names;
  for (const TraceFormat& format : kTraceFormats) {
    if (equals_ignoring_case(format.name, name)) return &format;
    names.emplace_back(format.name);
  }
  const std::string near = suggest(name, names);
  return Status(Code::kNotFound, fmt::format("no trace format '{}'", name),
                near.empty() ? "the formats are " + join(names, ", ") : near);
}

Result<ReadRecords<TraceNode>> read_trace_nodes(std::string_view format, const std::string& path,
                                                const ReadOptions& options) {
  BERTH_ASSIGN(const TraceFormat* found, find_trace_format(format));
  BERTH_ASSIGN(std::unique_ptr<NodeReader> reader, found->open_nodes(path));
  return read_all_records(*reader, options);
}

Result<ReadRecords<TraceJob>> read_trace_jobs(std::string_view format, const std::string& path,
                                              const ReadOptions& options) {
  BERTH_ASSIGN(const TraceFormat* found, find_trace_format(format));
  BERTH_ASSIGN(std::unique_ptr<JobReader> reader, found->open_jobs(path));
  return read_all_records(*reader, options);
}

std::unique_ptr<JobReader> read_from(std::span<const TraceJob> jobs) { return std::make_unique<MemoryJobReader>(jobs); }

}  // namespace berth
