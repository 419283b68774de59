#include "engine/runtime/admit_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/base/text.h"
#include "engine/lua/hook_views.h"
#include "engine/lua/script_admit.h"
#include "engine/model/quota_ledger.h"
#include "engine/store/load_quotas.h"
#include "engine/store/policy_records.h"
#include "engine/store/settings.h"
#include "engine/store/totals.h"

namespace berth {

namespace {

ScriptValue text_value(std::string_view text) { return ScriptValue{std::string(text)}; }
ScriptValue number_value(std::int64_t number) { return ScriptValue{number}; }

ScriptValue group_value(const TaskGroupRequest& group) {
  ScriptTable models;
  for (const std::string& model : group.models) models.items.push_back(text_value(model));
  ScriptTable table;
  table.fields = {{"cpu_milli", number_value(group.cpu.value())},
                  {"gpu_memory_mib", number_value(group.gpu_memory.value())},
                  {"gpus", number_value(group.gpu_count)},
                  {"locality", text_value(locality_name(group.locality))},
                  {"memory_mib", number_value(group.memory.value())},
                  {"milli", number_value(group.gpu_count > 0 ? group.gpu_milli.value() : 0)},
                  {"min_tasks", number_value(group.min_tasks.value_or(group.count))},
                  {"models", ScriptValue{std::move(models)}},
                  {"name", text_value(group.name)},
                  {"pool", text_value(group.pool)},
                  {"tasks", number_value(group.count)}};
  return ScriptValue{std::move(table)};
}

ScriptValue job_value(const JobRequest& request, const std::string& actor) {
  ScriptTable groups;
  std::int64_t milli = 0;
  for (const TaskGroupRequest& group : request.groups) {
    groups.items.push_back(group_value(group));
    milli += group.gpu_count * (group.gpu_count > 0 ? group.gpu_milli.value() : 0) * group.count;
  }
  ScriptTable table;
  table.fields = {{"groups", ScriptValue{std::move(groups)}},
                  {"held", ScriptValue{request.held}},
                  {"name", text_value(request.name)},
                  {"priority_class", text_value(request.priority_class)},
                  {"queue", text_value(request.queue)},
                  {"tag", text_value(request.tag)},
                  {"time_limit", number_value(request.time_limit.value())},
                  {"total_milli", number_value(milli)},
                  {"user", text_value(request.user.empty() ? actor : request.user)}};
  return ScriptValue{std::move(table)};
}

// Reads the fields of a table that a script gave back: every one is known and of its type.
class GivenFields {
 public:
  GivenFields(const ScriptTable& table, std::string where) : table_(table), where_(std::move(where)) {}

  GivenFields& text(std::string_view name, std::string& value) {
    if (const auto* given = take<std::string>(name, "a text")) value = *given;
    return *this;
  }
  GivenFields& flag(std::string_view name, bool& value) {
    if (const auto* given = take<bool>(name, "true or false")) value = *given;
    return *this;
  }
  // Whole, not negative; 4.0 is 4.
  template <class Value, class Make>
  GivenFields& number(std::string_view name, Value& value, Make make) {
    names_.emplace_back(name);
    const ScriptValue* const found = table_.find(name);
    if (found == nullptr) return *this;
    const auto* real = found->get<double>();
    const auto* integer = found->get<std::int64_t>();
    if (real != nullptr && std::floor(*real) == *real && *real >= 0 && *real < 1e15) {
      value = make(static_cast<std::int64_t>(*real));
    } else if (integer != nullptr && *integer >= 0) {
      value = make(*integer);
    } else {
      fail(name, "a whole number, not negative", *found);
    }
    return *this;
  }
  const ScriptTable* table(std::string_view name) { return take<ScriptTable>(name, "a table"); }
  // Fields that may stand there and are not read back.
  GivenFields& ignore(std::string_view name) {
    names_.emplace_back(name);
    return *this;
  }
  Status status() {
    if (!status_.ok()) return status_;
    if (!table_.items.empty() && !names_.empty())
      return Status(Code::kInvalid, fmt::format("{}: unexpected list", where_));
    for (const ScriptField& field : table_.fields) {
      if (std::ranges::find(names_, field.name) != names_.end()) continue;
      return Status(Code::kInvalid, fmt::format("{} has no field '{}'", where_, field.name),
                    suggest(field.name, names_));
    }
    return {};
  }

 private:
  template <class T>
  const T* take(std::string_view name, std::string_view expected) {
    names_.emplace_back(name);
    const ScriptValue* const found = table_.find(name);
    if (found == nullptr) return nullptr;
    const T* const value = found->get<T>();
    if (value == nullptr) fail(name, expected, *found);
    return value;
  }
  void fail(std::string_view name, std::string_view expected, const ScriptValue& found) {
    if (status_.ok())
      status_ = Status(Code::kInvalid,
                       fmt::format("{}.{}: expected {}, found {}", where_, name, expected, found.type_name()));
  }

