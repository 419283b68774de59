#include "engine/exec/slurm_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "engine/base/text.h"
#include "engine/exec/slurm_accounts.h"
#include "engine/exec/slurm_hostlist.h"
#include "engine/exec/slurm_jobs.h"
#include "engine/model/quota.h"

namespace berth {

namespace {

// "16000", "16000+": sinfo marks a least value with '+'.
std::int64_t sinfo_number(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return std::clamp<std::int64_t>(value, 0, 1'000'000'000);
}

constexpr std::array<std::string_view, 4> kWorkingStates = {"idle", "mixed", "allocated", "completing"};
// inval: it has registered with less than it should have (a GPU is gone), and what runs there runs on.
constexpr std::array<std::string_view, 8> kSetAsideStates = {"draining", "drained", "drain",   "maint",
                                                             "reserved", "failing", "planned", "inval"};
// After SlurmdTimeout: Slurm has ended what ran there.
constexpr std::array<std::string_view, 2> kGivenUpStates = {"down", "error"};
// After the word: '*' does not respond, '%' powers down, '!' will, '^' reboots. '~' is powered off and '#' powers up:
// Slurm starts them for what is submitted.
constexpr std::string_view kAwayMarks = "*%!^";

Seconds seconds_of(std::string_view text) {
  const Result<std::int64_t> seconds = read_integer(text);
  return Seconds(seconds.ok() ? *seconds : 0);
}

}  // namespace

std::vector<SlurmNode> read_sinfo(std::string_view text) {
  std::map<std::string, SlurmNode, std::less<>> nodes;
  for (std::string_view row : split(text, '\n')) {
    std::array<std::string_view, 8> fields;
    std::size_t count = 0;
    for (; count < 7; ++count) {
      const std::size_t bar = row.find('|');
      if (bar == std::string_view::npos) break;
      fields[count] = row.substr(0, bar);
      row.remove_prefix(bar + 1);
    }
    if (count < 7 || fields[0].empty()) continue;
    fields[7] = row;
    SlurmNode& node = nodes[std::string(fields[0])];
    node.name = fields[0];
    node.state = fields[1];
    node.cpus = static_cast<std::int32_t>(sinfo_number(fields[2]));
    node.memory = MiB(sinfo_number(fields[3]));
    node.gres = fields[4];
    std::string_view partition = fields[5];
    if (partition.ends_with('*')) partition.remove_suffix(1);
    node.partitions.emplace_back(partition);
    node.features = fields[6] == "(null)" ? std::string_view() : fields[6];
    node.reason = fields[7] == "none" ? std::string_view() : trim(fields[7]);
  }
  std::vector<SlurmNode> list;
  for (auto& [name, node] : nodes) list.push_back(std::move(node));
  return list;
}

std::string slurm_drain_mark(std::string_view database) { return fmt::format("berth-{}: ", database); }

NodeObservation judge_slurm_node(const SlurmNode& node, std::string_view database) {
  NodeObservation seen;
  seen.node = node.name;
  const std::size_t mark = node.state.find_first_of("*~#%!^@$-+");
  const std::string_view word = std::string_view(node.state).substr(0, mark);
  const bool is_away = mark != std::string::npos && kAwayMarks.find(node.state[mark]) != std::string_view::npos;
  const bool is_set_aside = std::ranges::find(kSetAsideStates, word) != kSetAsideStates.end();
  const bool is_working = is_set_aside || std::ranges::find(kWorkingStates, word) != kWorkingStates.end();
  seen.is_ready = !is_away && is_working;
  if (std::ranges::find(kGivenUpStates, word) == kGivenUpStates.end()) seen.patience = Seconds(kNoLimit);
  const bool is_drained = word == "draining" || word == "drained" || word == "drain";
  seen.has_our_cordon = is_drained && node.reason.starts_with(slurm_drain_mark(database));
  // A planned node is only promised by Slurm's backfill.
  seen.is_cordoned = is_set_aside && word != "planned" && !seen.has_our_cordon;
  if (!seen.is_ready || seen.is_cordoned)
    seen.detail = node.reason.empty() ? node.state : fmt::format("{}: {}", node.state, node.reason);
  return seen;
}

InventoryNode slurm_inventory_node(const SlurmNode& node, std::string_view partition, std::string_view database) {
  InventoryNode row;
  row.name = node.name;
  row.cpu = MilliCpu(std::int64_t{1000} * node.cpus);
  row.memory = node.memory;
  const SlurmGpus gpus = read_slurm_gres(node.gres);
  row.devices = gpus.count;
  if (gpus.count > 0) row.model = gpus.model.empty() ? "gpu" : gpus.model;
  const bool is_in = std::ranges::find(node.partitions, partition) != node.partitions.end();
  row.pool = is_in ? std::string(partition) : node.partitions.empty() ? std::string() : node.partitions.front();
  const NodeObservation seen = judge_slurm_node(node, database);
  row.is_ready = seen.is_ready && !seen.is_cordoned;
  row.detail = seen.detail;
  if (row.detail.empty() && !node.features.empty()) row.detail = "features " + node.features;
  return row;
}

std::map<std::string, std::string> read_slurm_switches(std::string_view text) {
  std::map<std::string, std::string> switches;
  for (const std::string_view line : split(text, '\n')) {
    std::string_view name;
    std::string_view nodes;
    bool is_lowest = false;
    for (const std::string_view word : split(line, ' ')) {
      if (word.starts_with("SwitchName=")) name = word.substr(11);
      if (word.starts_with("Nodes=")) nodes = word.substr(6);
      is_lowest = is_lowest || word == "Level=0";
    }
    if (!is_lowest || name.empty()) continue;
    auto names = expand_slurm_hostlist(nodes);
    if (!names.ok()) continue;
    for (std::string& node : *names) switches[std::move(node)] = name;
  }
  return switches;
}

std::vector<SlurmReservation> read_slurm_reservations(std::string_view text) {
  std::vector<SlurmReservation> found;
  for (const std::string_view line : split(text, '\n')) {
    SlurmReservation row;
    for (const std::string_view word : split(line, ' ')) {
      const std::size_t mark = word.find('=');
      if (mark == std::string_view::npos) continue;
      const std::string_view name = word.substr(0, mark);
      const std::string_view value = word.substr(mark + 1);
      if (name == "ReservationName") row.name = value;
      if (name == "StartTime") row.begins = seconds_of(value);
      if (name == "EndTime") row.ends = seconds_of(value);
      if (name == "TRES") row.cpus = read_slurm_amounts(value)["cpu"];
      if (name == "Flags") row.is_magnetic = value.find("MAGNETIC") != std::string_view::npos;
      if (name != "Nodes") continue;
      auto nodes = expand_slurm_hostlist(value);
      if (nodes.ok()) row.nodes.insert(nodes->begin(), nodes->end());
    }
    if (!row.nodes.empty()) found.push_back(std::move(row));
  }
  return found;
}

std::map<std::string, Seconds, std::less<>> read_slurm_usual_limits(std::string_view text) {
  std::map<std::string, Seconds, std::less<>> limits;
  for (const std::string_view line : split(text, '\n')) {
    std::string_view partition;
    std::optional<Seconds> usual;
    std::optional<Seconds> most;
    for (const std::string_view word : split(line, ' ')) {
      if (word.starts_with("PartitionName=")) partition = word.substr(14);
      if (word.starts_with("DefaultTime=")) usual = read_slurm_duration(word.substr(12));
      if (word.starts_with("MaxTime=")) most = read_slurm_duration(word.substr(8));
    }
    if (!usual) usual = most;
    if (!partition.empty() && usual) limits.emplace(partition, *usual);
  }
  return limits;
}

std::map<std::string, Seconds> read_slurm_closings(const std::vector<SlurmReservation>& reservations,
                                                   const std::vector<SlurmNode>& nodes, std::string_view named,
                                                   Seconds now) {
  std::map<std::string, Seconds> closings;
  for (const SlurmReservation& each : reservations) {
    if (each.is_magnetic || each.ends <= now || each.name == named) continue;
    std::int64_t cpus = 0;
    for (const SlurmNode& node : nodes) cpus += each.nodes.contains(node.name) ? node.cpus : 0;
    if (each.cpus < cpus) continue;
    for (const std::string& node : each.nodes) {
      const auto [row, is_new] = closings.emplace(node, each.begins);
      if (!is_new) row->second = std::min(row->second, each.begins);
    }
  }
  return closings;
}

namespace {

// A row of scontrol's "KillWait                = 30 sec"; empty = there is none.
std::string_view config_value(std::string_view text, std::string_view name) {
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t equals = line.find('=');
    if (equals != std::string_view::npos && trim(line.substr(0, equals)) == name) return trim(line.substr(equals + 1));
  }
  return {};
}

}  // namespace

std::optional<Seconds> read_slurm_kill_wait(std::string_view text) {
  const std::string_view value = config_value(text, "KillWait");
  const Result<std::int64_t> seconds = read_integer(value.substr(0, value.find(' ')));
  if (seconds.ok() && *seconds >= 0 && *seconds <= 65533) return Seconds(*seconds);
  return std::nullopt;
}

std::string read_slurm_cluster(std::string_view text) {
  const std::string_view name = config_value(text, "ClusterName");
  const std::string_view host = config_value(text, "SlurmctldHost[0]");
  const std::string_view port = config_value(text, "SlurmctldPort");
  if (name.empty() || host.empty() || port.empty()) return {};  // half an answer is none
  return fmt::format("{} at {}:{}", name, host.substr(0, host.find('(')), port);
}

}  // namespace berth
