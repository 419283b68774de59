// What a job is told when it is submitted: how long it will probably run, and in queues that opted in to right-sizing,
// the amounts it really needs.
//
// One Admission serves a whole Change, however many jobs it submits.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/store/prediction_records.h"
#include "engine/store/run_usage_records.h"

namespace berth {

struct AskedGroup {
  std::string_view name;
  std::int64_t tasks = 1;
  TaskShape shape;
  std::string_view models;  // as the column has it, empty = any
};

struct Admitted {
  Prediction prediction;
  std::vector<TaskShape> given;  // of each group: as asked, or less
  std::string policy;            // that right-sized it; empty = none did
};

class Admission {
 public:
  // Both must outlive it.
  Admission(Change& change, const Catalog& catalog) : change_(&change), catalog_(&catalog) {}

  Result<Admitted> admit(std::int64_t queue, std::string_view tag, std::string_view user,
                         std::span<const AskedGroup> groups, Seconds time_limit);
  // Remembers what was asked where less was given; the job's task groups are in the tables by then.
  Status keep_requests(std::int64_t job, std::span<const AskedGroup> groups, const Admitted& admitted);

 private:
  Result<const GroupRightsizer*> rightsizer_of(std::int64_t queue);

  Change* change_;
  const Catalog* catalog_;
  std::optional<PredictionRecords> predictions_;
  std::map<std::int64_t, std::optional<GroupRightsizer>> rightsizers_;  // by queue; nothing = it has not opted in
};

}  // namespace berth
