#include "engine/store/resource_names.h"

#include <fmt/format.h>

#include <tuple>

#include "engine/base/text.h"
#include "engine/store/catalog.h"

namespace berth {

namespace {

constexpr std::int64_t kMostQuota = std::int64_t{1} << 50;

struct PlainResource {
  std::string_view name;
  ResourceKind kind;
};
constexpr PlainResource kPlainResources[] = {
    {"cpu", ResourceKind::kCpu}, {"memory", ResourceKind::kMemory}, {"gpu", ResourceKind::kGpu}};

}  // namespace

bool is_plain_resource(std::string_view name) {
  return std::ranges::any_of(kPlainResources,
                             [&](const PlainResource& plain) { return equals_ignoring_case(plain.name, name); });
}

namespace {

int resource_rank(const QuotaResource& resource) {
  return resource.models == 0 ? static_cast<int>(resource.kind) : static_cast<int>(ResourceKind::kGpu) + 1;
}

}  // namespace

Result<ResourceNames> ResourceNames::read(Database& db) {
  ResourceNames names;
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT name, coalesce(family, '') FROM device_models ORDER BY id"));
  for (int model = 0; rows.next(); ++model) {
    names.models_[std::string(rows.text(0))] |= ModelSet{1} << model;
    if (!rows.text(1).empty()) names.models_[std::string(rows.text(1))] |= ModelSet{1} << model;
  }
  BERTH_TRY(rows.status());
  return names;
}

QuotaResource ResourceNames::stored(std::string_view name) const {
  if (const auto found = models_.find(name); found != models_.end()) {
    return {found->first, ResourceKind::kGpu, found->second};
  }
  for (const PlainResource& plain : kPlainResources) {
    if (equals_ignoring_case(name, plain.name)) return {std::string(plain.name), plain.kind, 0};
  }
  return {std::string(name), ResourceKind::kGpu, kUnknownModel};
}

bool ResourceNames::knows(std::string_view name) const { return stored(name).models != kUnknownModel; }

Result<QuotaResource> ResourceNames::find(std::string_view name) const {
  QuotaResource resource = stored(name);
  if (resource.models != kUnknownModel) return resource;
  std::string hint = suggest(name, names());
  if (hint.empty()) hint = "there are " + join(names(), ", ");
  return Status(Code::kNotFound, fmt::format("no resource '{}'", name), std::move(hint));
}

std::vector<std::string> ResourceNames::names() const {
  std::vector<std::string> names;
  for (const PlainResource& plain : kPlainResources) names.emplace_back(plain.name);
  for (const auto& [name, models] : models_) names.push_back(name);
  return names;
}

bool resource_comes_before(const QuotaResource& a, const QuotaResource& b) {
  return std::tuple(resource_rank(a), std::string_view(a.name)) <
         std::tuple(resource_rank(b), std::string_view(b.name));
}

Result<std::int64_t> read_amount(ResourceKind kind, std::string_view text) {
  std::int64_t amount = 0;
  switch (kind) {
    case ResourceKind::kCpu: {
      BERTH_ASSIGN(const MilliCpu cpu, read_cpu(text));
      amount = cpu.value();
      break;
    }
    case ResourceKind::kMemory: {
      BERTH_ASSIGN(const MiB memory, read_memory(text));
      amount = memory.value();
      break;
    }
    case ResourceKind::kGpu: {
      BERTH_ASSIGN(const MilliGpu gpu, read_gpu(text));
      amount = gpu.value();
      break;
    }
  }
  if (amount >= 0 && amount <= kMostQuota) return amount;
  return Status(Code::kInvalid, fmt::format("'{}' is {}", text, amount < 0 ? "negative" : "absurdly large"));
}

std::string print_amount(ResourceKind kind, std::int64_t amount) {
  switch (kind) {
    case ResourceKind::kCpu: return print_cpu(MilliCpu(amount));
    case ResourceKind::kMemory: return print_memory(MiB(amount));
    case ResourceKind::kGpu: return print_gpu(MilliGpu(amount));
  }
  return {};
}

}  // namespace berth
