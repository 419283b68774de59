// The published runs of three peer simulators, each as a simulation of ours: input, cluster, policy and options.
//
// Only for tests and benches. What is missing or malformed ends in an error of the result.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/base/text.h"
#include "engine/sim/csv.h"
#include "engine/sim/timed.h"
#include "engine/sim/trace_model.h"

namespace berth::test {

enum class Peer { kPai, kTiresias, kHelios };

struct PeerRun {
  Peer peer = Peer::kPai;
  std::string golden;  // path below golden/timed, without ".csv.gz"
  std::string jobs;    // path below traces/sim_inputs
  std::string nodes;   // the same; of PAI: "640" = one node of so many GPUs, "hetero" = its five kinds of nodes
  PolicyChoice policy;
  TimedOptions options;
};

// What became of one job: first start, end, and where its tasks were at last ("3" x 8, ...), where that is known.
struct RanJob {
  std::int64_t start = -1;
  std::int64_t end = -1;
  std::int64_t evictions = -1;
  std::map<std::string, std::int64_t> nodes;  // GPUs (Helios) or tasks (PAI) by node; empty = not told
};

inline std::string peer_folder() {
  const char* folder = std::getenv("BERTH_SHARED");
  return folder != nullptr ? folder : "../shared";
}

inline PeerRun pai_run(const std::string& tag, const std::string& policy, const std::string& jobs,
                       const std::string& nodes, std::int64_t rate, NodeChoice choice,
                       std::optional<std::vector<std::string>> binding) {
  PeerRun run;
  run.golden = "pai/" + tag + "." + policy;
  run.jobs = jobs;
  run.nodes = nodes;
  run.policy = {policy == "FIFO" ? "fifo" : "sjf", "best_fit"};
  run.options.pooled_devices = true;
  run.options.node_choice = choice;
  run.options.arrivals_per_minute = rate;
  run.options.binding_models = std::move(binding);
  static const std::map<std::string, std::string> kEstimates = {
      {"SJU", "user"}, {"SJG", "group"}, {"SJGG", "group_gpu"}};
  if (const auto column = kEstimates.find(policy); column != kEstimates.end()) {
    run.options.durations = DurationSource::kEstimate;
    run.options.estimate = column->second;
  }
  return run;
}

inline PeerRun tiresias_run(const std::string& trace, const std::string& schedule, const std::string& scheme) {
  PeerRun run;
  run.peer = Peer::kTiresias;
  run.golden = "tiresias/" + trace + "." + schedule + "." + scheme;
  const bool small = trace.starts_with("t60");
  run.jobs = small ? "tiresias_60_job.csv" : "tiresias_philly5000.csv.gz";
  run.nodes = small ? "tiresias_n3g4.csv" : "tiresias_n24g8.csv";
  static const std::map<std::string, std::string> kOrders = {{"fifo", "fifo"},
                                                             {"fjf", "fifo"},
                                                             {"sjf", "smallest_first"},
                                                             {"shortest", "sjf"},
                                                             {"shortest-gpu", "least_work"},
                                                             {"dlas", "las"},
                                                             {"dlas-gpu", "las"}};
  run.policy = {kOrders.at(schedule), "best_fit"};
  run.options.pooled_devices = true;
  if (schedule == "fifo") run.options.rules.backfill = BackfillMode::kNone;
  if (schedule != "fifo" && schedule != "fjf") {
    run.options.rules.preemption = Preemption::kReplan;
    run.options.checkpoint_interval = Seconds(1);
  }
  run.options.order_knobs.las_by_gpu = schedule == "dlas-gpu";
  return run;
}

inline PeerRun helios_run(const std::string& policy) {
  PeerRun run;
  run.peer = Peer::kHelios;
  run.golden = "helios/philly14d_half_" + policy;
  run.jobs = "helios_cluster_log.csv.gz";
  run.nodes = "helios_vc_nodes_half.csv";
  run.policy = {policy == "srtf" ? "sjf" : policy, "best_fit"};
  run.options.pooled_devices = true;
  run.options.node_choice = NodeChoice::kConsolidate;
  run.options.rules.backfill = BackfillMode::kNonePerQueue;
  if (policy == "qssf") {
    run.options.durations = DurationSource::kEstimate;
    run.options.estimate = "given";
  }
  if (policy == "srtf") {
    run.options.rules.preemption = Preemption::kReplan;
    run.options.checkpoint_interval = Seconds(1);
    run.options.completion_lag = Seconds(1);
    run.options.replan_ties = ReplanTies::kWaitingFirst;
    run.options.restart_cost = {{{MilliGpu(1000), Seconds(7)}, {MilliGpu(8000), Seconds(30)}}, Seconds(60)};
  }
  return run;
}

inline std::vector<PeerRun> peer_runs() {
  std::vector<PeerRun> runs;
  const std::vector<std::string> nothing;
  for (const char* policy : {"FIFO", "SJF", "SJU", "SJG", "SJGG"}) {
    runs.push_back(pai_run("philly20k_r1000_g6500", policy, "philly_all_1inst.csv.gz", "6500", 1000,
                           NodeChoice::kFirstFit, nothing));
  }
  for (const char* policy : {"FIFO", "SJF"}) {
    runs.push_back(
        pai_run("philly_all_orig_g640", policy, "philly_all_1inst.csv.gz", "640", 0, NodeChoice::kFirstFit, nothing));
  }
  const std::vector<std::string> only_v100 = {"V100"};
  for (const char* policy : {"FIFO", "SJF", "SJU", "SJG", "SJGG"}) {
    runs.push_back(pai_run("openb2500_hetero_pack_m2", policy, "openb_pai.csv.gz", "hetero", 1000,
                           NodeChoice::kFirstFit, only_v100));
  }
  for (const char* policy : {"FIFO", "SJF"}) {
    runs.push_back(pai_run("openb2500_hetero_balance_m2", policy, "openb_pai.csv.gz", "hetero", 1000,
                           NodeChoice::kBalance, only_v100));
  }
  runs.push_back(pai_run("openb2500_hetero_pack_m1", "FIFO", "openb_pai.csv.gz", "hetero", 1000, NodeChoice::kFirstFit,
                         std::nullopt));
  for (const char* policy : {"FIFO", "SJF", "SJGG"}) {
    runs.push_back(
        pai_run("gang2000_hetero_pack", policy, "philly_gang.csv.gz", "hetero", 100, NodeChoice::kFirstFit, nothing));
  }
  for (const char* trace : {"t60_n3g4", "philly5000_n24g8"}) {
    for (const char* schedule : {"fifo", "fjf", "sjf", "shortest", "shortest-gpu", "dlas", "dlas-gpu"}) {
      if (std::string_view(trace) == "philly5000_n24g8" && std::string_view(schedule) == "fjf") continue;
      runs.push_back(tiresias_run(trace, schedule, "count"));
    }
  }
  for (const char* policy : {"fifo", "sjf", "qssf", "srtf"}) runs.push_back(helios_run(policy));
  return runs;
}

// ---- input ----------------------------------------------------------------------------------------------------------

inline Result<std::vector<TraceNode>> peer_nodes(const PeerRun& run) {
  std::vector<TraceNode> nodes;
  const auto add = [&](std::string name, std::int32_t gpus, std::int64_t milli_cores, const char* model) {
    TraceNode node;
    node.name = std::move(name);
    node.cpu = MilliCpu(milli_cores);
    node.devices = gpus;
    node.model = gpus > 0 ? model : "";
    nodes.push_back(std::move(node));
  };
  if (run.peer != Peer::kPai) {
    const std::string path = peer_folder() + "/traces/sim_inputs/" + run.nodes;
    BERTH_ASSIGN(ReadRecords<TraceNode> read,
                 read_trace_nodes(run.peer == Peer::kHelios ? "helios" : "tiresias", path));
    return std::move(read.records);
  }
  if (run.nodes != "hetero") {
    const int gpus = std::stoi(run.nodes);
    add("1", gpus, std::llrint(23.22 * gpus) * 1000, "MISC");
    return nodes;
  }
  struct Kind {
    int count;
    int gpus;
    int cores;
    const char* model;
  };
  for (const Kind& kind : {Kind{16, 0, 96, "CPU"}, Kind{56, 8, 96, "MISC"}, Kind{100, 2, 96, "T4"},
                           Kind{160, 2, 64, "P100"}, Kind{48, 8, 96, "V100"}}) {
    for (int i = 0; i < kind.count; ++i) add(std::to_string(nodes.size()), kind.gpus, kind.cores * 1000, kind.model);
  }
  return nodes;
}

// The golden rows, by job; `places` gets each job's place in its list, where the order of equals depends on it.
inline Result<std::map<std::string, RanJob>> peer_outcome(const PeerRun& run,
                                                          std::map<std::string, std::int64_t>& places) {
  static constexpr CsvColumn kPaiColumns[] = {
      {"job_id", true}, {"start_time", true}, {"end_time", true},   {"node", true}, {"submit_time"}, {"duration"},
      {"num_inst"},     {"gpu_pct_per_inst"}, {"cpu_pct_per_inst"}, {"gpu_type"},   {"user"}};
  static constexpr CsvColumn kTiresiasColumns[] = {
      {"job_id", true}, {"start_time", true}, {"end_time", true}, {"preempt", true}, {"time"},
      {"num_gpu"},      {"submit_time"},      {"executed_time"},  {"JCT"},           {"duration"},
      {"pending_time"}, {"resume"},           {"promote"}};
  static constexpr CsvColumn kHeliosColumns[] = {{"jobname", true},
                                                 {"start_time", true},
                                                 {"end_time", true},
                                                 {"preemptions", true},
                                                 {"nodes", true},
                                                 {"trace_pos", true},
                                                 {"vc"},
                                                 {"gpu_num"},
                                                 {"submit_time"},
                                                 {"duration"},
                                                 {"queue"},
                                                 {"jct"},
                                                 {"priority"}};
  const std::span<const CsvColumn> columns = run.peer == Peer::kPai ? std::span<const CsvColumn>(kPaiColumns)
                                             : run.peer == Peer::kTiresias
                                                 ? std::span<const CsvColumn>(kTiresiasColumns)
                                                 : std::span<const CsvColumn>(kHeliosColumns);
  BERTH_ASSIGN(CsvReader csv, CsvReader::open(peer_folder() + "/golden/timed/" + run.golden + ".csv.gz", columns));
  std::map<std::string, RanJob> jobs;
  const auto integer = [](std::string_view text) { return static_cast<std::int64_t>(std::stoll(std::string(text))); };
  for (;;) {
    BERTH_ASSIGN(const bool found, csv.next());
    if (!found) return jobs;
    RanJob& job = jobs[std::string(csv.text(0))];
    job.start = integer(csv.text(1));
    job.end = integer(csv.text(2));
    if (run.peer == Peer::kPai) {
      ++job.nodes[std::string(csv.text(3))];
      continue;
    }
    job.evictions = integer(csv.text(3));
    if (run.peer != Peer::kHelios) continue;
    places[std::string(csv.text(0))] = integer(csv.text(5));
    for (const std::string_view part : split(csv.text(4), '+')) {
      const std::vector<std::string_view> node = split(part, ':');
      job.nodes[std::string(node[0])] += integer(node[1]);
    }
  }
}

inline Result<std::vector<TraceJob>> peer_jobs(const PeerRun& run, const std::map<std::string, RanJob>& chosen,
                                               const std::map<std::string, std::int64_t>& places) {
  static const std::map<Peer, std::string_view> kFormats = {
      {Peer::kPai, "pai_sim"}, {Peer::kTiresias, "tiresias"}, {Peer::kHelios, "helios"}};
  const std::string folder = peer_folder() + "/traces/sim_inputs/";
  ReadOptions options;
  if (run.peer == Peer::kHelios) options.format.estimates_file = folder + "helios_philly_estimates.csv.gz";
  BERTH_ASSIGN(ReadRecords<TraceJob> read, read_trace_jobs(kFormats.at(run.peer), folder + run.jobs, options));
  std::vector<TraceJob> jobs = std::move(read.records);
  std::erase_if(jobs, [&](const TraceJob& job) { return !chosen.contains(job.name); });
  if (run.peer == Peer::kHelios) {
    const Seconds first = jobs.front().submit;
    for (TraceJob& job : jobs) job.submit = job.submit - first;
    std::ranges::sort(jobs, {}, [&](const TraceJob& job) { return std::pair(job.submit, places.at(job.name)); });
  } else {
    sort_by_submit(jobs);
  }
  return jobs;
}

// ---- comparison -----------------------------------------------------------------------------------------------------

// Ours, by job. Nodes as the peer counts them.
inline std::map<std::string, RanJob> our_outcome(const PeerRun& run, const SimulationResult& result) {
  std::map<std::string, RanJob> jobs;
  for (const TaskResult& task : result.tasks) {
    const std::size_t bracket = std::min(task.task.find('['), task.task.find('.'));
    RanJob& job = jobs[task.task.substr(0, bracket)];
    if (task.state != TaskOutcome::kPlaced) continue;
    job.start = task.start->value();
    job.end = task.end->value();
    job.evictions = task.evictions;
    std::string node = task.node;
    std::int64_t amount = 1;
    if (run.peer == Peer::kHelios) {
      node = std::to_string(std::stoi(node.substr(node.find('-') + 1)) - 1);
      amount = task.gpu.value() / 1000;
    }
    job.nodes[node] += amount;
  }
  return jobs;
}

struct PeerComparison {
  std::int64_t jobs = 0;
  std::int64_t other_times = 0;      // jobs with another start or end
  std::int64_t other_nodes = 0;      // of the rest, jobs elsewhere, where the peer says where
  std::int64_t other_evictions = 0;  // of the rest, where the peer counts them
  std::string first;                 // a sentence about the earliest difference
  SimulationRow row;
};

inline Result<PeerComparison> compare_with_peer(const PeerRun& run) {
  std::map<std::string, std::int64_t> places;
  BERTH_ASSIGN(const auto expected, peer_outcome(run, places));
  BERTH_ASSIGN(const std::vector<TraceNode> nodes, peer_nodes(run));
  BERTH_ASSIGN(const Cluster cluster, cluster_from(nodes));
  BERTH_ASSIGN(const std::vector<TraceJob> jobs, peer_jobs(run, expected, places));
  BERTH_ASSIGN(const TimedInput input, timed_from(cluster, [&] { return Result(read_from(jobs)); }));
  BERTH_ASSIGN(const SimulationResult result, simulate_jobs(input, run.policy, run.options));
  const std::map<std::string, RanJob> ours = our_outcome(run, result);
  PeerComparison compared;
  compared.row = result.row;
  compared.jobs = static_cast<std::int64_t>(expected.size());
  std::int64_t earliest = INT64_MAX;
  const bool tells_nodes = run.peer == Peer::kPai || (run.peer == Peer::kHelios && run.policy.order != "sjf") ||
                           (run.peer == Peer::kHelios && run.options.rules.preemption == Preemption::kNone);
  for (const auto& [name, job] : expected) {
    const auto found = ours.find(name);
    const RanJob mine = found == ours.end() ? RanJob{} : found->second;
    const bool same_times = mine.start == job.start && mine.end == job.end;
    const bool same_nodes = !tells_nodes || mine.nodes == job.nodes;
    const bool same_evictions = job.evictions < 0 || mine.evictions == job.evictions;
    if (same_times && same_nodes && same_evictions) continue;
    ++(!same_times ? compared.other_times : !same_nodes ? compared.other_nodes : compared.other_evictions);
    if (job.start >= earliest) continue;
    earliest = job.start;
    compared.first = "job " + name + ": " + std::to_string(job.start) + ".." + std::to_string(job.end) + ", evicted " +
                     std::to_string(job.evictions) + "; ours " + std::to_string(mine.start) + ".." +
                     std::to_string(mine.end) + ", evicted " + std::to_string(mine.evictions) + ", first node " +
                     (job.nodes.empty() ? "-" : job.nodes.begin()->first) + " / " +
                     (mine.nodes.empty() ? "-" : mine.nodes.begin()->first);
  }
  return compared;
}

}  // namespace berth::test
