// The trial state of a round: who holds what on which node, with undo.
//
// Built from a Snapshot (or from a bare cluster in a simulation), then changed by place() and release() while planning.
// A checkpoint() marks a moment; rollback() restores it exactly, commit() forgets the undo up to it. Structure of
// arrays: one entry a node, one an (node, device). Nothing here decides anything; a caller that asks for more than is
// free gets Status kConflict and an unchanged ledger.
//
// The ledger also keeps a log of changed nodes, so that whoever ranks nodes re-scores only those (changes_since).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/model/cluster.h"
#include "engine/model/shape.h"

namespace berth {

// What a policy may see of a node: its kind and what is free. Devices are in index order unless a caller says
// "canonical". An unhealthy device shows 0 free.
struct NodeView {
  const NodeKind* kind = nullptr;
  MilliCpu cpu;                                 // free
  MiB memory;                                   // free
  std::span<const std::int32_t> milli;          // free, per device
  std::span<const std::int32_t> device_memory;  // free MiB, per device; all 0 when the model's memory is not tracked
  // Bit per class of GPU task that runs here: bit 0 fractions, bit log2(n)+1 tasks of n whole devices (n rounded up to
  // a power of two, at most 16).
  std::uint8_t tenants = 0;

  std::int64_t free_milli() const {
    std::int64_t total = 0;
    for (const std::int32_t device : milli) total += device;
    return total;
  }
};

// Bit of NodeView::tenants that a task of this shape sets; 0 for CPU tasks.
std::uint8_t tenant_bit(const TaskShape& shape);

// What one task takes, with the devices chosen.
struct Holding {
  NodeIndex node = 0;
  DeviceMask devices = 0;
  MilliGpu gpu_milli;  // of each device
  MiB gpu_memory;      // of each device
  MilliCpu cpu;
  MiB memory;

  bool operator==(const Holding&) const = default;
};

// The holding that a task of `shape` makes on `node` of `kind`, on the devices in `devices`.
Holding holding_for(const TaskShape& shape, const NodeKind& kind, NodeIndex node, DeviceMask devices);

class Ledger {
 public:
  // Empty nodes of `cluster`, which must outlive the ledger.
  explicit Ledger(const Cluster& cluster);

  const Cluster& cluster() const { return *cluster_; }
  std::size_t node_count() const { return cpu_.size(); }

  // The same amounts without undo and log of changes: what is tried there stays there.
  Ledger twin() const;

  NodeView view(NodeIndex node) const;
  // Opens a node to new tasks or closes it; what it holds stays. Not undone by rollback().
  void set_accepts(NodeIndex node, bool accepts);
  bool accepts_tasks(NodeIndex node) const { return accepts_[static_cast<std::size_t>(node)] != 0; }
  MilliCpu free_cpu(NodeIndex node) const { return MilliCpu(cpu_[static_cast<std::size_t>(node)]); }
  MiB free_memory(NodeIndex node) const { return MiB(memory_[static_cast<std::size_t>(node)]); }

  // Takes it, or says what is missing and changes nothing. Does not look at node state: existing allocations on a
  // draining node are placed too.
  Status place(const Holding& holding);
  // Gives it back; it must have been placed. kInternal when the node would have more than it owns.
  Status release(const Holding& holding);

  using Checkpoint = std::size_t;
  Checkpoint checkpoint() const { return undo_.size(); }
  // Undoes everything since; exact.
  void rollback(Checkpoint mark);
  // Forgets the undo of everything so far; earlier checkpoints become invalid.
  void commit() { undo_.clear(); }

  // Every change (place, release, undo) appends its node. A reader keeps its own position. Entries may repeat.
  std::size_t change_count() const { return change_base_ + changes_.size(); }
  std::span<const NodeIndex> changes_since(std::size_t position) const;
  // Drops entries before `position`; readers must be past it.
  void forget_changes_before(std::size_t position);

  // Sums over nodes that accept tasks or hold some.
  MilliGpu gpu_capacity() const { return gpu_capacity_; }  // healthy devices
  MilliGpu gpu_used() const { return MilliGpu(gpu_used_); }

  // Empty when every amount lies between 0 and what the node owns; else one sentence per violation. The check behind
  // style rule "promises"; called after every step in debug builds.
  std::vector<std::string> violations() const;

 private:
  struct Undo {
    Holding holding;
    bool was_place;
  };
  Ledger() = default;
  void apply(const Holding& holding, std::int64_t sign);
  // A device that failed under a running task shows 0 free whatever that task does.
  DeviceMask healthy_devices(const Holding& holding) const;

  const Cluster* cluster_ = nullptr;
  std::vector<std::int64_t> cpu_;
  std::vector<std::int64_t> memory_;
  std::vector<std::uint8_t> accepts_;
  std::vector<std::uint32_t> first_device_;  // node -> offset into the device arrays; one past the last at the end
  std::vector<std::int32_t> milli_;
  std::vector<std::int32_t> device_memory_;
  std::vector<std::array<std::uint16_t, 6>> tenant_count_;  // per node, per tenant class
  std::vector<std::uint8_t> tenants_;
  MilliGpu gpu_capacity_;
  std::int64_t gpu_used_ = 0;
  std::vector<Undo> undo_;
  std::vector<NodeIndex> changes_;
  std::size_t change_base_ = 0;
};

}  // namespace berth