  const ScriptTable& table_;
  std::string where_;
  std::vector<std::string> names_;
  Status status_;
};

Status read_models(const ScriptTable& models, std::vector<std::string>& names) {
  names.clear();
  for (const ScriptValue& model : models.items) {
    const std::string* const name = model.get<std::string>();
    if (name == nullptr) return Status(Code::kInvalid, "models is a list of names");
    names.push_back(*name);
  }
  return {};
}

Status read_group(const ScriptValue& given, const std::string& where, TaskGroupRequest& group) {
  const auto* const table = given.get<ScriptTable>();
  if (table == nullptr) return Status(Code::kInvalid, fmt::format("{}: expected a table", where));
  GivenFields fields(*table, where);
  const auto plain = [](std::int64_t value) { return value; };
  std::string locality(locality_name(group.locality));
  std::int64_t min_tasks = group.min_tasks.value_or(group.count);
  const bool had_all = min_tasks == group.count;
  fields.number("cpu_milli", group.cpu, [](std::int64_t value) { return MilliCpu(value); })
      .number("gpu_memory_mib", group.gpu_memory, [](std::int64_t value) { return MiB(value); })
      .number("gpus", group.gpu_count, plain)
      .text("locality", locality)
      .number("memory_mib", group.memory, [](std::int64_t value) { return MiB(value); })
      .number("milli", group.gpu_milli, [](std::int64_t value) { return value == 0 ? kWholeDevice : MilliGpu(value); })
      .number("min_tasks", min_tasks, plain)
      .text("name", group.name)
      .text("pool", group.pool)
      .number("tasks", group.count, plain);
  if (const ScriptTable* const models = fields.table("models")) BERTH_TRY(read_models(*models, group.models));
  BERTH_TRY(fields.status());
  BERTH_ASSIGN(group.locality, read_locality(locality));
  // A gang that was all of the tasks stays that when there are fewer.
  if (min_tasks != group.count || !had_all) group.min_tasks = std::min(min_tasks, group.count);
  return {};
}

Status read_job(const ScriptTable& table, JobRequest& request) {
  GivenFields fields(table, "job");
  fields.flag("held", request.held)
      .text("name", request.name)
      .text("priority_class", request.priority_class)
      .text("queue", request.queue)
      .text("tag", request.tag)
      .number("time_limit", request.time_limit, [](std::int64_t value) { return Seconds(value); })
      .ignore("total_milli")
      .ignore("user");
  const ScriptTable* const groups = fields.table("groups");
  BERTH_TRY(fields.status());
  if (groups == nullptr) return {};
  if (groups->items.empty()) return Status(Code::kInvalid, "job.groups: expected at least one group");
  const std::vector<TaskGroupRequest> before = std::move(request.groups);
  request.groups.clear();
  for (std::size_t i = 0; i < groups->items.size(); ++i) {
    TaskGroupRequest group = i < before.size() ? before[i] : TaskGroupRequest{};
    BERTH_TRY(read_group(groups->items[i], fmt::format("job.groups[{}]", i + 1), group));
    request.groups.push_back(std::move(group));
  }
  return {};
}

// Sums over the tables, by queue: what its live jobs hold and how many wait.
Result<ScriptTable> queues_value(Database& db, Seconds now) {
  BERTH_ASSIGN(const QuotaState state, load_quotas(db, now));
  const Cluster none;
  const QuotaLedger quotas(none, state.queues, state.quotas, now);
  std::size_t gpus = 0;
  while (gpus < quotas.resource_count() &&
         !(quotas.resource(gpus).kind == ResourceKind::kGpu && quotas.resource(gpus).models == 0)) {
    ++gpus;
  }
  BERTH_ASSIGN(Statement row,
               db.prepare("SELECT (SELECT count(*) FROM jobs WHERE queue_id = ?1 AND state = 'pending'), "
                          "(SELECT count(*) FROM jobs WHERE queue_id = ?1 AND state = 'running'), "
                          "(SELECT coalesce(sum(gpu_milli), 0) FROM queue_use WHERE queue_id = ?1)"));
  ScriptTable queues;
  for (std::size_t i = 0; i < state.queues.size(); ++i) {
    const auto index = static_cast<std::int32_t>(i);
    const bool has_row = row.with(state.queues[i].id).next();
    BERTH_TRY(row.status());
    const bool has_quota = gpus < quotas.resource_count() && quotas.terms(index, gpus).has_quota;
    ScriptTable queue;
    queue.fields = {{"pending_jobs", number_value(has_row ? row.integer(0) : 0)},
                    {"quota_milli", number_value(has_quota ? quotas.quota(index, gpus) : -1)},
                    {"running_jobs", number_value(has_row ? row.integer(1) : 0)},
                    {"used_milli", number_value(has_row ? row.integer(2) : 0)}};
    queues.fields.push_back({state.queues[i].name, ScriptValue{std::move(queue)}});
  }
  std::ranges::sort(queues.fields, {}, &ScriptField::name);
  return queues;
}

Result<ScriptValue> view_value(Change& change) {
  BERTH_ASSIGN(ScriptTable queues, queues_value(change.db(), change.now()));
  BERTH_ASSIGN(const ClusterTotals totals, cluster_totals(change.db()));
  const TimeOfDay time = time_of_day(change.now());
  std::vector<ScriptField> models;
  for (const TypeTotals& type : totals.types) {
    if (type.device_model.empty()) continue;
    const auto known = std::ranges::find(models, type.device_model, &ScriptField::name);
    const std::int64_t before = known == models.end() ? 0 : *known->value.get<std::int64_t>();
    if (known != models.end()) models.erase(known);
    models.push_back({type.device_model, number_value(before + type.devices_free)});
  }
  std::ranges::sort(models, {}, &ScriptField::name);
  ScriptTable view;
  view.fields = {{"devices", number_value(totals.all.devices)},
                 {"free_devices", number_value(totals.all.devices_free)},
                 {"free_devices_of", ScriptValue{ScriptTable{.items = {}, .fields = std::move(models)}}},
                 {"hour", number_value(time.hour)},
                 {"minute", number_value(time.minute)},
                 {"now", number_value(change.now().value())},
                 {"pending_jobs", number_value(totals.jobs_pending)},
                 {"queues", ScriptValue{std::move(queues)}},
                 {"running_jobs", number_value(totals.jobs_running)},
                 {"used_milli", number_value(totals.all.gpu_used.value())},
                 {"weekday", number_value(time.weekday)}};
  return ScriptValue{std::move(view)};
}

void count_one_more(ScriptValue& value, std::string_view field) {
  auto* const table = std::get_if<ScriptTable>(&value.value);
  if (table == nullptr) return;
  const auto found = std::ranges::find(table->fields, field, &ScriptField::name);
  if (found == table->fields.end()) return;
  if (auto* const number = std::get_if<std::int64_t>(&found->value.value)) ++*number;
}

}  // namespace

struct AdmitPolicy::Impl {
  ScriptPolicy script;
  ScriptValue view;
  std::string actor;
};

AdmitPolicy::AdmitPolicy(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
AdmitPolicy::AdmitPolicy(AdmitPolicy&&) noexcept = default;
AdmitPolicy::~AdmitPolicy() = default;

Result<AdmitPolicy> AdmitPolicy::make(Change& change) {
  BERTH_ASSIGN(const Settings settings, read_settings(change.db()));
  const std::string& name = settings.admit_policy;
  if (name.empty()) return AdmitPolicy(nullptr);
  BERTH_ASSIGN(std::vector<ScriptPolicy> scripts, read_scripts(change.db(), {name}));
  if (scripts.empty())
    return Status(Code::kInvalid, fmt::format("admit policy {} does not exist", name), "RESET admit_policy");
  BERTH_ASSIGN(ScriptValue view, view_value(change));
  return AdmitPolicy(std::make_unique<Impl>(Impl{std::move(scripts.front()), std::move(view), change.actor()}));
}

Status AdmitPolicy::admit(JobRequest& request) const {
  if (impl_ == nullptr) return {};
  const std::string where = fmt::format("admit policy {}", impl_->script.name);
  const std::string hint = "while it fails nothing is submitted: ALTER POLICY, or RESET admit_policy";
  Result<AdmitAnswer> answer = ask_admit(impl_->script, job_value(request, impl_->actor), impl_->view);
  if (!answer.ok()) return std::move(answer).status().prefixed(where + " failed").with_hint(hint);
  if (!answer->refusal.empty()) return Status(Code::kInvalid, fmt::format("{} refuses it: {}", where, answer->refusal));
  Status read = read_job(answer->job, request);
  if (!read.ok()) return std::move(read).prefixed(where + " failed").with_hint(hint);
  return {};
}

void AdmitPolicy::note(const JobRequest& request) {
  if (impl_ == nullptr || request.held) return;
  count_one_more(impl_->view, "pending_jobs");
  auto* const view = std::get_if<ScriptTable>(&impl_->view.value);
  const auto queues = std::ranges::find(view->fields, "queues", &ScriptField::name);
  auto* const table = std::get_if<ScriptTable>(&queues->value.value);
  const auto queue = std::ranges::find(table->fields, request.queue, &ScriptField::name);
  if (queue != table->fields.end()) count_one_more(queue->value, "pending_jobs");
}

}  // namespace berth
