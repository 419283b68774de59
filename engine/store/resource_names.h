// What quotas and loans are of, by name: cpu, memory, gpu (all devices), a device model, a family of models.
//
// A name of a model that is also the name of a family stands for both: the family with that model in it. CPU, memory
// and gpu are understood in any case unless a device model is called so. Amounts are read and printed as people write
// them: cores, bytes, GPUs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/quota.h"
#include "engine/store/sqlite.h"

namespace berth {

class ResourceNames {
 public:
  static Result<ResourceNames> read(Database& db);

  // kNotFound: "no resource 'A10'", hint "did you mean 'A100'?".
  Result<QuotaResource> find(std::string_view name) const;
  // The same for a name that a row has: of one that nobody has any more, no device counts.
  QuotaResource stored(std::string_view name) const;
  bool knows(std::string_view name) const;
  // All there are: cpu, memory, gpu, then models and families by name.
  std::vector<std::string> names() const;

 private:
  std::map<std::string, ModelSet, std::less<>> models_;  // of each model and family
};

// cpu, memory or gpu, in whatever case.
bool is_plain_resource(std::string_view name);

// In the order of QuotaTable::resources: cpu, memory, gpu, then by name.
bool resource_comes_before(const QuotaResource& a, const QuotaResource& b);

// kInvalid for what is no amount of that kind, negative, or absurdly large. Milli-cores, MiB or milli-GPU.
Result<std::int64_t> read_amount(ResourceKind kind, std::string_view text);
std::string print_amount(ResourceKind kind, std::int64_t amount);

}  // namespace berth
