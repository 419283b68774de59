#include "engine/runtime/import_names.h"

#include "engine/base/text.h"
#include "engine/store/cluster_records.h"
#include "engine/store/queue_records.h"

namespace berth {

Status MissingNames::find(Thing thing, const std::string& name) {
  const Result<std::int64_t> found = find_id(change_.db(), thing, name);
  if (found.ok() || found.status().code() != Code::kNotFound) return found.status();
  BERTH_ASSIGN(const std::vector<std::string> some, names_of(change_.db(), thing, 1));
  const std::string near = some.empty() || found.status().hint().empty() ? "" : found.status().hint() + " ";
  return Status(Code::kNotFound, found.status().message(), near + "WITH (create_missing = true) makes it");
}

Status MissingNames::ensure_pool(const std::string& name) {
  return ensure(Thing::kPool, name, [&] { return add_pool(change_, name); });
}

Status MissingNames::ensure_queue(const std::string& name) {
  return ensure(Thing::kQueue, name, [&] { return add_queue(change_, {.name = name, .parent = ""}); });
}

Status MissingNames::ensure_priority_class(const std::string& name) {
  return ensure(Thing::kPriorityClass, name, [&]() -> Status {
    const Result<std::int64_t> value = read_integer(name);
    if (!value.ok() || *value > kMostPriority || *value < -kMostPriority) {
      return Status(Code::kNotFound, fmt::format("no priority class '{}'", name),
                    "CREATE PRIORITY CLASS makes one; a new class can be made here from a number only");
    }
    return add_priority_class(change_, {.name = name, .value = *value});
  });
}

namespace {

// What is wrong is the row, not the database or the machine.
bool is_bad_row(const Status& status) {
  switch (status.code()) {
    case Code::kInvalid:
    case Code::kNotFound:
    case Code::kExists:
    case Code::kConflict:
    case Code::kInfeasible: return true;
    default: return false;
  }
}

}  // namespace

RowErrors::RowErrors(const ImportOptions& options, ImportReport& report, std::vector<Status> unreadable)
    : options_(options), report_(report), bad_(std::move(unreadable)) {
  for (const Status& status : bad_) report_.skipped.push_back(status.message());
}

Status RowErrors::verdict() const { return options_.skip_bad_rows || bad_.empty() ? Status() : as_one_error(bad_); }

Status RowErrors::take(Status status, const std::string& place) {
  if (options_.interrupted != nullptr && options_.interrupted->load(std::memory_order_relaxed))
    return Status(Code::kInterrupted, "the import was interrupted; nothing changed");
  if (status.ok()) return {};
  const bool bad = is_bad_row(status);
  status = std::move(status).prefixed(place);
  if (!bad) return status;
  report_.skipped.push_back(status.message());
  bad_.push_back(std::move(status));
  return {};
}

TaskGroupRequest group_request(const TraceTaskGroup& group) {
  TaskGroupRequest request;
  request.name = group.name;
  request.count = group.tasks;
  request.min_tasks = group.min_tasks;
  request.cpu = group.cpu;
  request.memory = group.memory;
  request.gpu_count = group.gpu_count;
  if (group.gpu_count > 0) request.gpu_milli = group.gpu_milli;
  request.gpu_memory = group.gpu_memory;
  if (!group.models.empty()) {
    for (const std::string_view model : split(group.models, '|')) {
      if (!trim(model).empty()) request.models.emplace_back(trim(model));
    }
  }
  request.pool = group.pool;
  request.locality = group.locality;
  request.locality_required = group.locality_required;
  return request;
}

}  // namespace berth
