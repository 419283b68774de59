#include "engine/policy/node_classes.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <map>

#include "engine/model/hash.h"

namespace berth {

namespace {

// Words of a state before the devices: kind, CPU (2), memory (2), tenants. Then milli, then memory, of each device.
constexpr std::size_t kStateHeader = 6;

void put_wide(std::int32_t* words, std::int64_t value) { std::memcpy(words, &value, sizeof value); }
std::int64_t get_wide(const std::int32_t* words) {
  std::int64_t value = 0;
  std::memcpy(&value, words, sizeof value);
  return value;
}

std::uint64_t hash_words(std::span<const std::int32_t> words) {
  std::uint64_t hash = words.size();
  std::size_t i = 0;
  for (; i + 2 <= words.size(); i += 2) {
    hash = (hash ^ static_cast<std::uint64_t>(get_wide(&words[i]))) * 0x9E3779B97F4A7C15ULL;
    hash ^= hash >> 32;
  }
  if (i < words.size()) hash ^= static_cast<std::uint32_t>(words[i]);
  return hash_mix(hash);
}

// Sorted by insertion: a node has few devices, and most of them stand in order already.
template <class Value>
void insertion_sort(Value* values, std::size_t count) {
  for (std::size_t i = 1; i < count; ++i) {
    const Value value = values[i];
    std::size_t hole = i;
    for (; hole > 0 && values[hole - 1] > value; --hole) values[hole] = values[hole - 1];
    values[hole] = value;
  }
}

}  // namespace

NodeClasses::NodeClasses(const Cluster& cluster, ScoreSensitivity sensitivity)
    : cluster_(&cluster), sensitivity_(sensitivity) {
  for (const NodeKind& kind : cluster.kinds) layouts_.push_back(lay_out(kind));
  clear();
}

NodeClasses::Layout NodeClasses::lay_out(const NodeKind& kind) {
  std::map<std::vector<bool>, std::vector<std::uint8_t>> sets;  // groups a device lies in -> such devices
  for (int device = 0; device < kind.device_count; ++device) {
    std::vector<bool> membership;
    for (const DeviceMask group : kind.link_groups) membership.push_back(((group >> device) & 1) != 0);
    sets[membership].push_back(static_cast<std::uint8_t>(device));
  }
  Layout layout{.first = static_cast<std::uint32_t>(device_order_.size()), .set_ends = {}};
  std::uint32_t end = 0;
  for (const auto& [membership, devices] : sets) {
    device_order_.insert(device_order_.end(), devices.begin(), devices.end());
    layout.set_ends.push_back(end += static_cast<std::uint32_t>(devices.size()));
  }
  return layout;
}

void NodeClasses::clear() {
  words_.clear();
  states_.clear();
  table_.assign(1024, -1);
}

void NodeClasses::write_devices(const NodeView& node, const Layout& layout) {
  const std::size_t count = node.milli.size();
  std::int32_t* const milli = pending_.data() + kStateHeader;
  std::int32_t* const memory = milli + count;
  const bool tracks_memory = node.kind->device_memory != MiB(0);
  if (layout.set_ends.size() == 1 && !tracks_memory) {
    std::ranges::copy(node.milli, milli);
    insertion_sort(milli, count);
    std::fill_n(memory, count, 0);
    return;
  }
  // Milli in the upper half, memory in the lower: one sort for both.
  std::array<std::int64_t, kMaxDevices> devices;
  const std::uint8_t* const order = device_order_.data() + layout.first;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t device = order[i];
    devices[i] = (std::int64_t{node.milli[device]} << 32) | node.device_memory[device];
  }
  std::uint32_t begin = 0;
  for (const std::uint32_t end : layout.set_ends) {
    insertion_sort(devices.data() + begin, end - begin);
    begin = end;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t device = order[i];
    milli[device] = static_cast<std::int32_t>(devices[i] >> 32);
    memory[device] = static_cast<std::int32_t>(devices[i] & 0xFFFFFFFF);
  }
}

void NodeClasses::write_state(const NodeView& node) {
  const std::size_t kind = static_cast<std::size_t>(node.kind - cluster_->kinds.data());
  pending_.resize(kStateHeader + 2 * node.milli.size());
  pending_[0] = static_cast<std::int32_t>(kind);
  put_wide(&pending_[1], node.cpu.value());
  put_wide(&pending_[3], sensitivity_.memory ? node.memory.value() : std::numeric_limits<std::int64_t>::max());
  pending_[5] = sensitivity_.tenants ? node.tenants : 0;
  if (!node.milli.empty()) write_devices(node, layouts_[kind]);
}

ClassIndex NodeClasses::intern(const NodeView& node) {
  write_state(node);
  const std::uint64_t hash = hash_words(pending_);
  std::size_t slot = hash & (table_.size() - 1);
  for (; table_[slot] >= 0; slot = (slot + 1) & (table_.size() - 1)) {
    const State& state = states_[static_cast<std::size_t>(table_[slot])];
    // Equal kinds have equally long states.
    if (state.hash == hash && words_[state.words] == pending_[0] &&
        std::memcmp(&words_[state.words], pending_.data(), pending_.size() * sizeof(std::int32_t)) == 0) {
      return table_[slot];
    }
  }
  const ClassIndex index = static_cast<ClassIndex>(states_.size());
  table_[slot] = index;
  states_.push_back({.hash = hash, .words = words_.size()});
  words_.insert(words_.end(), pending_.begin(), pending_.end());
  if (states_.size() * 2 > table_.size()) grow_table();
  return index;
}

void NodeClasses::grow_table() {
  table_.assign(table_.size() * 2, -1);
  for (std::size_t index = 0; index < states_.size(); ++index) {
    std::size_t slot = states_[index].hash & (table_.size() - 1);
    while (table_[slot] >= 0) slot = (slot + 1) & (table_.size() - 1);
    table_[slot] = static_cast<ClassIndex>(index);
  }
}

NodeView NodeClasses::view(ClassIndex index) const {
  const std::int32_t* const words = words_.data() + states_[static_cast<std::size_t>(index)].words;
  const NodeKind& kind = cluster_->kinds[static_cast<std::size_t>(words[0])];
  const std::size_t count = static_cast<std::size_t>(kind.device_count);
  return NodeView{.kind = &kind,
                  .cpu = MilliCpu(get_wide(words + 1)),
                  .memory = MiB(get_wide(words + 3)),
                  .milli = {words + kStateHeader, count},
                  .device_memory = {words + kStateHeader + count, count},
                  .tenants = static_cast<std::uint8_t>(words[5])};
}

}  // namespace berth
