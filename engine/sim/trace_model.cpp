#include "engine/sim/trace_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "engine/base/text.h"

namespace berth {

namespace {

// Index of `name`, added at the end when new.
std::int32_t index_of_name(std::vector<std::string>& names, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<std::int32_t>(found - names.begin());
  names.push_back(name);
  return static_cast<std::int32_t>(names.size() - 1);
}

// Device memory is a property of the node; the model's own is what its first node says.
Result<std::int32_t> index_of_model(Cluster& cluster, const TraceNode& node) {
  for (std::size_t m = 0; m < cluster.models.size(); ++m) {
    if (cluster.models[m].name == node.model) return static_cast<std::int32_t>(m);
  }
  if (cluster.models.size() == kMaxModels) {
    return Status(Code::kInvalid, fmt::format("{}: more than {} device models", node.place, kMaxModels)).about("nodes");
  }
  const std::int64_t id = static_cast<std::int64_t>(cluster.models.size()) + 1;
  cluster.models.push_back({id, node.model, node.device_memory});
  return static_cast<std::int32_t>(id - 1);
}

// Where no classes are given: an integer, or one of three names.
Result<std::int64_t> read_plain_priority(std::string_view text) {
  if (text == "low") return -10;
  if (text == "normal") return 0;
  if (text == "high") return 10;
  return read_scaled(text, 1, true);
}

}  // namespace

Result<Cluster> cluster_from(std::span<const TraceNode> nodes) {
  Cluster cluster;
  std::unordered_set<std::string_view> seen;
  for (const TraceNode& node : nodes) {
    if (!seen.insert(node.name).second) {
      return Status(Code::kInvalid, fmt::format("{}: the node name '{}' is given twice", node.place, node.name))
          .about("nodes");
    }
    NodeKind kind;
    kind.cpu = node.cpu;
    kind.memory = node.memory;
    kind.device_count = node.devices;
    if (node.devices > 0) {
      BERTH_ASSIGN(kind.model, index_of_model(cluster, node));
      kind.device_memory = node.device_memory;
      auto groups = read_link_groups(node.link_groups, node.devices);
      if (!groups.ok()) return std::move(groups).status().prefixed(node.place).about("nodes");
      kind.link_groups = *std::move(groups);
    }
    if (!node.pool.empty()) kind.pool = index_of_name(cluster.pools, node.pool);
    Node made{.id = static_cast<std::int64_t>(cluster.nodes.size()) + 1, .kind = cluster.add_kind(kind)};
    if (!node.rack.empty()) made.rack = index_of_name(cluster.racks, node.rack);
    cluster.nodes.push_back(made);
    cluster.node_names.push_back(node.name);
  }
  if (cluster.nodes.empty()) return Status(Code::kInvalid, "no nodes: a simulation needs at least one");
  return cluster;
}

std::string task_name(const TraceJob& job, std::size_t group, std::int32_t task) {
  const TraceTaskGroup& of = job.groups[group];
  if (job.groups.size() == 1) return of.tasks == 1 ? job.name : fmt::format("{}[{}]", job.name, task);
  return fmt::format("{}.{}[{}]", job.name, of.name, task);
}

std::string node_name(const Cluster& cluster, NodeIndex node) {
  const auto index = static_cast<std::size_t>(node);
  return cluster.node_names.empty() ? fmt::format("node {}", cluster.nodes[index].id) : cluster.node_names[index];
}

DurationFeatures features_of(const TraceJob& record) {
  std::string models;
  std::vector<TaskGroup> groups;
  groups.reserve(record.groups.size());
  for (const TraceTaskGroup& from : record.groups) {
    models += from.models + " + ";
    TaskGroup& group = groups.emplace_back();
    group.count = from.tasks;
    group.shape = {.cpu = from.cpu,
                   .memory = from.memory,
                   .gpu_count = from.gpu_count,
                   .gpu_milli = from.gpu_milli,
                   .gpu_memory = from.gpu_memory};
  }
  return {feature_of(record.tag), feature_of(record.user), feature_of(models), request_feature(groups)};
}

JobModeller::JobModeller(const Cluster& cluster, std::vector<Queue> queues, std::vector<PriorityClass> classes)
    : cluster_(&cluster),
      queues_(std::move(queues)),
      classes_(std::move(classes)),
      classes_are_given_(!classes_.empty()) {}

Result<Job> JobModeller::job_from(const TraceJob& record, std::int64_t id) {
  Job job;
  BERTH_TRY(fill_job(record, id, job));
  return job;
}

Status JobModeller::fill_job(const TraceJob& record, std::int64_t id, Job& job) {
  job.id = id;
  job.queue = queue_index(record.queue);
  job.eviction.preemptible = record.terms.preemptible;
  job.eviction.checkpoint_interval = record.terms.checkpoint_every.value_or(Seconds(0));
  job.eviction.checkpoint_grace = record.terms.checkpoint_grace;
  job.eviction.restart_cost = record.terms.restart_cost.value_or(Seconds(0));
  job.eviction.min_runtime = record.terms.min_runtime.value_or(Seconds(0));
  job.submit = record.submit;
  auto priority = class_index(record.priority);
  if (!priority.ok()) return std::move(priority).status().prefixed(record.place).about("jobs");
  job.priority_class = *priority;
  job.groups.reserve(record.groups.size());
  for (const TraceTaskGroup& group : record.groups) {
    auto shape = shape_from(group);
    if (!shape.ok()) return std::move(shape).status().prefixed(record.place).about("jobs");
    job.groups.push_back({.shape = *shape,
                          .count = group.tasks,
                          .min_tasks = group.min_tasks,
                          .locality = group.locality,
                          .locality_required = group.locality_required});
  }
  return {};
}

Result<TaskShape> JobModeller::shape_from(const TraceTaskGroup& group) const {
  TaskShape shape{.cpu = group.cpu,
                  .memory = group.memory,
                  .gpu_count = group.gpu_count,
                  .gpu_milli = group.gpu_milli,
                  .gpu_memory = group.gpu_memory};
  BERTH_ASSIGN(shape.models, models_from(group.models));
  if (!group.pool.empty()) {
    const auto found = std::find(cluster_->pools.begin(), cluster_->pools.end(), group.pool);
    shape.pool = static_cast<std::int32_t>(found - cluster_->pools.begin());  // one past the last = no node has it
  }
  return shape;
}

// A model that no node has is bit models.size(): it matches nothing, but the set is not empty, which would mean "any".
Result<ModelSet> JobModeller::models_from(std::string_view text) const {
  ModelSet models = 0;
  if (text.empty()) return models;
  bool has_unknown = false;
  for (const std::string_view part : split(text, '|')) {
    const std::string_view name = trim(part);
    if (name.empty()) continue;
    const auto found = std::find_if(cluster_->models.begin(), cluster_->models.end(),
                                    [&](const DeviceModel& model) { return model.name == name; });
    if (found == cluster_->models.end()) {
      has_unknown = true;
    } else {
      models |= ModelSet{1} << (found - cluster_->models.begin());
    }
  }
  if (models != 0 || !has_unknown) return models;
  if (cluster_->models.size() == kMaxModels) {
    return Status(Code::kInvalid, fmt::format("no node has device model '{}'", text));
  }
  return ModelSet{1} << cluster_->models.size();
}

std::int32_t JobModeller::queue_index(std::string_view name) {
  if (name.empty()) return -1;
  const auto found =
      std::find_if(queues_.begin(), queues_.end(), [&](const Queue& queue) { return queue.name == name; });
  if (found != queues_.end()) return static_cast<std::int32_t>(found - queues_.begin());
  queues_.push_back({.id = static_cast<std::int64_t>(queues_.size()) + 1, .name = std::string(name)});
  return static_cast<std::int32_t>(queues_.size() - 1);
}

Result<std::int32_t> JobModeller::class_index(std::string_view priority) {
  if (priority.empty()) return -1;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    if (classes_[i].name == priority) return static_cast<std::int32_t>(i);
    names.push_back(classes_[i].name);
  }
  const Result<std::int64_t> value = read_plain_priority(priority);
  if (!value.ok()) {
    if (classes_are_given_)
      return Status(Code::kInvalid, fmt::format("no priority class '{}'", priority), suggest(priority, names));
    return Status(Code::kInvalid, fmt::format("priority '{}' is not low, normal, high or an integer", priority));
  }
  std::int64_t last = 0;
  for (const PriorityClass& each : classes_) last = std::max(last, each.id);
  classes_.push_back({.id = last + 1, .name = std::string(priority), .value = *value});
  return static_cast<std::int32_t>(classes_.size() - 1);
}

Status WorkloadCounter::add(const JobModeller& modeller, const TraceJob& record) {
  for (const TraceTaskGroup& group : record.groups) {
    auto shape = modeller.shape_from(group);
    if (!shape.ok()) return std::move(shape).status().prefixed(record.place).about("jobs");
    const Key key{*shape, group.models};
    const auto [found, is_new] = index_of_.try_emplace(key, counted_.size());
    if (is_new) counted_.push_back({*shape, group.models, 0});
    counted_[found->second].weight += group.tasks;
  }
  return {};
}

std::vector<WorkloadShape> WorkloadCounter::typical() const {
  std::vector<WorkloadTask> tasks;
  tasks.reserve(counted_.size());
  for (const Counted& one : counted_) tasks.push_back({one.shape, one.models_text, one.weight});
  return typical_workload(tasks);
}

}  // namespace berth
