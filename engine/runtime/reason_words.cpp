#include "engine/runtime/reason_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/text.h"

namespace berth {

namespace {

// The most any node of the cluster, or of the allowed models and pool, has of something.
struct Largest {
  std::int32_t devices = 0;
  MiB device_memory;
  MilliCpu cpu;
  MiB memory;
};

Largest largest_nodes(const Cluster& cluster, const TaskShape& shape) {
  Largest largest;
  for (std::size_t n = 0; n < cluster.nodes.size(); ++n) {
    const NodeKind& kind = cluster.kind_of(n);
    if (shape.pool >= 0 && kind.pool != shape.pool) continue;
    if (shape.models != 0 && (kind.model < 0 || ((shape.models >> kind.model) & 1) == 0)) continue;
    largest.devices = std::max(largest.devices, kind.device_count);
    largest.device_memory = std::max(largest.device_memory, kind.device_memory);
    largest.cpu = std::max(largest.cpu, kind.cpu);
    largest.memory = std::max(largest.memory, kind.memory);
  }
  return largest;
}

// Of the nodes that could run a task when empty, how many fail, as the subject or object of a sentence.
std::string share_of_nodes(std::int32_t failing, std::int32_t eligible) {
  if (eligible == 1) return "the one node that could run it";
  if (failing == eligible) return fmt::format("the {} nodes that could run it", print_count(eligible));
  return fmt::format("{} of the {} nodes that could run it", print_count(failing), print_count(eligible));
}

}  // namespace

std::string count_gpus(std::int64_t count) { return fmt::format("{} GPU{}", count, count == 1 ? "" : "s"); }
std::string count_nodes(std::int64_t count) {
  return fmt::format("{} node{}", print_count(count), count == 1 ? "" : "s");
}

std::string model_names(ModelSet models, const Cluster& cluster) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < cluster.models.size(); ++i) {
    if (((models >> i) & 1) != 0) names.push_back(cluster.models[i].name);
  }
  return names.empty() ? "no known model" : join(names, " or ");
}

SaidReason say_permanent(Reason reason, const TaskShape& shape, const Cluster& cluster) {
  const Largest largest = largest_nodes(cluster, shape);
  const std::string pool =
      shape.pool < 0 ? "" : fmt::format(" in pool {}", cluster.pools[static_cast<std::size_t>(shape.pool)]);
  switch (reason) {
    case Reason::kPool:
      return {fmt::format("no node is{}", pool), "ALTER NODES ... SET POOL, or submit the job for another pool"};
    case Reason::kNoDevice:
      return {fmt::format("a task asks for {} on one node; the largest node{} has {}", count_gpus(shape.gpu_count),
                          pool, count_gpus(largest.devices)),
              largest.devices == 0 ? "add nodes with GPUs, or submit it without"
                                   : "submit it with fewer GPUs per task and more tasks"};
    case Reason::kDeviceModel:
      return {fmt::format("it allows only {}, and no node{} has that", model_names(shape.models, cluster), pool),
              "submit it with more device models allowed, or add such nodes"};
    case Reason::kDeviceMemory:
      return {fmt::format("a task asks for {} of device memory; the largest device{} has {}",
                          print_memory(shape.gpu_memory), pool, print_memory(largest.device_memory)),
              "submit it with less device memory, or as whole devices"};
    default:
      return {fmt::format("a task asks for {} CPU and {} on one node; the largest node{} has {} and {}",
                          print_cpu(shape.cpu), print_memory(shape.memory), pool, print_cpu(largest.cpu),
                          print_memory(largest.memory)),
              "submit it with less CPU or memory per task"};
  }
}

