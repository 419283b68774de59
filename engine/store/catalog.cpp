#include "engine/store/catalog.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/text.h"

namespace berth {

Result<Catalog> Catalog::read(Database& db) {
  Catalog catalog;
  BERTH_TRY(catalog.read_models(db));
  BERTH_TRY(catalog.read_pools(db));
  BERTH_TRY(catalog.read_types(db));
  return catalog;
}

Status Catalog::read_models(Database& db) {
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT id, name, memory_mib FROM device_models ORDER BY id"));
  while (rows.next()) models_.push_back({rows.integer(0), std::string(rows.text(1)), rows.quantity<MiB>(2)});
  BERTH_TRY(rows.status());
  if (models_.size() < static_cast<std::size_t>(kMaxModels)) return {};
  return Status(Code::kCorrupt, fmt::format("there are {} device models, more than the {} there may be", models_.size(),
                                            kMaxModels - 1));
}

Status Catalog::read_pools(Database& db) {
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT id, name FROM pools ORDER BY id"));
  while (rows.next()) {
    pool_ids_.push_back(rows.integer(0));
    pools_.emplace_back(rows.text(1));
  }
  return rows.status();
}

Status Catalog::read_types(Database& db) {
  BERTH_ASSIGN(Statement rows,
               db.prepare("SELECT id, name, cpu_milli, memory_mib, device_model_id, device_count, link_groups "
                          "FROM node_types ORDER BY id"));
  while (rows.next()) {
    Type type;
    type.id = rows.integer(0);
    type.kind.cpu = rows.quantity<MilliCpu>(2);
    type.kind.memory = rows.quantity<MiB>(3);
    if (!rows.is_null(4)) {
      const auto model = std::find_if(models_.begin(), models_.end(),
                                      [&](const DeviceModel& candidate) { return candidate.id == rows.integer(4); });
      if (model == models_.end()) {
        return Status(Code::kCorrupt,
                      fmt::format("node type '{}' has a device model that does not exist", rows.text(1)));
      }
      type.kind.model = static_cast<std::int32_t>(model - models_.begin());
      const std::int64_t devices = rows.integer(5);
      if (devices < 1 || devices > kMaxDevices) {
        return Status(Code::kCorrupt,
                      fmt::format("node type '{}' has {} devices, not 1 to {}", rows.text(1), devices, kMaxDevices));
      }
      type.kind.device_count = static_cast<std::int32_t>(devices);
      type.kind.device_memory = model->memory;
    }
    Result<std::vector<DeviceMask>> groups = read_link_groups(rows.text(6), type.kind.device_count);
    if (!groups.ok()) {
      return Status(Code::kCorrupt, fmt::format("node type '{}': {}", rows.text(1), groups.status().message()));
    }
    type.kind.link_groups = *std::move(groups);
    types_.push_back(std::move(type));
  }
  return rows.status();
}

std::int32_t Catalog::pool_index(std::int64_t id) const {
  const auto found = std::lower_bound(pool_ids_.begin(), pool_ids_.end(), id);
  return found != pool_ids_.end() && *found == id ? static_cast<std::int32_t>(found - pool_ids_.begin()) : -1;
}

Result<NodeKind> Catalog::kind(std::int64_t type_id, std::int64_t pool_id) const {
  const auto found = std::lower_bound(types_.begin(), types_.end(), type_id,
                                      [](const Type& type, std::int64_t id) { return type.id < id; });
  if (found == types_.end() || found->id != type_id) {
    return Status(Code::kCorrupt, fmt::format("a node has type {}, which does not exist", type_id));
  }
  NodeKind kind = found->kind;
  kind.pool = pool_index(pool_id);
  return kind;
}

ModelSet Catalog::models_of(std::string_view text) const {
  if (text.empty()) return 0;
  ModelSet set = 0;
  for (const std::string_view name : split(text, '|')) {
    const auto model = std::find_if(models_.begin(), models_.end(),
                                    [&](const DeviceModel& candidate) { return candidate.name == name; });
    set |= model == models_.end() ? kUnknownModel : ModelSet{1} << (model - models_.begin());
  }
  return set;
}

}  // namespace berth
