// Device models that a file of jobs names: families of the database stand for their models, as in SUBMIT JOB.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "engine/base/status.h"
#include "engine/sim/trace.h"
#include "engine/store/sqlite.h"

namespace berth {

class ModelFamilies {
 public:
  ModelFamilies() = default;  // none
  static Result<ModelFamilies> read(Database& db);

  // "amp|T4" to "A100|A30|T4".
  std::string models_of(std::string_view names) const;
  void name_models(TraceJob& job) const;
  // The same jobs with their models named. This must outlive it.
  std::unique_ptr<JobReader> name_models(std::unique_ptr<JobReader> jobs) const;

 private:
  std::map<std::string, std::string, std::less<>> families_;  // the models of each, as a file names them
};

}  // namespace berth
