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

}  // namespace

Result<Json> read_items(std::string_view text) {
  const auto keep = [](int, Json::parse_event_t event, Json& parsed) {
    if (event != Json::parse_event_t::key) return true;
    const auto& key = parsed.get_ref<const std::string&>();
    return std::ranges::find(kBulkyFields, key) == kBulkyFields.end();
  };
  Json whole = Json::parse(text, keep, false);
  if (whole.is_discarded() || !whole.is_object())
    return Status(Code::kUnavailable, fmt::format("kubectl's answer of {} bytes is no whole JSON", text.size()));
  if (const auto items = whole.find("items"); items != whole.end() && items->is_array()) return Json(std::move(*items));
  if (text_at(whole, {"kind"}).ends_with("List")) return Json(Json::array());
  return Json(Json::array({std::move(whole)}));
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

std::int64_t integer_at(const Json& object, std::initializer_list<std::string_view> path) {
  const Json& value = value_at(object, path);
  return value.is_number_integer() ? value.get<std::int64_t>() : 0;
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
