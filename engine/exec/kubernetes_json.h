// Reading the API server's JSON, of which any field may be missing or of another kind in another version.
//
// Only for the sources of this folder: nlohmann-json stays out of the other headers.
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/status.h"
#include "engine/base/units.h"
#include "engine/exec/kubernetes_quantity.h"

namespace berth::kubernetes {

using Json = nlohmann::json;

// The items of a list of that kind ("Pod"), or the one object that it is. Bulky fields that nobody here reads are left
// out. kUnavailable when it is anything else, so that nothing is known of what it leaves out: no whole JSON, as from a
// program that was stopped; an error as an object of kind Status; an item without a name or of another kind.
Result<Json> read_items(std::string_view text, std::string_view kind);

// The value at that path; null when there is none.
const Json& value_at(const Json& object, std::initializer_list<std::string_view> path);
// 0 where there is nothing; nothing where there is anything but a whole number from `least` to `most`.
std::optional<std::int32_t> integer_at(const Json& object, std::initializer_list<std::string_view> path,
                                       std::int32_t least, std::int32_t most);
// Empty, false and -1 where there is no such thing.
std::string text_at(const Json& object, std::initializer_list<std::string_view> path);
bool is_true_at(const Json& object, std::initializer_list<std::string_view> path);
Seconds moment_at(const Json& object, std::initializer_list<std::string_view> path);
// A quantity is a string or a number; 0 where it is none.
MilliCpu cpu_at(const Json& object, std::initializer_list<std::string_view> path, QuantityRounding rounding);
MiB memory_at(const Json& object, std::initializer_list<std::string_view> path, QuantityRounding rounding);
std::int64_t count_at(const Json& object, std::initializer_list<std::string_view> path);

}  // namespace berth::kubernetes
