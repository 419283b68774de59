#include "engine/exec/executor.h"

#include <fmt/format.h>

#include <charconv>

#include "engine/base/text.h"

namespace berth {

namespace {

std::optional<std::int64_t> read_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// "berth-3fa9c2", "berth-3fa9c2g7b".
std::string key_prefix(std::string_view database, std::int64_t generation) {
  return generation == 0 ? fmt::format("berth-{}", database) : fmt::format("berth-{}g{:x}", database, generation);
}

struct KeyParts {
  std::int64_t generation = 0;
  std::vector<std::string_view> parts;  // after the prefix
};
std::optional<KeyParts> key_parts(std::string_view database, std::string_view text) {
  const std::string prefix = key_prefix(database, 0);
  if (!text.starts_with(prefix)) return std::nullopt;
  text.remove_prefix(prefix.size());
  KeyParts key;
  if (text.starts_with('g')) {
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + 1, end, key.generation, 16);
    if (error != std::errc() || key.generation <= 0) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  }
  if (!text.starts_with('-')) return std::nullopt;
  key.parts = split(text.substr(1), '-');
  return key;
}

}  // namespace

std::string print_key(std::string_view database, const LaunchKey& key) {
  return fmt::format("{}-{}-{}-l{}", key_prefix(database, key.generation), key.job, key.attempt, key.sequence);
}

std::string print_key(std::string_view database, const TaskKey& key) {
  return fmt::format("{}-{}-{}-{}-{}", key_prefix(database, key.generation), key.job, key.attempt, key.group, key.task);
}

std::optional<LaunchKey> read_launch_key(std::string_view database, std::string_view text) {
  const auto key = key_parts(database, text);
  if (!key || key->parts.size() != 3 || !key->parts[2].starts_with('l')) return std::nullopt;
  const auto job = read_number(key->parts[0]);
  const auto attempt = read_number(key->parts[1]);
  const auto sequence = read_number(key->parts[2].substr(1));
  if (!job || !attempt || !sequence) return std::nullopt;
  return LaunchKey{*job, *attempt, *sequence, key->generation};
}

std::optional<TaskKey> read_task_key(std::string_view database, std::string_view text) {
  const auto key = key_parts(database, text);
  if (!key || key->parts.size() != 4) return std::nullopt;
  const auto job = read_number(key->parts[0]);
  const auto attempt = read_number(key->parts[1]);
  const auto group = read_number(key->parts[2]);
  const auto task = read_number(key->parts[3]);
  if (!job || !attempt || !group || !task || *group > INT32_MAX || *task > INT32_MAX) return std::nullopt;
  return TaskKey{*job, *attempt, static_cast<std::int32_t>(*group), static_cast<std::int32_t>(*task), key->generation};
}

bool is_name_of(std::string_view database, std::string_view text) { return key_parts(database, text).has_value(); }

std::string Launch::peers_text() const {
  constexpr std::size_t kMost = 100000;
  std::size_t size = 0;
  for (const std::string& peer : peers) size += peer.size() + 1;
  return size <= kMost ? join(peers, ",") : std::string();
}

Result<std::vector<Delivery>> Executor::cordon(std::span<const std::string> nodes, bool, const std::string&) {
  return std::vector<Delivery>(nodes.size());
}

Status Executor::forget(std::span<const LiveTask>) { return {}; }

}  // namespace berth
