#include "engine/model/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "engine/base/text.h"

namespace berth {

namespace {

// 0 fractions, 1..5 tasks of 1, 2, 4, 8, 16 (or up to those) whole devices; -1 no device.
int tenant_class(const Holding& holding) {
  const int devices = std::popcount(holding.devices);
  if (devices == 0) return -1;
  if (devices == 1 && holding.gpu_milli < kWholeDevice) return 0;
  return std::min(5, 1 + static_cast<int>(std::bit_width(static_cast<unsigned>(devices - 1))));
}

}  // namespace

std::uint8_t tenant_bit(const TaskShape& shape) {
  Holding holding;
  holding.devices = shape.gpu_count >= 64 ? ~DeviceMask{0} : (DeviceMask{1} << shape.gpu_count) - 1;
  holding.gpu_milli = shape.gpu_milli;
  const int bit = tenant_class(holding);
  return bit < 0 ? std::uint8_t{0} : static_cast<std::uint8_t>(1U << bit);
}

Holding holding_for(const TaskShape& shape, const NodeKind& kind, NodeIndex node, DeviceMask devices) {
  return Holding{.node = node,
                 .devices = devices,
                 .gpu_milli = devices == 0 ? MilliGpu(0) : shape.gpu_milli,
                 .gpu_memory = devices == 0 ? MiB(0) : device_memory_for(shape, kind.device_memory),
                 .cpu = shape.cpu,
                 .memory = shape.memory};
}

Ledger::Ledger(const Cluster& cluster) : cluster_(&cluster) {
  const std::size_t count = cluster.nodes.size();
  cpu_.reserve(count);
  memory_.reserve(count);
  accepts_.reserve(count);
  first_device_.reserve(count + 1);
  std::uint32_t device = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Node& node = cluster.nodes[i];
    const NodeKind& kind = cluster.kind_of(i);
    cpu_.push_back(kind.cpu.value());
    memory_.push_back(kind.memory.value());
    accepts_.push_back(node.state == NodeState::kUp ? 1 : 0);
    first_device_.push_back(device);
    for (int d = 0; d < kind.device_count; ++d) {
      const bool healthy = ((node.unhealthy >> d) & 1) == 0;
      milli_.push_back(healthy ? static_cast<std::int32_t>(kWholeDevice.value()) : 0);
      device_memory_.push_back(healthy ? static_cast<std::int32_t>(kind.device_memory.value()) : 0);
      if (healthy) gpu_capacity_ += kWholeDevice;
    }
    device += static_cast<std::uint32_t>(kind.device_count);
  }
  first_device_.push_back(device);
  tenant_count_.resize(count);
  tenants_.resize(count);
}

Ledger Ledger::twin() const {
  Ledger twin;
  twin.cluster_ = cluster_;
  twin.cpu_ = cpu_;
  twin.memory_ = memory_;
  twin.accepts_ = accepts_;
  twin.first_device_ = first_device_;
  twin.milli_ = milli_;
  twin.device_memory_ = device_memory_;
  twin.tenant_count_ = tenant_count_;
  twin.tenants_ = tenants_;
  twin.gpu_capacity_ = gpu_capacity_;
  twin.gpu_used_ = gpu_used_;
  return twin;
}

void Ledger::set_accepts(NodeIndex node, bool accepts) {
  accepts_[static_cast<std::size_t>(node)] = accepts ? 1 : 0;
  changes_.push_back(node);
}

NodeView Ledger::view(NodeIndex node) const {
  const std::size_t n = static_cast<std::size_t>(node);
  const std::size_t first = first_device_[n];
  const std::size_t count = first_device_[n + 1] - first;
  return NodeView{.kind = &cluster_->kind_of(n),
                  .cpu = MilliCpu(cpu_[n]),
                  .memory = MiB(memory_[n]),
                  .milli = {milli_.data() + first, count},
                  .device_memory = {device_memory_.data() + first, count},
                  .tenants = tenants_[n]};
}

DeviceMask Ledger::healthy_devices(const Holding& holding) const {
  return holding.devices & ~cluster_->nodes[static_cast<std::size_t>(holding.node)].unhealthy;
}

void Ledger::apply(const Holding& holding, std::int64_t sign) {
  const std::size_t n = static_cast<std::size_t>(holding.node);
  cpu_[n] -= sign * holding.cpu.value();
  memory_[n] -= sign * holding.memory.value();
  const std::size_t first = first_device_[n];
  const std::int32_t milli = static_cast<std::int32_t>(sign * holding.gpu_milli.value());
  const std::int32_t memory = static_cast<std::int32_t>(sign * holding.gpu_memory.value());
  for (DeviceMask rest = healthy_devices(holding); rest != 0; rest &= rest - 1) {
    const std::size_t d = first + static_cast<std::size_t>(std::countr_zero(rest));
    milli_[d] -= milli;
    device_memory_[d] -= memory;
    gpu_used_ += milli;
  }
  if (const int tenant = tenant_class(holding); tenant >= 0) {
    std::uint16_t& number = tenant_count_[n][static_cast<std::size_t>(tenant)];
    number = static_cast<std::uint16_t>(number + sign);
    const std::uint8_t bit = static_cast<std::uint8_t>(1U << tenant);
    tenants_[n] = static_cast<std::uint8_t>(number > 0 ? tenants_[n] | bit : tenants_[n] & ~bit);
  }
  changes_.push_back(holding.node);
}

