#include "engine/exec/slurm_pilot.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/failpoint.h"
#include "engine/base/text.h"

namespace berth {

namespace {

// In the background, in a session of its own, so that it outlives us; its words go to the launch's folder.
constexpr std::string_view kDetach = R"(setsid bash "$0/script" pilot "$@" >>"$0/slurm.out" 2>&1 </dev/null &)";

std::string step_arguments(const SlurmNodeNeed& need) {
  std::string words = fmt::format("--cpus-per-task={}", need.cpus);
  if (need.memory_mib > 0) words += fmt::format(" --mem={}", need.memory_mib);
  // Said for none too: a step gets all of its job's devices unless it names some.
  words += need.shards > 0 ? fmt::format(" --gres=shard:{}", need.shards)
           : need.gpus > 0 ? fmt::format(" --gres=gpu:{}", need.gpus)
                           : " --gres=none";
  return words;
}

}  // namespace

std::string slurm_pilot_name(const std::string& database, const std::string& node) {
  return fmt::format("berth-{}-pilot-{}", database, node);
}

Status SlurmPilots::read() {
  if (is_read_) return {};
  BERTH_ASSIGN(const SlurmListing listing, client_.jobs(false));
  const std::string prefix = pilot_name("");
  for (const SlurmJob& job : listing.jobs) {
    if (!job.name.starts_with(prefix) || is_slurm_end(job.state) || job.state == SlurmState::kEnding) continue;
    const bool may_hold_steps = job.state == SlurmState::kRunning && job.state_word != "SUSPENDED";
    (may_hold_steps ? running_ : waiting_)[job.name.substr(prefix.size())] = job.id;
  }
  is_read_ = true;
  return {};
}

Status SlurmPilots::submit_pilot(const std::string& node) {
  BERTH_ASSIGN(const std::vector<SlurmNode> nodes, client_.nodes(false));
  const auto row = std::ranges::find(nodes, node, &SlurmNode::name);
  if (row == nodes.end()) return Status(Code::kNotFound, fmt::format("Slurm has no node {}", node));
  // singleton: of two pilots of a node, should there ever be two, the second one waits.
  std::vector<std::string> words = {"sbatch",
                                    "--parsable",
                                    "--job-name=" + pilot_name(node),
                                    "--nodes=1",
                                    "--mem=0",
                                    "--nodelist=" + node,
                                    "--exclusive",
                                    "--chdir=/",
                                    "--ntasks=1",
                                    "--output=/dev/null",
                                    "--dependency=singleton",
                                    "--wrap=exec sleep infinity"};
  if (const SlurmGpus gpus = read_slurm_gres(row->gres); gpus.count > 0)
    words.push_back(fmt::format("--gres=gpu:{}", gpus.count));
  if (!options_.partition.empty()) words.push_back("--partition=" + options_.partition);
  words.insert(words.end(), options_.extra.begin(), options_.extra.end());
  words.push_back("--no-requeue");
  BERTH_ASSIGN(const ProcessOutput said, client_.submit(words));
  if (!said.ok()) return Status(Code::kUnavailable, said.complaint("sbatch"));
  BERTH_ASSIGN(waiting_[node], read_integer(trim(said.output)));
  return {};
}

Delivery SlurmPilots::start(const std::vector<SlurmComponent>& components, const SlurmLaunchFolder& folder) {
  if (const Status status = read(); !status.ok()) return {DeliveryState::kUnknown, "", status.message()};
  std::vector<std::string> words = {"bash", "-c", std::string(kDetach), folder.path()};
  std::vector<std::string> missing;
  for (const SlurmComponent& component : components) {
    for (const std::string& node : component.nodes) {
      const auto pilot = running_.find(node);
      if (pilot != running_.end()) {
        words.push_back(fmt::format("{}:{}:{}", node, pilot->second, step_arguments(component.need)));
        continue;
      }
      missing.push_back(node);
      if (waiting_.contains(node)) continue;
      if (const Status status = submit_pilot(node); !status.ok())
        return {DeliveryState::kUnknown, "", status.message()};
    }
  }
  if (!missing.empty())
    return {DeliveryState::kUnknown, "", fmt::format("waiting for the pilot job of {}", join(missing, ", "))};
  const auto said = client_.submit(words);
  if (!said.ok() || !said->ok())
    return {DeliveryState::kUnknown, "", said.ok() ? said->complaint("setsid") : said.status().message()};
  failpoint("mid_delivery");
  const std::int64_t pilot = running_.at(components.front().nodes.front());
  (void)folder.note_submission({pilot, wall_clock_ms()});
  return {DeliveryState::kDone, std::to_string(pilot), ""};
}

}  // namespace berth
