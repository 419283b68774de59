// Adding, altering and dropping queues (a tree; only leaves hold jobs) and priority classes.
//
// Errors as in cluster_records.h. A queue with children or with jobs, waiting or ended, cannot be dropped; one with
// jobs cannot get children; a queue never becomes its own ancestor.
#pragma once

#include <optional>
#include <string>

#include "engine/store/change.h"

namespace berth {

struct QueueRequest {
  std::string name = {};
  std::string parent = {};  // empty = a root
};
struct QueueAlteration {
  std::optional<std::string> name = {};
  std::optional<std::string> parent = {};  // "" = becomes a root
};
Status add_queue(Change& change, const QueueRequest& request);
Status alter_queue(Change& change, const std::string& name, const QueueAlteration& alteration);
Status drop_queue(Change& change, const std::string& name);

constexpr std::int64_t kMostPriority = 1'000'000;  // and as far below 0
struct PriorityClassRequest {
  std::string name = {};
  std::int64_t value = 0;  // higher goes first
};
Status add_priority_class(Change& change, const PriorityClassRequest& request);
Status alter_priority_class(Change& change, const std::string& name, std::int64_t value);
Status drop_priority_class(Change& change, const std::string& name);

}  // namespace berth