SaidReason say_passing(Reason reason, const TaskShape& shape, std::int32_t failing, std::int32_t eligible) {
  const std::string share = share_of_nodes(failing, eligible);
  const std::string_view has = failing == 1 ? "has" : "have";
  const std::string wait_for_jobs = "wait for running jobs to end";
  switch (reason) {
    case Reason::kNodeNotUp:
      return {fmt::format("{} {} not up", share, failing == 1 ? "is" : "are"), wait_for_jobs, Remedy::kResumeNodes};
    case Reason::kUnhealthyDevice:
      return {fmt::format("{} would have room but for devices marked unhealthy", share), "SHOW UNHEALTHY DEVICES;"};
    case Reason::kKeptOut:
      return {
          fmt::format("{} {} kept for something else that the cluster has planned, into which its time limit reaches",
                      share, failing == 1 ? "is" : "are"),
          "submit it with a shorter time_limit, or wait until that is over"};
    case Reason::kCpu:
      return {fmt::format("a task asks for {} CPU; {} {} less free", print_cpu(shape.cpu), share, has),
              "wait for tasks there to end", Remedy::kLessCpu};
    case Reason::kMemory:
      return {fmt::format("a task asks for {} of memory; {} {} less free", print_memory(shape.memory), share, has),
              "wait for tasks there to end", Remedy::kLessMemory};
    case Reason::kGpu:
      if (shape.is_fraction()) {
        return {fmt::format("a task asks for {} of a GPU; {} {} no device with that much free",
                            print_gpu(shape.gpu_milli), share, has),
                wait_for_jobs, Remedy::kSmallerFraction};
      }
      return {fmt::format("a task asks for {} on one node; {} {} fewer free", count_gpus(shape.gpu_count), share, has),
              wait_for_jobs, shape.gpu_count == 1 ? Remedy::kFraction : Remedy::kFewerGpus};
    case Reason::kGpuFragmented:
      return {shape.is_fraction()
                  ? fmt::format("a task asks for {} of one GPU; {} {} that much free in total, but on no single device",
                                print_gpu(shape.gpu_milli), share, has)
                  : fmt::format("a task asks for {}; {} {} that much free in total, but in pieces",
                                count_gpus(shape.gpu_count), share, has),
              "wait for the fractions there to end",
              shape.is_fraction()    ? Remedy::kSmallerFraction
              : shape.gpu_count == 1 ? Remedy::kFraction
                                     : Remedy::kFewerGpus};
    case Reason::kGpuMemory:
      return {fmt::format("{} {} devices with enough compute free, but too little memory left on them", share, has),
              wait_for_jobs, Remedy::kLessDeviceMemory};
    case Reason::kLinkGroup:
      return {fmt::format("{} {} enough free devices, but not inside one link group", share, has), wait_for_jobs,
              Remedy::kAnyLinkGroup};
    default: return {std::string(reason_words(reason)), ""};
  }
}

bool is_permanent(Reason reason) { return reason >= Reason::kPool && reason <= Reason::kNodeTooSmall; }

std::string_view reason_words(Reason reason) {
  switch (reason) {
    case Reason::kNone: return "fits";
    case Reason::kNodeNotUp: return "not up";
    case Reason::kPool: return "not in the pool asked for";
    case Reason::kNoDevice: return "too few devices on the node";
    case Reason::kDeviceModel: return "not an allowed device model";
    case Reason::kDeviceMemory: return "devices too small";
    case Reason::kNodeTooSmall: return "node too small";
    case Reason::kUnhealthyDevice: return "devices marked unhealthy";
    case Reason::kKeptOut: return "kept for something else that the cluster has planned";
    case Reason::kCpu: return "CPU in use";
    case Reason::kMemory: return "memory in use";
    case Reason::kGpu: return "GPUs in use";
    case Reason::kGpuFragmented: return "free GPU in pieces too small";
    case Reason::kGpuMemory: return "device memory in use";
    case Reason::kLinkGroup: return "free devices not in one link group";
    case Reason::kLocality: return "tasks do not fit close enough together";
    case Reason::kGang: return "not all tasks of the gang fit at once";
    case Reason::kOrder: return "jobs ahead of it take the room";
    case Reason::kReserved: return "the room is reserved, for it or for a job ahead of it";
    case Reason::kBlocked: return "a job ahead of it cannot start, and nobody passes it";
    case Reason::kQuota: return "the quota of its queue is in use";
    case Reason::kLimit: return "the limit of its queue is reached";
    case Reason::kLenderKeeps: return "what is idle is quota its owner does not lend";
    case Reason::kDependency: return "jobs it depends on have not finished";
    case Reason::kAssertion: return "starting it would break an assertion";
    case Reason::kPolicy: return "a policy holds it back";
  }
  return "";
}

