#include "engine/model/shape.h"

#include "engine/model/hash.h"

namespace berth {

MiB device_memory_for(const TaskShape& shape, MiB device_memory) {
  if (device_memory == MiB(0) || shape.gpu_count == 0) return MiB(0);
  if (!shape.is_fraction()) return device_memory;
  if (shape.gpu_memory != MiB(0)) return shape.gpu_memory;
  // Rounded down, so that fractions adding up to a device never ask for more memory than it has.
  return MiB(device_memory.value() * shape.gpu_milli.value() / kWholeDevice.value());
}

std::size_t TaskShapeHash::operator()(const TaskShape& shape) const {
  std::uint64_t seed = 0;
  hash_add(seed, static_cast<std::uint64_t>(shape.cpu.value()));
  hash_add(seed, static_cast<std::uint64_t>(shape.memory.value()));
  hash_add(seed, static_cast<std::uint64_t>(shape.gpu_count));
  hash_add(seed, static_cast<std::uint64_t>(shape.gpu_milli.value()));
  hash_add(seed, static_cast<std::uint64_t>(shape.gpu_memory.value()));
  hash_add(seed, shape.models);
  hash_add(seed, static_cast<std::uint64_t>(shape.pool));
  hash_add(seed, shape.within_link_group ? 1 : 0);
  hash_add(seed, static_cast<std::uint64_t>(shape.limit_class));
  return static_cast<std::size_t>(seed);
}

}  // namespace berth
