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

// The parts after "berth-<database>-".
std::optional<std::vector<std::string_view>> key_parts(std::string_view database, std::string_view text,
                                                       std::size_t count) {
  const std::string prefix = fmt::format("berth-{}-", database);
  if (!text.starts_with(prefix)) return std::nullopt;
  std::vector<std::string_view> parts = split(text.substr(prefix.size()), '-');
  return parts.size() == count ? std::optional(std::move(parts)) : std::nullopt;
}

}  // namespace

std::string print_key(std::string_view database, const LaunchKey& key) {
  return fmt::format("berth-{}-{}-{}-l{}", database, key.job, key.attempt, key.sequence);
}

std::string print_key(std::string_view database, const TaskKey& key) {
  return fmt::format("berth-{}-{}-{}-{}-{}", database, key.job, key.attempt, key.group, key.task);
}

std::optional<LaunchKey> read_launch_key(std::string_view database, std::string_view text) {
  const auto parts = key_parts(database, text, 3);
  if (!parts || !parts->at(2).starts_with('l')) return std::nullopt;
  const auto job = read_number(parts->at(0));
  const auto attempt = read_number(parts->at(1));
  const auto sequence = read_number(parts->at(2).substr(1));
  if (!job || !attempt || !sequence) return std::nullopt;
  return LaunchKey{*job, *attempt, *sequence};
}

std::optional<TaskKey> read_task_key(std::string_view database, std::string_view text) {
  const auto parts = key_parts(database, text, 4);
  if (!parts) return std::nullopt;
  const auto job = read_number(parts->at(0));
  const auto attempt = read_number(parts->at(1));
  const auto group = read_number(parts->at(2));
  const auto task = read_number(parts->at(3));
  if (!job || !attempt || !group || !task || *group > INT32_MAX || *task > INT32_MAX) return std::nullopt;
  return TaskKey{*job, *attempt, static_cast<std::int32_t>(*group), static_cast<std::int32_t>(*task)};
}

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
