// From a trace's names to the engine's model: a Cluster out of nodes, Jobs out of job records.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/model/snapshot.h"
#include "engine/policy/duration_predictor.h"
#include "engine/policy/workload.h"
#include "engine/sim/trace.h"

namespace berth {

// Nodes in file order with ids 1, 2, ...; models, pools and racks in order of first appearance. Errors name the
// record's place: a name given twice, link groups that do not fit the devices, too many models.
Result<Cluster> cluster_from(std::span<const TraceNode> nodes);

// "job", "job[2]" or "job.group[2]": how a task of a job is named in results.
std::string task_name(const TraceJob& job, std::size_t group, std::int32_t task);

// The node's name, or "node <id>" where the cluster has none.
std::string node_name(const Cluster& cluster, NodeIndex node);

// What durations are predicted by, of a record as it stands: any cluster, any database.
DurationFeatures features_of(const TraceJob& record);

// Turns job records into Jobs for one cluster, collecting queues and priority classes on the way.
class JobModeller {
 public:
  // A job's priority is the name of a class that is given (those of a database), an integer, or low (-10), normal (0),
  // high (10). Queues not given are added as they come. `cluster` must outlive this.
  explicit JobModeller(const Cluster& cluster, std::vector<Queue> queues = {}, std::vector<PriorityClass> classes = {});

  // The record as a pending job with this id. A device model or pool that the cluster does not have is not an error -
  // nothing fits there - as long as the cluster has fewer than kMaxModels models. kInvalid with the record's place
  // otherwise.
  Result<Job> job_from(const TraceJob& record, std::int64_t id);
  // The same into a job that is as new; memory that its groups have is used again.
  Status fill_job(const TraceJob& record, std::int64_t id, Job& job);
  Result<TaskShape> shape_from(const TraceTaskGroup& group) const;

  std::span<const Queue> queues() const { return queues_; }
  std::span<const PriorityClass> priority_classes() const { return classes_; }

 private:
  Result<ModelSet> models_from(std::string_view text) const;
  std::int32_t queue_index(std::string_view name);
  Result<std::int32_t> class_index(std::string_view priority);

  const Cluster* cluster_;
  std::vector<Queue> queues_;
  std::vector<PriorityClass> classes_;
  bool classes_are_given_;
};

// Counts the tasks of a trace into the typical workload (policy/workload.h) without keeping the trace.
class WorkloadCounter {
 public:
  Status add(const JobModeller& modeller, const TraceJob& record);
  std::vector<WorkloadShape> typical() const;

 private:
  struct Counted {
    TaskShape shape;
    std::string models_text;
    std::int64_t weight = 0;
  };
  struct Key {
    TaskShape shape;
    std::string models_text;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return TaskShapeHash()(key.shape) ^ std::hash<std::string>()(key.models_text);
    }
  };
  std::vector<Counted> counted_;  // in order of first appearance
  std::unordered_map<Key, std::size_t, KeyHash> index_of_;
};

}  // namespace berth
