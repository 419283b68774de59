// The small tables that everything else refers to - pools, device models, node types - read once, ids turned into the
// indices that the model uses.
//
// Jobs name the models they may use as text ("A100|H100"). A name that no model has any more gets the last bit of a
// ModelSet, which no device model owns: such a job waits instead of running anywhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/cluster.h"
#include "engine/model/shape.h"
#include "engine/store/sqlite.h"

namespace berth {

inline constexpr ModelSet kUnknownModel = ModelSet{1} << (kMaxModels - 1);

class Catalog {
 public:
  // In id order.
  Catalog() = default;  // empty
  static Result<Catalog> read(Database& db);

  const std::vector<DeviceModel>& models() const { return models_; }
  const std::vector<std::string>& pools() const { return pools_; }

  // -1 for an id that no pool has (0 stands for NULL).
  std::int32_t pool_index(std::int64_t id) const;
  std::int64_t pool_id(std::int32_t index) const { return pool_ids_[static_cast<std::size_t>(index)]; }
  // What a node of that type in that pool is; kCorrupt for an unknown type.
  Result<NodeKind> kind(std::int64_t type_id, std::int64_t pool_id) const;
  // "" = any model.
  ModelSet models_of(std::string_view text) const;

 private:
  struct Type {
    std::int64_t id;
    NodeKind kind;  // without pool
  };
  Status read_models(Database& db);
  Status read_pools(Database& db);
  Status read_types(Database& db);

  std::vector<DeviceModel> models_;
  std::vector<std::int64_t> pool_ids_;
  std::vector<std::string> pools_;
  std::vector<Type> types_;
};

}  // namespace berth
