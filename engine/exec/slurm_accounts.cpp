#include "engine/exec/slurm_accounts.h"

#include "engine/base/text.h"

namespace berth {

namespace {

// Nothing also for what Slurm prints where there is no limit (-1), and for more than a site has.
std::optional<std::int64_t> optional_number(std::string_view text) {
  constexpr std::int64_t kMost = 1'000'000'000'000;
  const auto value = read_integer(text);
  return value.ok() && *value >= 0 && *value <= kMost ? std::optional(*value) : std::nullopt;
}

}  // namespace

SlurmAmounts read_slurm_amounts(std::string_view text) {
  SlurmAmounts amounts;
  for (const std::string_view item : split(text, ',')) {
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = item.substr(0, equals);
    const std::string_view amount = item.substr(equals + 1);
    if (name == "mem") {
      // "500G", "64000M", "2T": without a letter MiB.
      if (const auto memory = read_memory(amount); memory.ok()) amounts[std::string(name)] = memory->value();
    } else if (const auto count = optional_number(amount)) {
      amounts[std::string(name)] = *count;
    }
  }
  return amounts;
}

std::optional<Seconds> read_slurm_duration(std::string_view text) {
  std::int64_t days = 0;
  const std::size_t dash = text.find('-');
  if (dash != std::string_view::npos) {
    const auto read = optional_number(text.substr(0, dash));
    if (!read) return std::nullopt;
    days = *read;
    text.remove_prefix(dash + 1);
  }
  std::vector<std::int64_t> parts;
  for (const std::string_view part : split(text, ':')) {
    const auto read = optional_number(part);
    if (!read || *read < 0) return std::nullopt;
    parts.push_back(*read);
  }
  if (parts.empty() || parts.size() > 3) return std::nullopt;
  // After days the first part is hours; else one part is minutes, two are minutes and seconds.
  const std::size_t skipped = dash != std::string_view::npos || parts.size() == 3 ? 0 : 1;
  constexpr std::int64_t kWeights[] = {3600, 60, 1};
  std::int64_t seconds = days * 86400;
  for (std::size_t i = 0; i < parts.size(); ++i) seconds += parts[i] * kWeights[i + skipped];
  return Seconds(seconds);
}

std::vector<SlurmAssociation> read_slurm_associations(std::string_view text) {
  std::vector<SlurmAssociation> rows;
  for (const std::string_view line : split(text, '\n')) {
    const std::vector<std::string_view> fields = split(line, '|');
    if (fields.size() < 12 || fields[1].empty()) continue;
    SlurmAssociation row;
    row.cluster = fields[0];
    row.account = fields[1];
    row.user = fields[2];
    row.parent = fields[3];
    row.shares = optional_number(fields[4]);
    row.group_limit = read_slurm_amounts(fields[5]);
    row.job_limit = read_slurm_amounts(fields[6]);
    row.group_jobs = optional_number(fields[7]);
    row.max_jobs = optional_number(fields[8]);
    row.max_submits = optional_number(fields[9]);
    row.max_wall = read_slurm_duration(fields[10]);
    for (const std::string_view qos : split(fields[11], ','))
      if (!qos.empty()) row.qos.emplace_back(qos);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace berth