std::string describe_shape(const TaskShape& shape, const Cluster& cluster) {
  std::vector<std::string> parts;
  const std::string model = shape.models == 0 ? "" : " " + model_names(shape.models, cluster);
  if (shape.is_fraction()) {
    parts.push_back(fmt::format("{} of {} GPU", print_gpu(shape.gpu_milli), model.empty() ? "a" : "one" + model));
    if (shape.gpu_memory != MiB(0)) parts.push_back(fmt::format("{} of its memory", print_memory(shape.gpu_memory)));
  } else if (shape.gpu_count > 0) {
    parts.push_back(fmt::format("{}{} GPU{}", shape.gpu_count, model, shape.gpu_count == 1 ? "" : "s"));
  }
  if (shape.cpu != MilliCpu(0)) parts.push_back(print_cpu(shape.cpu) + " CPU");
  if (shape.memory != MiB(0)) parts.push_back(print_memory(shape.memory));
  return parts.empty() ? "nothing" : join(parts, ", ");
}

std::string describe_shortfall(const Shortfall& lacks) {
  std::vector<std::string> parts;
  if (lacks.devices > 0) parts.push_back(count_gpus(lacks.devices));
  if (lacks.gpu > MilliGpu(0)) parts.push_back(print_gpu(lacks.gpu) + " of a GPU");
  if (lacks.gpu_memory > MiB(0)) parts.push_back(print_memory(lacks.gpu_memory) + " of device memory");
  if (lacks.cpu > MilliCpu(0)) parts.push_back(print_cpu(lacks.cpu) + " CPU");
  if (lacks.memory > MiB(0)) parts.push_back(print_memory(lacks.memory) + " of memory");
  return join(parts, " and ");
}

std::string describe_amount(const QuotaResource& resource, std::int64_t amount) {
  switch (resource.kind) {
    case ResourceKind::kCpu: return print_cpu(MilliCpu(amount)) + " CPU";
    case ResourceKind::kMemory: return print_memory(MiB(amount)) + " of memory";
    case ResourceKind::kGpu: break;
  }
  const std::string count = print_gpu(MilliGpu(amount));
  return resource.models == 0 ? fmt::format("{} GPU{}", count, amount == 1000 ? "" : "s")
                              : fmt::format("{} {}", count, resource.name);
}

std::string victim_choice_words(const Snapshot& snapshot, const Eviction& eviction) {
  if (eviction.rule == EvictionRule::kLoan) return "which run on what the loan lent";
  const std::string_view among = eviction.rule == EvictionRule::kPriority
                                     ? "jobs of lower classes in its queue"
                                     : "jobs that run beyond the quota of their queue";
  if (!snapshot.victim_policy.empty()) return fmt::format("chosen by {} among {}", snapshot.victim_policy, among);
  if (eviction.why == VictimChoiceReason::kLowestClass)
    return fmt::format("which is of the lowest class of the {}", among);
  if (eviction.why == VictimChoiceReason::kLeastForRoom) return fmt::format("whose room costs least, of the {}", among);
  return fmt::format("which loses least of the {}", among);
}

std::string why_victim_words(VictimChoiceReason why, std::int64_t candidates) {
  const std::string among = fmt::format("among {} that the rule allows", candidates);
  switch (why) {
    case VictimChoiceReason::kUnknown: return {};
    case VictimChoiceReason::kOnly: return candidates == 1 ? "the rule allows no other" : "all that the rule allows";
    case VictimChoiceReason::kLowestClass: return "of the lowest class " + among;
    case VictimChoiceReason::kLeastLost: return "loses least " + among;
    case VictimChoiceReason::kLeastForRoom: return "its nodes cost least to clear " + among;
    case VictimChoiceReason::kPolicy: return "chosen by the victim policy " + among;
    case VictimChoiceReason::kLoan: return "it runs on what the loan lent";
  }
  return {};
}

}  // namespace berth
