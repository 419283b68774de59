// Readers of what other programs print - Slurm, kubectl, nvidia-smi - and of our own records of local tasks: any bytes
// give values within their bounds, or an error that says something.
#include <fstream>

#include "engine/exec/kubernetes_node.h"
#include "engine/exec/kubernetes_pod.h"
#include "engine/exec/local_record.h"
#include "engine/exec/nvidia_smi.h"
#include "engine/exec/slurm_accounts.h"
#include "engine/exec/slurm_hostlist.h"
#include "engine/exec/slurm_jobs.h"
#include "engine/exec/slurm_nodes.h"
#include "tests/fuzz/fuzz.h"

using berth::test::promise;

namespace {

template <class T>
bool is_read(const berth::Result<T>& result, std::string_view text) {
  promise(result.ok() || !result.status().message().empty(), "an error says what is wrong", text);
  return result.ok();
}

void look_at_slurm(std::string_view text) {
  for (const berth::SlurmJob& job : berth::read_squeue(text)) promise(job.id > 0, "a job has a number", text);
  (void)berth::read_squeue_steps(text);
  (void)berth::read_sacct(text);
  for (const berth::SlurmHolding& holding : berth::read_slurm_holdings(text))
    promise(holding.cpus >= 0 && holding.gpus >= 0 && holding.memory >= berth::MiB(0),
            "a job holds no less than nothing", text);
  promise(berth::read_slurm_gres(text).count >= 0, "devices are counted from 0", text);
  for (const berth::SlurmNode& node : berth::read_sinfo(text)) {
    promise(!node.name.empty() && node.cpus >= 0 && node.memory >= berth::MiB(0), "a node has a name and amounts",
            text);
    (void)berth::judge_slurm_node(node, "berth-1");
    const berth::InventoryNode inventory = berth::slurm_inventory_node(node, "gpu", "berth-1");
    promise(inventory.name == node.name, "a node keeps its name", text);
  }
  (void)berth::read_slurm_switches(text);
  (void)berth::read_slurm_associations(text);
  for (const auto& [name, amount] : berth::read_slurm_amounts(text)) promise(amount >= 0, "no amount is below 0", text);
  if (const auto duration = berth::read_slurm_duration(text))
    promise(*duration >= berth::Seconds(0), "no time runs back", text);
  constexpr std::size_t kMost = 500;
  const auto names = berth::expand_slurm_hostlist(text, kMost);
  if (is_read(names, text)) promise(names->size() <= kMost, "a host list keeps its bound", text);
}

void look_at_kubernetes(std::string_view text) {
  const auto nodes = berth::read_kubernetes_nodes(text, berth::KubernetesSettings{}, "berth-1");
  if (is_read(nodes, text)) {
    for (const berth::KubernetesNode& node : *nodes)
      promise(node.inventory.cpu >= berth::MilliCpu(0) && node.inventory.memory >= berth::MiB(0), "amounts of a node",
              text);
  }
  const auto pods = berth::read_kubernetes_pods(text, "nvidia.com/gpu");
  if (!is_read(pods, text)) return;
  for (const berth::KubernetesPod& pod : *pods) (void)berth::observe_pod(pod, {});
}

void look_at_record(std::string_view text) {
  static const berth::test::FuzzFolder folder;
  for (const char* const name : {"record", "control"})
    std::ofstream(folder.path(name), std::ios::binary | std::ios::trunc) << text;
  (void)is_read(berth::read_record(folder.path()), text);
  std::size_t offset = 0;
  (void)berth::read_requests(folder.path(), offset);
  promise(offset <= text.size(), "a reader stays within its file", text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = berth::test::as_text(data, size);
  look_at_slurm(text);
  look_at_kubernetes(text);
  (void)is_read(berth::read_nvidia_smi(text), text);
  (void)berth::short_model_name(text);
  look_at_record(text);
  return 0;
}