Status Ledger::place(const Holding& holding) {
  const std::size_t n = static_cast<std::size_t>(holding.node);
  if (holding.node < 0 || n >= cpu_.size())
    return Status(Code::kInternal, fmt::format("no node with index {}", holding.node));
  if (holding.cpu.value() > cpu_[n]) {
    return Status(Code::kConflict,
                  fmt::format("{} CPU asked, {} free", print_cpu(holding.cpu), print_cpu(MilliCpu(cpu_[n]))));
  }
  if (holding.memory.value() > memory_[n]) {
    return Status(Code::kConflict,
                  fmt::format("{} memory asked, {} free", print_memory(holding.memory), print_memory(MiB(memory_[n]))));
  }
  const std::size_t first = first_device_[n];
  const std::size_t count = first_device_[n + 1] - first;
  if (count < kMaxDevices && (holding.devices >> count) != 0) {
    return Status(Code::kConflict,
                  fmt::format("devices {} of a node with {}", print_device_mask(holding.devices), count));
  }
  for (DeviceMask rest = healthy_devices(holding); rest != 0; rest &= rest - 1) {
    const int d = std::countr_zero(rest);
    const std::size_t at = first + static_cast<std::size_t>(d);
    if (holding.gpu_milli.value() > milli_[at]) {
      return Status(Code::kConflict, fmt::format("device {}: {} GPU asked, {} free", d, print_gpu(holding.gpu_milli),
                                                 print_gpu(MilliGpu(milli_[at]))));
    }
    if (holding.gpu_memory.value() > device_memory_[at]) {
      return Status(Code::kConflict,
                    fmt::format("device {}: {} of its memory asked, {} free", d, print_memory(holding.gpu_memory),
                                print_memory(MiB(device_memory_[at]))));
    }
  }
  apply(holding, 1);
  undo_.push_back({holding, true});
  return {};
}

Status Ledger::release(const Holding& holding) {
  const std::size_t n = static_cast<std::size_t>(holding.node);
  if (holding.node < 0 || n >= cpu_.size())
    return Status(Code::kInternal, fmt::format("no node with index {}", holding.node));
  const NodeKind& kind = cluster_->kind_of(n);
  bool fits =
      cpu_[n] + holding.cpu.value() <= kind.cpu.value() && memory_[n] + holding.memory.value() <= kind.memory.value();
  const std::size_t first = first_device_[n];
  const std::size_t count = first_device_[n + 1] - first;
  if (count < kMaxDevices && (holding.devices >> count) != 0) fits = false;
  for (DeviceMask rest = fits ? healthy_devices(holding) : 0; rest != 0; rest &= rest - 1) {
    const std::size_t at = first + static_cast<std::size_t>(std::countr_zero(rest));
    fits = fits && milli_[at] + holding.gpu_milli.value() <= kWholeDevice.value() &&
           device_memory_[at] + holding.gpu_memory.value() <= kind.device_memory.value();
  }
  if (!fits) return Status(Code::kInternal, "released more than the node owns");
  apply(holding, -1);
  undo_.push_back({holding, false});
  return {};
}

void Ledger::rollback(Checkpoint mark) {
  while (undo_.size() > mark) {
    const Undo undo = undo_.back();
    undo_.pop_back();
    apply(undo.holding, undo.was_place ? -1 : 1);
  }
}

std::span<const NodeIndex> Ledger::changes_since(std::size_t position) const {
  return std::span(changes_).subspan(position - change_base_);
}

void Ledger::forget_changes_before(std::size_t position) {
  if (position <= change_base_) return;
  changes_.erase(changes_.begin(), changes_.begin() + static_cast<std::ptrdiff_t>(position - change_base_));
  change_base_ = position;
}

std::vector<std::string> Ledger::violations() const {
  std::vector<std::string> found;
  std::int64_t used = 0;
  for (std::size_t n = 0; n < cpu_.size(); ++n) {
    const NodeKind& kind = cluster_->kind_of(n);
    if (cpu_[n] < 0 || cpu_[n] > kind.cpu.value())
      found.push_back(fmt::format("node {}: free CPU {} of {}", n, cpu_[n], kind.cpu.value()));
    if (memory_[n] < 0 || memory_[n] > kind.memory.value()) {
      found.push_back(fmt::format("node {}: free memory {} of {}", n, memory_[n], kind.memory.value()));
    }
    for (std::size_t at = first_device_[n]; at < first_device_[n + 1]; ++at) {
      const std::size_t d = at - first_device_[n];
      if (milli_[at] < 0 || milli_[at] > kWholeDevice.value())
        found.push_back(fmt::format("node {} device {}: free milli-GPU {}", n, d, milli_[at]));
      if (device_memory_[at] < 0 || device_memory_[at] > kind.device_memory.value()) {
        found.push_back(fmt::format("node {} device {}: free memory {} of {}", n, d, device_memory_[at],
                                    kind.device_memory.value()));
      }
      if (((cluster_->nodes[n].unhealthy >> d) & 1) == 0) used += kWholeDevice.value() - milli_[at];
    }
  }
  if (used != gpu_used_) found.push_back(fmt::format("used milli-GPU {} but devices add up to {}", gpu_used_, used));
  return found;
}

}  // namespace berth
