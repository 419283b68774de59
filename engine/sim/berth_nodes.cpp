// Berth's own CSV of nodes, see berth_trace.h.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>

#include "engine/base/text.h"
#include "engine/model/cluster.h"
#include "engine/sim/berth_trace.h"
#include "engine/sim/csv.h"
#include "engine/sim/trace_fields.h"

namespace berth {

namespace {

constexpr std::array<CsvColumn, 17> kBerthNodeColumns = {{guarded_column("name", true),
                                                          {"cpu", true},
                                                          {"memory", true},
                                                          {"devices"},
                                                          guarded_column("model"),
                                                          {"device_memory"},
                                                          guarded_column("rack"),
                                                          guarded_column("pool"),
                                                          {"link_groups"},
                                                          guarded_column("type"),
                                                          {"labels"},
                                                          {"unhealthy"},
                                                          guarded_column("drain"),
                                                          {"state"},
                                                          {"speed"},
                                                          {"price"},
                                                          guarded_column("family")}};

Result<double> read_model_speed(std::string_view text) {
  double speed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), speed);
  if (error == std::errc() && end == text.data() + text.size() && std::isfinite(speed) && speed > 0) return speed;
  return Status(Code::kInvalid, fmt::format("'{}' is not a number above 0", text));
}

Result<std::int64_t> read_model_price(std::string_view text) {
  BERTH_ASSIGN(const std::int64_t milli, read_scaled(text, 1000));
  if (milli <= kMostAmount) return milli;
  return Status(Code::kInvalid, fmt::format("'{}' is too large", text));
}

std::string print_model_price(std::int64_t milli) {
  return milli % 1000 == 0 ? fmt::format("{}", milli / 1000) : fmt::format("{}.{:03}", milli / 1000, milli % 1000);
}

class BerthNodeReader : public NodeReader {
 public:
  explicit BerthNodeReader(CsvReader csv) : csv_(std::move(csv)) {}

  Result<bool> next(TraceNode& node) override {
    BERTH_ASSIGN(const bool found, csv_.next());
    if (!found) return false;
    node = TraceNode{};
    node.place = fmt::format("{}:{}", csv_.path(), csv_.line());
    node.name = csv_.text(kName);
    BERTH_TRY(csv_.checked(kName, check_record_name(node.name)));
    BERTH_ASSIGN(node.cpu, csv_.value(kCpu, bounded_amount(read_cpu)));
    BERTH_ASSIGN(node.memory, csv_.value(kMemory, bounded_amount(read_memory)));
    node.rack = csv_.text(kRack);
    node.pool = csv_.text(kPool);
    node.type = csv_.text(kType);
    if (!csv_.text(kDrain).empty()) node.drain = csv_.text(kDrain);
    BERTH_ASSIGN(node.state, csv_.value_or(kState, read_node_state, NodeState::kUp));
    BERTH_ASSIGN(node.labels, csv_.value(kLabels, read_text_pairs));
    BERTH_TRY(read_devices(node));
    BERTH_TRY(read_model(node));
    BERTH_ASSIGN(node.unhealthy, csv_.value(kUnhealthy, read_device_list));
    for (const std::int32_t device : node.unhealthy) {
      if (device >= node.devices) return csv_.error(kUnhealthy, fmt::format("the node has no device {}", device));
    }
    return true;
  }

 private:
  // Indices into the column table above.
  enum Column : std::size_t {
    kName,
    kCpu,
    kMemory,
    kDevices,
    kModel,
    kDeviceMemory,
    kRack,
    kPool,
    kLinkGroups,
    kType,
    kLabels,
    kUnhealthy,
    kDrain,
    kState,
    kSpeed,
    kPrice,
    kFamily,
  };

  Status read_devices(TraceNode& node) {
    BERTH_ASSIGN(const std::int64_t devices, csv_.value_or(kDevices, read_device_count, std::int64_t{0}));
    node.devices = static_cast<std::int32_t>(devices);
    node.model = csv_.text(kModel);
    if (devices > 0 && node.model.empty()) return csv_.error(kModel, "a node with devices needs their model");
    if (devices == 0 && !node.model.empty()) return csv_.error(kModel, "a device model, but no devices");
    BERTH_ASSIGN(node.device_memory, csv_.value_or(kDeviceMemory, bounded_amount(read_memory), MiB(0)));
    if (node.device_memory.value() > INT32_MAX) return csv_.error(kDeviceMemory, "too large");
    node.link_groups = csv_.text(kLinkGroups);
    const auto groups = read_link_groups(node.link_groups, node.devices);
    return groups.ok() ? Status() : csv_.error(kLinkGroups, groups.status());
  }

  Status read_model(TraceNode& node) {
    if (csv_.text(kSpeed).empty()) {
      for (const Column column : {kPrice, kFamily}) {
        if (!csv_.text(column).empty()) return csv_.error(column, "the row says no speed, which describes the model");
      }
      return {};
    }
    if (node.devices == 0) return csv_.error(kSpeed, "the speed of a device model, but no devices");
    TraceModel& model = node.about_model.emplace();
    BERTH_ASSIGN(model.speed, csv_.value(kSpeed, read_model_speed));
    if (!csv_.text(kPrice).empty()) {
      BERTH_ASSIGN(model.price_milli, csv_.value(kPrice, read_model_price));
    }
    model.family = csv_.text(kFamily);
    return {};
  }

  CsvReader csv_;
};

}  // namespace

Result<std::unique_ptr<NodeReader>> open_berth_nodes(const std::string& path, const TraceOptions& /*options*/) {
  BERTH_ASSIGN(CsvReader csv, CsvReader::open(path, kBerthNodeColumns));
  return std::unique_ptr<NodeReader>(std::make_unique<BerthNodeReader>(std::move(csv)));
}

std::string berth_nodes_csv(std::span<const TraceNode> nodes) {
  const bool has_more = std::ranges::any_of(nodes, [](const TraceNode& node) {
    return !node.type.empty() || !node.labels.empty() || !node.unhealthy.empty() || node.drain ||
           node.state != NodeState::kUp || node.about_model;
  });
  std::string text = "name,cpu,memory,devices,model,device_memory,rack,pool,link_groups";
  text += has_more ? ",type,labels,unhealthy,drain,state,speed,price,family\n" : "\n";
  for (const TraceNode& node : nodes) {
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{},{},{}", csv_field(node.name), print_cpu(node.cpu),
                   print_memory(node.memory), node.devices, csv_field(node.model),
                   node.device_memory == MiB(0) ? "" : print_memory(node.device_memory), csv_field(node.rack),
                   csv_field(node.pool), csv_field(node.link_groups));
    if (has_more) {
      fmt::format_to(std::back_inserter(text), ",{},{},{},{},{}", csv_field(node.type),
                     csv_field(print_text_pairs(node.labels)), fmt::join(node.unhealthy, " "),
                     csv_field(node.drain.value_or("")),
                     node.state == NodeState::kUp ? std::string_view() : node_state_name(node.state));
      const TraceModel* model = node.about_model ? &*node.about_model : nullptr;
      fmt::format_to(std::back_inserter(text), ",{},{},{}", model == nullptr ? "" : fmt::format("{}", model->speed),
                     model == nullptr || !model->price_milli ? "" : print_model_price(*model->price_milli),
                     model == nullptr ? "" : csv_field(model->family));
    }
    text += '\n';
  }
  return text;
}

}  // namespace berth
