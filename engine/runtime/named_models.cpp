#include "engine/runtime/named_models.h"

#include <utility>
#include <vector>

#include "engine/base/text.h"

namespace berth {

namespace {

class NamedModelsReader : public JobReader {
 public:
  NamedModelsReader(const ModelFamilies& families, std::unique_ptr<JobReader> jobs)
      : families_(families), jobs_(std::move(jobs)) {}

  Result<bool> next(TraceJob& job) override {
    BERTH_ASSIGN(const bool has_one, jobs_->next(job));
    if (has_one) families_.name_models(job);
    return has_one;
  }

 private:
  const ModelFamilies& families_;
  std::unique_ptr<JobReader> jobs_;
};

}  // namespace

// A model goes before a family of its name.
Result<ModelFamilies> ModelFamilies::read(Database& db) {
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT family, name FROM device_models WHERE family IS NOT NULL AND family "
                                          "NOT IN (SELECT name FROM device_models) ORDER BY id"));
  ModelFamilies all;
  while (rows.next()) {
    std::string& models = all.families_[std::string(rows.text(0))];
    if (!models.empty()) models += '|';
    models += rows.text(1);
  }
  BERTH_TRY(rows.status());
  return all;
}

std::string ModelFamilies::models_of(std::string_view names) const {
  std::vector<std::string> models;
  for (const std::string_view name : split(names, '|')) {
    const auto family = families_.find(trim(name));
    models.emplace_back(family == families_.end() ? trim(name) : std::string_view(family->second));
  }
  return join(models, "|");
}

void ModelFamilies::name_models(TraceJob& job) const {
  if (families_.empty()) return;
  for (TraceTaskGroup& group : job.groups) {
    if (!group.models.empty()) group.models = models_of(group.models);
  }
}

std::unique_ptr<JobReader> ModelFamilies::name_models(std::unique_ptr<JobReader> jobs) const {
  if (families_.empty()) return jobs;
  return std::make_unique<NamedModelsReader>(*this, std::move(jobs));
}

}  // namespace berth
