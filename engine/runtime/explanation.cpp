#include "engine/runtime/explanation.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/text.h"
#include "engine/policy/feasibility.h"
#include "engine/policy/registry.h"
#include "engine/round/placer.h"
#include "engine/round/schedule.h"
#include "engine/runtime/round_driver.h"
#include "engine/store/names.h"

namespace berth {

namespace {

constexpr int kMostTasks = 100000;

std::string gpus(std::int64_t count) { return fmt::format("{} GPU{}", count, count == 1 ? "" : "s"); }
std::string nodes(std::int64_t count) { return fmt::format("{} node{}", print_count(count), count == 1 ? "" : "s"); }

std::string model_names(ModelSet models, const Cluster& cluster) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < cluster.models.size(); ++i) {
    if (((models >> i) & 1) != 0) names.push_back(cluster.models[i].name);
  }
  return names.empty() ? "no known model" : join(names, " or ");
}

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

// What the jobs ask of one node, the reason counted over `count` nodes, and what to do about it.
struct Said {
  std::string sentence;
  std::string next_step;
};

Said say_permanent(Reason reason, const TaskShape& shape, const Cluster& cluster) {
  const Largest largest = largest_nodes(cluster, shape);
  const std::string pool =
      shape.pool < 0 ? "" : fmt::format(" in pool {}", cluster.pools[static_cast<std::size_t>(shape.pool)]);
  switch (reason) {
    case Reason::kPool:
      return {fmt::format("no node is{}", pool), "ALTER NODES ... SET POOL, or submit the job for another pool"};
    case Reason::kNoDevice:
      return {fmt::format("a task asks for {} on one node; the largest node{} has {}", gpus(shape.gpu_count), pool,
                          gpus(largest.devices)),
              "submit it with fewer GPUs per task and more tasks"};
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

// Of the nodes that could run a task when empty, how many fail, as the subject or object of a sentence.
std::string share_of_nodes(std::int32_t failing, std::int32_t eligible) {
  if (eligible == 1) return "the one node that could run it";
  if (failing == eligible) return fmt::format("the {} nodes that could run it", print_count(eligible));
  return fmt::format("{} of the {} nodes that could run it", print_count(failing), print_count(eligible));
}

Said say_passing(Reason reason, const TaskShape& shape, std::int32_t failing, std::int32_t eligible) {
  const std::string share = share_of_nodes(failing, eligible);
  const std::string_view has = failing == 1 ? "has" : "have";
  switch (reason) {
    case Reason::kNodeNotUp:
      return {fmt::format("{} {} not up", share, failing == 1 ? "is" : "are"),
              "SHOW NODES; tells which, and RESUME NODE brings one back"};
    case Reason::kUnhealthyDevice:
      return {fmt::format("{} would have room but for devices marked unhealthy", share), "SHOW UNHEALTHY DEVICES;"};
    case Reason::kCpu:
      return {fmt::format("a task asks for {} CPU; {} {} less free", print_cpu(shape.cpu), share, has),
              "wait for tasks there to end, or submit it with less CPU per task"};
    case Reason::kMemory:
      return {fmt::format("a task asks for {} of memory; {} {} less free", print_memory(shape.memory), share, has),
              "wait for tasks there to end, or submit it with less memory per task"};
    case Reason::kGpu:
      if (shape.is_fraction()) {
        return {fmt::format("a task asks for {} of a GPU; {} {} no device with that much free",
                            print_gpu(shape.gpu_milli), share, has),
                "wait for running jobs to end, or submit it with a smaller fraction"};
      }
      return {fmt::format("a task asks for {} on one node; {} {} fewer free", gpus(shape.gpu_count), share, has),
              shape.gpu_count == 1 ? "wait for running jobs to end, or submit it as a fraction of a GPU"
                                   : "wait for running jobs to end, or submit it with fewer GPUs per task"};
    case Reason::kGpuFragmented:
      return {shape.is_fraction()
                  ? fmt::format("a task asks for {} of one GPU; {} {} that much free in total, but on no single device",
                                print_gpu(shape.gpu_milli), share, has)
                  : fmt::format("a task asks for {}; {} {} that much free in total, but in pieces",
                                gpus(shape.gpu_count), share, has),
              "wait for the fractions there to end, or submit it with fewer GPUs per task"};
    case Reason::kGpuMemory:
      return {fmt::format("{} {} devices with enough compute free, but too little memory left on them", share, has),
              "submit it with less device memory, or wait"};
    case Reason::kLinkGroup:
      return {fmt::format("{} {} enough free devices, but not inside one link group", share, has),
              "submit it WITH (locality = node), or wait"};
    default: return {std::string(reason_words(reason)), ""};
  }
}

bool is_permanent(Reason reason) { return reason >= Reason::kPool && reason <= Reason::kNodeTooSmall; }

std::string node_name(const Cluster& cluster, NodeIndex node) {
  return cluster.node_names[static_cast<std::size_t>(node)];
}

Result<std::string> group_name(Runtime& runtime, std::int64_t job, std::int32_t group) {
  BERTH_ASSIGN(Statement row,
               runtime.db().prepare("SELECT name FROM task_groups WHERE job_id = ?1 AND group_index = ?2"));
  row.with(job, group);
  if (!row.next()) return std::string("main");
  return std::string(row.text(0));
}

struct FoundJob {
  std::int64_t id = 0;
  std::string name;
  JobState state = JobState::kPending;
};

Result<FoundJob> look_up_job(Runtime& runtime, std::string_view name) {
  FoundJob job;
  BERTH_ASSIGN(job.id, find_job(runtime.db(), name));
  BERTH_ASSIGN(Statement row, runtime.db().prepare("SELECT name, state FROM jobs WHERE id = ?1"));
  row.with(job.id);
  if (!row.next()) return Status(Code::kNotFound, fmt::format("no job '{}'", name));
  job.name = row.text(0);
  BERTH_ASSIGN(job.state, read_job_state(row.text(1)));
  return job;
}

const Job* job_in(const Snapshot& snapshot, std::int64_t id) {
  const auto found =
      std::find_if(snapshot.jobs.begin(), snapshot.jobs.end(), [&](const Job& job) { return job.id == id; });
  return found == snapshot.jobs.end() ? nullptr : &*found;
}

// Its place among the waiting jobs, from 1.
Result<std::int64_t> place_in_order(const Snapshot& snapshot, const Job& job) {
  BERTH_ASSIGN(const std::unique_ptr<QueueOrder> policy, make_order(snapshot.order_policy));
  const std::vector<std::int32_t> order = policy->order({.now = snapshot.now,
                                                         .seed = snapshot.seed,
                                                         .jobs = snapshot.jobs,
                                                         .priority_classes = snapshot.priority_classes,
                                                         .queues = snapshot.queues,
                                                         .aging_interval = snapshot.aging_interval});
  std::int64_t place = 1;
  for (const std::int32_t index : order) {
    const Job& other = snapshot.jobs[static_cast<std::size_t>(index)];
    if (&other == &job) break;
    if (other.state == JobState::kPending) ++place;
  }
  return place;
}

// Whether the job would fit the cluster as it runs now, nobody else waiting.
Result<bool> fits_alone(const Snapshot& snapshot, const Job& job) {
  BERTH_ASSIGN(Ledger ledger, ledger_of(snapshot));
  const ScoreInput input{.cluster = &snapshot.cluster, .workload = snapshot.workload, .seed = snapshot.seed};
  BERTH_ASSIGN(const std::unique_ptr<NodeScore> score, make_score(snapshot.score_policy, input));
  return Placer(ledger, *score, {}, snapshot.seed).place_job(job).started;
}

void say_state(const FoundJob& job, JobExplanation& explanation) {
  explanation.sentence = job.state == JobState::kRunning ? std::string("all its tasks run")
                                                         : fmt::format("it is {}", job_state_name(job.state));
  if (job.state == JobState::kRunning) explanation.next_step = fmt::format("SHOW TASKS OF JOB {};", job.name);
  if (job.state == JobState::kHeld) {
    explanation.sentence = "it is held: no round looks at it";
    explanation.next_step = fmt::format("RELEASE JOB {};", job.name);
  }
}

void say_nodes(const ShapeExplanation& nodes_say, const TaskShape& shape, const Cluster& cluster,
               JobExplanation& explanation) {
  for (const ReasonCount& count : nodes_say.reasons) {
    const Said said = is_permanent(count.reason) || count.eligible_nodes == 0
                          ? Said{std::string(reason_words(count.reason)), ""}
                          : say_passing(count.reason, shape, count.eligible_nodes, nodes_say.eligible);
    explanation.reasons.push_back({.reason = count.reason,
                                   .nodes = count.nodes,
                                   .eligible_nodes = count.eligible_nodes,
                                   .sentence = count.reason == Reason::kNone ? "a task fits there" : said.sentence,
                                   .nearest_node = count.nearest < 0 ? "" : node_name(cluster, count.nearest),
                                   .lacks = describe_shortfall(count.lacks)});
  }
  if (nodes_say.nearest >= 0) {
    explanation.nearest_node = node_name(cluster, nodes_say.nearest);
    explanation.nearest_lacks = describe_shortfall(nodes_say.lacks);
  }
}

void say_waiting(const Waiting& waiting, const TaskGroup& group, const ShapeExplanation& nodes_say,
                 const Cluster& cluster, JobExplanation& explanation) {
  const TaskShape& shape = group.shape;
  explanation.reason = waiting.reason;
  Said said;
  if (waiting.reason == Reason::kGang) {
    said = {fmt::format("{} of the {} tasks that must start together ({} each) fit now", waiting.fits, waiting.needed,
                        describe_shape(shape, cluster)),
            "wait for running jobs to end, or submit it with a smaller min_tasks"};
  } else if (waiting.reason == Reason::kLocality) {
    said = {fmt::format("its {} tasks fit, but not within one {}", waiting.needed, locality_name(group.locality)),
            "submit it with a wider locality, or with preferred instead of required"};
  } else if (is_permanent(waiting.reason)) {
    said = say_permanent(waiting.reason, shape, cluster);
    explanation.sentence = fmt::format("it can never start on this cluster: {}", said.sentence);
    explanation.next_step = said.next_step;
    return;
  } else {
    std::int32_t failing = 0;
    for (const ReasonCount& count : nodes_say.reasons) {
      if (count.reason == waiting.reason) failing = count.eligible_nodes;
    }
    said = say_passing(waiting.reason, shape, failing, nodes_say.eligible);
  }
  explanation.sentence = said.sentence;
  explanation.next_step = said.next_step;
}

}  // namespace

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
    case Reason::kCpu: return "CPU in use";
    case Reason::kMemory: return "memory in use";
    case Reason::kGpu: return "GPUs in use";
    case Reason::kGpuFragmented: return "free GPU in pieces too small";
    case Reason::kGpuMemory: return "device memory in use";
    case Reason::kLinkGroup: return "free devices not in one link group";
    case Reason::kLocality: return "tasks do not fit close enough together";
    case Reason::kGang: return "not all tasks of the gang fit at once";
    case Reason::kOrder: return "jobs ahead of it take the room";
    case Reason::kReserved: return "the room is reserved for a job ahead of it";
    case Reason::kBlocked: return "a job ahead of it does not fit, and nobody passes it";
    case Reason::kQuota: return "the quota of its queue is in use";
    case Reason::kLimit: return "the limit of its queue is reached";
    case Reason::kLenderKeeps: return "what is idle is quota its owner does not lend";
    case Reason::kDependency: return "jobs it depends on have not finished";
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
  if (lacks.devices > 0) parts.push_back(gpus(lacks.devices));
  if (lacks.gpu > MilliGpu(0)) parts.push_back(print_gpu(lacks.gpu) + " of a GPU");
  if (lacks.gpu_memory > MiB(0)) parts.push_back(print_memory(lacks.gpu_memory) + " of device memory");
  if (lacks.cpu > MilliCpu(0)) parts.push_back(print_cpu(lacks.cpu) + " CPU");
  if (lacks.memory > MiB(0)) parts.push_back(print_memory(lacks.memory) + " of memory");
  return join(parts, " and ");
}

