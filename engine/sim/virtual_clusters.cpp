#include "engine/sim/virtual_clusters.h"

#include <fmt/format.h>

#include "engine/sim/trace_fields.h"

namespace berth {

namespace {

class VirtualClusterReader : public NodeReader {
 public:
  VirtualClusterReader(CsvReader csv, std::int64_t devices) : csv_(std::move(csv)), devices_(devices) {}

  Result<bool> next(TraceNode& node) override {
    while (made_ == count_) {
      BERTH_ASSIGN(const bool found, csv_.next());
      if (!found) return false;
      made_ = count_ = 0;
      name_ = csv_.text(kName);
      BERTH_TRY(csv_.checked(kName, check_record_name(name_)));
      BERTH_ASSIGN(count_, csv_.value(kCount, [](std::string_view text) { return read_bounded(text, 0, 100000); }));
    }
    node = TraceNode{};
    node.name = fmt::format("{}-{:03}", name_, ++made_);
    node.pool = name_;
    node.devices = static_cast<std::int32_t>(devices_);
    node.model = "GPU";
    node.cpu = MilliCpu(8000 * devices_);
    node.memory = MiB(std::int64_t{64} * 1024 * devices_);
    node.place = fmt::format("{}:{}", csv_.path(), csv_.line());
    return true;
  }

 private:
  enum Column : std::size_t { kName, kCount };

  CsvReader csv_;
  std::int64_t devices_;
  std::string name_;
  std::int64_t count_ = 0;
  std::int64_t made_ = 0;
};

}  // namespace

Result<std::unique_ptr<NodeReader>> open_virtual_clusters(const std::string& path, std::span<const CsvColumn> columns,
                                                          const TraceOptions& options) {
  BERTH_TRY(check_trace_options(options));
  BERTH_ASSIGN(CsvReader csv, CsvReader::open(path, columns));
  return std::unique_ptr<NodeReader>(std::make_unique<VirtualClusterReader>(std::move(csv), options.node_devices));
}

}  // namespace berth
