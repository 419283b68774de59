#include "engine/store/admission.h"

namespace berth {

Result<const GroupRightsizer*> Admission::rightsizer_of(std::int64_t queue) {
  if (const auto found = rightsizers_.find(queue); found != rightsizers_.end()) {
    return found->second ? &*found->second : nullptr;
  }
  BERTH_ASSIGN(Statement row, change_->db().prepare("SELECT rightsizing FROM queues WHERE id = ?1"));
  std::string policy = "off";
  if (row.with(queue).next()) policy = row.text(0);
  BERTH_TRY(row.status());
  std::optional<GroupRightsizer>& rightsizer = rightsizers_[queue];
  if (policy == "off") return nullptr;
  BERTH_ASSIGN(rightsizer, GroupRightsizer::open(change_->db(), *catalog_, policy, change_->now()));
  return &*rightsizer;
}

Result<Admitted> Admission::admit(std::int64_t queue, std::string_view tag, std::string_view user,
                                  std::span<const AskedGroup> groups, Seconds time_limit) {
  if (!predictions_) {
    BERTH_ASSIGN(predictions_, PredictionRecords::open(change_->db()));
  }
  JobFeatures features{.tag = std::string(tag), .user = std::string(user), .models = {}, .request = {}};
  for (const AskedGroup& group : groups) features.add_group(group.tasks, group.shape, group.models);
  Admitted admitted;
  BERTH_ASSIGN(admitted.prediction, predictions_->predict(features, change_->now(), time_limit));
  for (const AskedGroup& group : groups) admitted.given.push_back(group.shape);
  if (tag.empty()) return admitted;
  BERTH_ASSIGN(const GroupRightsizer* rightsizer, rightsizer_of(queue));
  if (rightsizer == nullptr) return admitted;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const AskedGroup& group = groups[i];
    BERTH_ASSIGN(const Rightsizing sized, rightsizer->size({tag, user, group.name, group.tasks, group.shape}));
    if (sized.shape == group.shape) continue;
    admitted.given[i] = sized.shape;
    admitted.policy = rightsizer->policy_name();
  }
  return admitted;
}

Status Admission::keep_requests(std::int64_t job, std::span<const AskedGroup> groups, const Admitted& admitted) {
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (admitted.given[i] == groups[i].shape) continue;
    BERTH_TRY(keep_requested(change_->db(), job, static_cast<std::int64_t>(i), groups[i].shape, admitted.policy));
  }
  return {};
}

}  // namespace berth