Result<JobExplanation> explain_job(Runtime& runtime, std::string_view name, const std::atomic<bool>* interrupted) {
  BERTH_ASSIGN(const FoundJob found, look_up_job(runtime, name));
  JobExplanation explanation;
  explanation.job = found.name;
  explanation.state = found.state;
  BERTH_ASSIGN(const Loaded loaded,
               load_for_planning(runtime, {.now = runtime.now(), .node_names = true, .also_job = std::nullopt}));
  const Snapshot& snapshot = loaded.snapshot;
  const Job* job = job_in(snapshot, found.id);
  if (job == nullptr) {
    say_state(found, explanation);
    return explanation;
  }

  BERTH_ASSIGN(const Planning planning, planning_of(snapshot));
  BERTH_ASSIGN(const ScheduleResult schedule,
               plan_schedule_on(snapshot, *planning.state, {.interrupted = interrupted}));
  const Ledger& ledger = planning.state->ledger();
  explanation.waiting = std::count_if(snapshot.jobs.begin(), snapshot.jobs.end(),
                                      [](const Job& waiting) { return waiting.state == JobState::kPending; });
  BERTH_ASSIGN(explanation.place, place_in_order(snapshot, *job));
  for (const Placement& placement : schedule.plan.placements) {
    if (placement.job != job->id) continue;
    explanation.placements.push_back(placement);
    explanation.placement_nodes.push_back(node_name(snapshot.cluster, placement.node));
  }
  if (!explanation.placements.empty()) {
    explanation.starts = true;
    std::vector<std::string> on = explanation.placement_nodes;
    on.erase(std::unique(on.begin(), on.end()), on.end());
    const std::size_t shown = std::min<std::size_t>(on.size(), 4);
    explanation.sentence = fmt::format(
        "the next round starts {} task{} of it on {}{}", explanation.placements.size(),
        explanation.placements.size() == 1 ? "" : "s",
        fmt::join(on.begin(), on.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
        on.size() > shown ? fmt::format(" and {} more", nodes(static_cast<std::int64_t>(on.size() - shown))) : "");
    explanation.next_step = "RUN SCHEDULE;";
    return explanation;
  }
  const auto waiting = std::find_if(schedule.plan.waiting.begin(), schedule.plan.waiting.end(),
                                    [&](const Waiting& w) { return w.job == job->id; });
  if (waiting == schedule.plan.waiting.end()) {
    explanation.sentence = "it runs with the tasks it needs; the rest of its tasks do not fit now";
    return explanation;
  }
  const TaskGroup& group = job->groups[static_cast<std::size_t>(waiting->group)];
  BERTH_ASSIGN(explanation.group, group_name(runtime, job->id, waiting->group));
  const ShapeExplanation nodes_say = explain_shape(ledger, group.shape);
  say_nodes(nodes_say, group.shape, snapshot.cluster, explanation);
  std::stable_partition(explanation.reasons.begin(), explanation.reasons.end(),
                        [&](const ReasonLine& line) { return line.reason == waiting->reason; });
  BERTH_ASSIGN(const bool alone, fits_alone(snapshot, *job));
  if (alone) {
    explanation.reason = Reason::kOrder;
    explanation.sentence = fmt::format(
        "it would fit the cluster as it runs now, but jobs ahead of it take the room: it is number {} of {} in the "
        "order",
        print_count(explanation.place), print_count(explanation.waiting));
    explanation.next_step = "wait, or submit it in a higher priority class";
  } else {
    say_waiting(*waiting, group, nodes_say, snapshot.cluster, explanation);
  }
  return explanation;
}

Result<NodeExplanation> explain_job_on_node(Runtime& runtime, std::string_view job_text, std::string_view node_text) {
  BERTH_ASSIGN(const FoundJob found, look_up_job(runtime, job_text));
  BERTH_ASSIGN(const std::int64_t node_id, find_id(runtime.db(), Thing::kNode, node_text));
  BERTH_ASSIGN(const Loaded loaded,
               load_for_planning(runtime, {.now = runtime.now(), .node_names = true, .also_job = found.id}));
  const Snapshot& snapshot = loaded.snapshot;
  const Job* job = job_in(snapshot, found.id);
  if (job == nullptr) return Status(Code::kInternal, fmt::format("job {} was not loaded", found.id));
  BERTH_ASSIGN(const Ledger ledger, ledger_of(snapshot));
  const auto at = std::find_if(snapshot.cluster.nodes.begin(), snapshot.cluster.nodes.end(),
                               [&](const Node& n) { return n.id == node_id; });
  const NodeIndex node = static_cast<NodeIndex>(at - snapshot.cluster.nodes.begin());

  NodeExplanation explanation;
  explanation.job = found.name;
  explanation.node = node_name(snapshot.cluster, node);
  for (std::size_t g = 0; g < job->groups.size(); ++g) {
    const TaskGroup& group = job->groups[g];
    NodeExplanation::Group answer;
    BERTH_ASSIGN(answer.name, group_name(runtime, job->id, static_cast<std::int32_t>(g)));
    answer.reason = reason_on_node(ledger, group.shape, node);
    answer.fits = ledger.accepts_tasks(node) ? copies_that_fit(ledger.view(node), group.shape, kMostTasks) : 0;
    const std::string lacks = describe_shortfall(shortfall_on(ledger.view(node), group.shape));
    answer.sentence =
        answer.reason == Reason::kNone
            ? fmt::format("a task ({}) fits there now", describe_shape(group.shape, snapshot.cluster))
            : fmt::format("a task ({}) does not fit: {}{}", describe_shape(group.shape, snapshot.cluster),
                          reason_words(answer.reason), lacks.empty() ? "" : fmt::format("; it lacks {}", lacks));
    explanation.groups.push_back(std::move(answer));
  }
  return explanation;
}

}  // namespace berth
