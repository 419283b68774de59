#include "engine/exec/kubernetes_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/base/text.h"

namespace berth::kubernetes {

namespace {

constexpr std::array<std::string_view, 6> kBulkyFields = {"managedFields", "images",      "volumes",
                                                          "volumeMounts",  "annotations", "env"};

// A quantity's text: some versions write small whole numbers without quotes.
std::string quantity_at(const Json& object, std::initializer_list<std::string_view> path) {
  const Json& value = value_at(object, path);
  if (value.is_string()) return value.get<std::string>();
  return value.is_number_unsigned() ? value.dump() : std::string("0");
}

// What the API server nests is never so deep.
constexpr int kDeepest = 100;

Status no_answer(std::string_view text, std::string_view what) {
  return Status(Code::kUnavailable, fmt::format("kubectl's answer of {} bytes is {}", text.size(), what));
}

// In a list of one kind the items may leave it out.
bool is_named(const Json& item, std::string_view kind) {
  const Json& own = value_at(item, {"kind"});
  return !text_at(item, {"metadata", "name"}).empty() && (own.is_null() || own == kind);
}

}  // namespace

Result<Json> read_items(std::string_view text, std::string_view kind) {
  bool is_deep = false;
  const auto keep = [&](int depth, Json::parse_event_t event, Json& parsed) {
    is_deep |= depth > kDeepest;
    if (is_deep) return false;
    if (event != Json::parse_event_t::key) return true;
    const auto& key = parsed.get_ref<const std::string&>();
    return std::ranges::find(kBulkyFields, key) == kBulkyFields.end();
  };
  Json whole = Json::parse(text, keep, false);
  if (is_deep) return no_answer(text, "nested too deep");
  if (whole.is_discarded() || !whole.is_object()) return no_answer(text, "no whole JSON");
  const std::string said = text_at(whole, {"kind"});
  if (said == kind) {
    if (!is_named(whole, kind)) return no_answer(text, fmt::format("a {} without a name", kind));
    return Json(Json::array({std::move(whole)}));
  }
  if (said != "List" && said != fmt::format("{}List", kind))
    return no_answer(text, said.empty() ? fmt::format("no list of kind {}", kind) : fmt::format("of kind {}", said));
  const auto items = whole.find("items");
  if (items == whole.end() || !items->is_array()) return no_answer(text, "a list without items");
  for (const Json& item : *items)
    if (!is_named(item, kind)) return no_answer(text, fmt::format("a list with what is no {} with a name", kind));
  return Json(std::move(*items));
}

const Json& value_at(const Json& object, std::initializer_list<std::string_view> path) {
  static const Json kNone;
  const Json* here = &object;
  for (const std::string_view key : path) {
    if (!here->is_object()) return kNone;
    const auto found = here->find(key);
    if (found == here->end()) return kNone;
    here = &*found;
  }
  return *here;
}

std::string text_at(const Json& object, std::initializer_list<std::string_view> path) {
  const Json& value = value_at(object, path);
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::optional<std::int32_t> integer_at(const Json& object, std::initializer_list<std::string_view> path,
                                       std::int32_t least, std::int32_t most) {
  const Json& value = value_at(object, path);
  if (value.is_null()) return 0;
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT32_MAX) return std::nullopt;
  const auto number = value.get<std::int64_t>();
  return number >= least && number <= most ? std::optional(static_cast<std::int32_t>(number)) : std::nullopt;
}

bool is_true_at(const Json& object, std::initializer_list<std::string_view> path) {
  const Json& value = value_at(object, path);
  return value.is_boolean() && value.get<bool>();
}

Seconds moment_at(const Json& object, std::initializer_list<std::string_view> path) {
  const Result<Seconds> moment = read_time(text_at(object, path));
  return moment.ok() ? *moment : Seconds(-1);
}

MilliCpu cpu_at(const Json& object, std::initializer_list<std::string_view> path, QuantityRounding rounding) {
  const Result<MilliCpu> amount = read_quantity_cpu(quantity_at(object, path), rounding);
  return amount.ok() ? *amount : MilliCpu(0);
}

MiB memory_at(const Json& object, std::initializer_list<std::string_view> path, QuantityRounding rounding) {
  const Result<MiB> amount = read_quantity_memory(quantity_at(object, path), rounding);
  return amount.ok() ? *amount : MiB(0);
}

std::int64_t count_at(const Json& object, std::initializer_list<std::string_view> path) {
  const Result<std::int64_t> amount = read_quantity_count(quantity_at(object, path));
  return amount.ok() ? *amount : 0;
}

}  // namespace berth::kubernetes
