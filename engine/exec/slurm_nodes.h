// What sinfo and `scontrol show` of topology, reservations and partitions print of nodes, read into the executor's own
// terms.
//
// Parsable rows, the same in every release; `sinfo --json` has nothing that they lack and its shape has changed.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/exec/executor.h"

namespace berth {

// sinfo -h -N -o <this>: a row for each node and partition.
inline constexpr std::string_view kSinfoFormat = "%N|%T|%c|%m|%G|%P|%f|%E";

struct SlurmNode {
  std::string name;
  std::string state;  // "idle", "mixed", "down*", "drained"
  std::int32_t cpus = 0;
  MiB memory;
  std::string gres;
  std::vector<std::string> partitions;  // as listed; the default one has no '*' here
  std::string features;
  std::string reason;  // why it is down or drained; empty = none
};
// By name, each once.
std::vector<SlurmNode> read_sinfo(std::string_view text);

// "berth-3fa9c2: ": the reason of a drain that begins so is that database's own, not somebody else's.
std::string slurm_drain_mark(std::string_view database);

// Down, not responding, failing, powered off and rebooting are not ready; draining, drained, under maintenance are
// cordoned.
NodeObservation judge_slurm_node(const SlurmNode& node, std::string_view database);
// Pool = `partition` where the node is in it, else its first one. Nothing is known of the devices' memory.
InventoryNode slurm_inventory_node(const SlurmNode& node, std::string_view partition, std::string_view database);

// `scontrol -o show topology`: node to the switch at the lowest level that has it.
std::map<std::string, std::string> read_slurm_switches(std::string_view text);
struct SlurmReservation {
  std::string name;
  Seconds begins;
  Seconds ends;
  std::set<std::string> nodes;
  std::int64_t cpus = 0;     // of all its nodes together; fewer than they have = it takes parts of them
  bool is_magnetic = false;  // it draws in jobs that do not name it
};
// `scontrol -o show reservation`, with kSlurmTimes: all that are and will be.
std::vector<SlurmReservation> read_slurm_reservations(std::string_view text);
// `scontrol -o show partition`: what a job without a time limit gets there; those in which that is none are left out.
std::map<std::string, Seconds, std::less<>> read_slurm_usual_limits(std::string_view text);
// When each node is closed to what may still run, by the first whole-node reservation that has not ended; one that has
// begun counts whatever sinfo says: it shows such a node as in use while something of the reservation runs there.
// `named` is one that our jobs use.
std::map<std::string, Seconds> read_slurm_closings(const std::vector<SlurmReservation>& reservations,
                                                   const std::vector<SlurmNode>& nodes, std::string_view named,
                                                   Seconds now);

// KillWait of `scontrol show config`; nothing = it is not there.
std::optional<Seconds> read_slurm_kill_wait(std::string_view text);
// Of the same, what tells one cluster from others: "ml at head1:6817"; empty = it is not there.
std::string read_slurm_cluster(std::string_view text);

}  // namespace berth
