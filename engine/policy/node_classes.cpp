#include "engine/policy/node_classes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <map>

#include "engine/model/hash.h"

namespace berth {

namespace {

// Words of a state before the devices: kind, CPU (2), memory (2), tenants. Then milli of each device, then memory of
// each if any kind tracks it, then zeros to the end of the line.
constexpr std::size_t kStateHeader = 6;

constexpr std::array<std::int32_t, kMaxDevices> kNoDeviceMemory{};

void put_wide(std::int32_t* words, std::int64_t value) { std::memcpy(words, &value, sizeof value); }
std::int64_t get_wide(const std::int32_t* words) {
  std::int64_t value = 0;
  std::memcpy(&value, words, sizeof value);
  return value;
}

// `count` is even.
std::uint64_t hash_words(const std::int32_t* words, std::size_t count) {
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < count; i += 2) {
    hash = (hash ^ static_cast<std::uint64_t>(get_wide(words + i))) * 0x9E3779B97F4A7C15ULL;
    hash ^= hash >> 32;
  }
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
  std::int32_t most_devices = 0;
  for (const NodeKind& kind : cluster.kinds) {
    layouts_.push_back(lay_out(kind));
    most_devices = std::max(most_devices, kind.device_count);
    tracks_device_memory_ = tracks_device_memory_ || kind.device_memory != MiB(0);
  }
  const std::size_t words = kStateHeader + static_cast<std::size_t>(most_devices) * (tracks_device_memory_ ? 2 : 1);
  lines_per_state_ = (words + kLineWords - 1) / kLineWords;
  pending_.resize(lines_per_state_);
  keep({});
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

void NodeClasses::keep(std::span<const ClassIndex> kept) {
  std::vector<Line> lines;
  std::vector<std::uint64_t> hashes;
  lines.reserve(kept.size() * lines_per_state_);
  hashes.reserve(kept.size());
  for (const ClassIndex index : kept) {
    const auto first = lines_.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(index) * lines_per_state_);
    lines.insert(lines.end(), first, first + static_cast<std::ptrdiff_t>(lines_per_state_));
    hashes.push_back(hashes_[static_cast<std::size_t>(index)]);
  }
  lines_ = std::move(lines);
  hashes_ = std::move(hashes);
  rebuild_table(std::bit_ceil(std::max<std::size_t>(1024, 4 * kept.size())));
}

void NodeClasses::write_devices(const NodeView& node, const Layout& layout) {
  const std::size_t count = node.milli.size();
  std::int32_t* const milli = pending_words() + kStateHeader;
  if (layout.set_ends.size() == 1 && !tracks_device_memory_) {
    std::ranges::copy(node.milli, milli);
    insertion_sort(milli, count);
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
    if (tracks_device_memory_) milli[count + device] = static_cast<std::int32_t>(devices[i] & 0xFFFFFFFF);
  }
}

void NodeClasses::write_state(const NodeView& node) {
  const std::size_t kind = static_cast<std::size_t>(node.kind - cluster_->kinds.data());
  std::ranges::fill(pending_, Line{});
  std::int32_t* const words = pending_words();
  words[0] = static_cast<std::int32_t>(kind);
  put_wide(words + 1, node.cpu.value());
  put_wide(words + 3, sensitivity_.memory ? node.memory.value() : std::numeric_limits<std::int64_t>::max());
  words[5] = sensitivity_.tenants ? node.tenants : 0;
  if (!node.milli.empty()) write_devices(node, layouts_[kind]);
}

ClassIndex NodeClasses::intern(const NodeView& node) {
  write_state(node);
  const std::uint64_t hash = hash_words(pending_words(), lines_per_state_ * kLineWords);
  std::size_t slot = hash & (table_.size() - 1);
  for (; table_[slot] >= 0; slot = (slot + 1) & (table_.size() - 1)) {
    const ClassIndex index = table_[slot];
    if (hashes_[static_cast<std::size_t>(index)] == hash &&
        std::memcmp(state(index), pending_words(), lines_per_state_ * sizeof(Line)) == 0) {
      return index;
    }
  }
  const ClassIndex index = static_cast<ClassIndex>(hashes_.size());
  table_[slot] = index;
  hashes_.push_back(hash);
  lines_.insert(lines_.end(), pending_.begin(), pending_.end());
  if (hashes_.size() * 2 > table_.size()) rebuild_table(table_.size() * 2);
  return index;
}

void NodeClasses::rebuild_table(std::size_t slots) {
  table_.assign(slots, -1);
  for (std::size_t index = 0; index < hashes_.size(); ++index) {
    std::size_t slot = hashes_[index] & (table_.size() - 1);
    while (table_[slot] >= 0) slot = (slot + 1) & (table_.size() - 1);
    table_[slot] = static_cast<ClassIndex>(index);
  }
}

NodeView NodeClasses::view(ClassIndex index) const {
  const std::int32_t* const words = state(index);
  const NodeKind& kind = cluster_->kinds[static_cast<std::size_t>(words[0])];
  const std::size_t count = static_cast<std::size_t>(kind.device_count);
  const std::int32_t* const milli = words + kStateHeader;
  return NodeView{.kind = &kind,
                  .cpu = MilliCpu(get_wide(words + 1)),
                  .memory = MiB(get_wide(words + 3)),
                  .milli = {milli, count},
                  .device_memory = {tracks_device_memory_ ? milli + count : kNoDeviceMemory.data(), count},
                  .tenants = static_cast<std::uint8_t>(words[5])};
}

}  // namespace berth
