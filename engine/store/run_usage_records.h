// What the tasks of past runs used, as rows, and the right-sizing of new jobs by it.
//
// Use is known once per task group and run. Runs belong together when they are of the same group of the same tag and
// user with as many tasks and devices a task (another number of either is another work per task); jobs without a tag
// are never right-sized.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/policy/rightsizing.h"
#include "engine/store/catalog.h"
#include "engine/store/change.h"

namespace berth {

// 0 = the job has no tag.
std::int64_t recurrence_of(std::string_view tag, std::string_view user, std::string_view group, std::int64_t tasks,
                           std::int32_t devices);

// What the last run of a job used (sample.end is ignored: the run's counts). A job of one group need not name it. What
// was measured before and is not measured now is kept. kConflict when the job has not ended a run yet;
// kInvalid for a mean above its peak.
Status record_usage(Change& change, std::int64_t job, std::string_view group, const UsageSample& usage);

// The last `most` runs of a recurrence group, oldest first.
Result<std::vector<UsageSample>> usage_of(Database& db, std::int64_t recurrence, std::int64_t most);

// One task group about to be asked for.
struct GroupDemand {
  std::string_view tag;
  std::string_view user;
  std::string_view group;
  std::int64_t tasks = 1;
  TaskShape asked;
};

// Right-sizes groups by one policy, with the settings' parameters.
class GroupRightsizer {
 public:
  // `policy` by name (registry.h); `catalog` and `db` must outlive it.
  static Result<GroupRightsizer> open(Database& db, const Catalog& catalog, std::string_view policy, Seconds now);
  Result<Rightsizing> size(const GroupDemand& demand) const;
  const std::string& policy_name() const { return name_; }

 private:
  GroupRightsizer(Database& db, const Catalog& catalog) : db_(&db), catalog_(&catalog) {}
  Database* db_;
  const Catalog* catalog_;
  std::string name_;
  RightsizeKnobs knobs_;
  std::unique_ptr<RightsizePolicy> policy_;
  Seconds now_;
};

// What a group asked for where it was given less: kept beside task_groups.
Status keep_requested(Database& db, std::int64_t job, std::int64_t group_index, const TaskShape& asked,
                      std::string_view policy);
// The policy that gave the job less than it asked for; empty = none did.
Result<std::string> rightsized_by(Database& db, std::int64_t job);

}  // namespace berth
