#include "engine/runtime/policy_fixture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/base/text.h"

namespace berth {

namespace {

constexpr std::int64_t kFixtureTime = 1767225600;  // 2026-01-01 00:00:00

Status unknown_word(std::string_view what, std::string_view word, const std::vector<std::string>& known) {
  std::string hint = suggest(word, known);
  if (hint.empty()) hint = known.empty() ? "there is none" : "expected one of " + join(known, ", ");
  return Status(Code::kInvalid, fmt::format("{} '{}'", what, word), std::move(hint));
}

// Fields of a table, each asked for by name; what was not asked for is unknown.
class FixtureFields {
 public:
  FixtureFields(const ScriptTable& table, std::string what) : table_(table), what_(std::move(what)) {}

  Result<double> number(std::string_view name, double other) {
    const ScriptValue* const value = take(name);
    if (value == nullptr) return other;
    if (const auto* integer = value->get<std::int64_t>()) return static_cast<double>(*integer);
    if (const auto* real = value->get<double>()) return *real;
    return wrong(name, "a number", *value);
  }
  Result<std::string> text(std::string_view name) {
    const ScriptValue* const value = take(name);
    if (value == nullptr) return std::string();
    if (const auto* text = value->get<std::string>()) return *text;
    return wrong(name, "a text", *value);
  }
  Result<ScriptTable> table(std::string_view name) {
    const ScriptValue* const value = take(name);
    if (value == nullptr) return ScriptTable{};
    if (const auto* table = value->get<ScriptTable>()) return *table;
    return wrong(name, "a table", *value);
  }
  Result<MiB> memory(std::string_view name, MiB other) {
    BERTH_ASSIGN(const std::string written, text(name));
    if (written.empty()) return other;
    return read_memory(written);
  }
  Status all_known() const {
    for (const ScriptField& field : table_.fields) {
      if (std::ranges::find(names_, field.name) == names_.end())
        return unknown_word(fmt::format("a {} has no field", what_), field.name, names_);
    }
    return {};
  }

 private:
  const ScriptValue* take(std::string_view name) {
    names_.emplace_back(name);
    return table_.find(name);
  }
  Status wrong(std::string_view name, std::string_view expected, const ScriptValue& found) const {
    return Status(Code::kInvalid,
                  fmt::format("{} of a {}: expected {}, found {}", name, what_, expected, found.type_name()));
  }

  const ScriptTable& table_;
  std::string what_;
  std::vector<std::string> names_;
};

std::int32_t index_of(std::vector<std::string>& names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  const auto index = static_cast<std::int32_t>(found - names.begin());
  if (found == names.end()) names.emplace_back(name);
  return index;
}

}  // namespace

PolicyFixture::PolicyFixture() { snapshot_.now = Seconds(kFixtureTime); }

void PolicyFixture::set_now(Seconds now) {
  for (Job& job : snapshot_.jobs) job.submit = now - (snapshot_.now - job.submit);
  snapshot_.now = now;
}

std::int32_t PolicyFixture::model_index(std::string_view name) {
  std::vector<DeviceModel>& models = snapshot_.cluster.models;
  const auto found = std::ranges::find(models, name, &DeviceModel::name);
  if (found != models.end()) return static_cast<std::int32_t>(found - models.begin());
  models.push_back({.id = static_cast<std::int64_t>(models.size()) + 1, .name = std::string(name), .memory = MiB(0)});
  return static_cast<std::int32_t>(models.size()) - 1;
}

std::int32_t PolicyFixture::queue_index(std::string_view name) {
  if (name.empty()) return -1;
  std::vector<Queue>& queues = snapshot_.queues;
  const auto found = std::ranges::find(queues, name, &Queue::name);
  if (found != queues.end()) return static_cast<std::int32_t>(found - queues.begin());
  Queue& queue = queues.emplace_back();
  queue.id = static_cast<std::int64_t>(queues.size());
  queue.name = name;
  return static_cast<std::int32_t>(queues.size()) - 1;
}

Status PolicyFixture::add_nodes(std::string_view text) {
  std::vector<std::string_view> words;
  for (const std::string_view word : split(text, ' ')) {
    if (!word.empty()) words.push_back(word);
  }
  if (words.empty()) return Status(Code::kInvalid, "expected nodes, as in \"4x8:A100 pool=train\"");
  const std::vector<std::string_view> size = split(words.front(), 'x');
  const std::vector<std::string_view> model = split(size.size() == 2 ? size[1] : std::string_view(), ':');
  const Result<std::int64_t> count = read_integer(size.front());
  const Result<std::int64_t> devices = read_integer(model.front());
  if (size.size() != 2 || model.size() > 2 || !count.ok() || !devices.ok() || *count < 1 || *count > 10000 ||
      *devices < 0 || *devices > kMaxDevices)
    return Status(Code::kInvalid,
                  fmt::format("'{}': expected <count>x<devices>[:<model>], as in 4x8:A100", words.front()));
  NodeKind kind;
  kind.device_count = static_cast<std::int32_t>(*devices);
  kind.cpu = MilliCpu(*devices == 0 ? 64000 : *devices * 8000);
  kind.memory = MiB(*devices == 0 ? 256 * 1024 : *devices * 64 * 1024);
  if (*devices > 0) kind.model = model_index(model.size() == 2 ? model[1] : "GPU");
  std::int32_t rack = -1;
  for (const std::string_view word : std::span(words).subspan(1)) {
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    const std::string_view value = equals == std::string_view::npos ? std::string_view() : word.substr(equals + 1);
    if (name == "pool") {
      kind.pool = index_of(snapshot_.cluster.pools, value);
    } else if (name == "rack") {
      rack = index_of(snapshot_.cluster.racks, value);
    } else if (name == "cpu") {
      BERTH_ASSIGN(kind.cpu, read_cpu(value));
    } else if (name == "memory") {
      BERTH_ASSIGN(kind.memory, read_memory(value));
    } else {
      return unknown_word("nodes have no", name, {"pool", "rack", "cpu", "memory"});
    }
  }
  Cluster& cluster = snapshot_.cluster;
  const std::int32_t kind_index = cluster.add_kind(kind);
  for (std::int64_t i = 0; i < *count; ++i) {
    Node node;
    node.id = static_cast<std::int64_t>(cluster.nodes.size()) + 1;
    node.kind = kind_index;
    node.rack = rack;
    cluster.nodes.push_back(node);
    cluster.node_names.push_back(fmt::format("n{}", node.id));
  }
  return {};
}

Status PolicyFixture::set_cluster(std::string_view text) {
  if (!snapshot_.cluster.nodes.empty()) return Status(Code::kInvalid, "the cluster was given before");
  for (const std::string_view nodes : split(text, ';')) BERTH_TRY(add_nodes(trim(nodes)));
  return {};
}

Status PolicyFixture::add_queue(const ScriptTable& table) {
  FixtureFields fields(table, "queue");
  BERTH_ASSIGN(const std::string name, fields.text("name"));
  if (name.empty()) return Status(Code::kInvalid, "a queue has a name: queue{name = \"nlp\"}");
  BERTH_ASSIGN(const std::string parent, fields.text("parent"));
  BERTH_ASSIGN(const double weight, fields.number("weight", 1));
  BERTH_ASSIGN(const double band, fields.number("priority_band", 0));
  BERTH_TRY(fields.all_known());
  const std::int32_t above = queue_index(parent);
  Queue& queue = snapshot_.queues[static_cast<std::size_t>(queue_index(name))];
  queue.parent = above;
  queue.weight = weight;
  queue.priority_band = static_cast<std::int32_t>(band);
  return {};
}

Result<ModelSet> PolicyFixture::models_of(const ScriptTable& names) {
  ModelSet models = 0;
  for (const ScriptValue& item : names.items) {
    const std::string* const name = item.get<std::string>();
    if (name == nullptr) return Status(Code::kInvalid, "models of a job: expected names");
    const std::int32_t index = model_index(*name);
    if (index >= kMaxModels) return Status(Code::kInvalid, "too many device models");
    models |= ModelSet{1} << index;
  }
  return models;
}

Status PolicyFixture::add_job(const ScriptTable& table) {
  FixtureFields fields(table, "job");
  BERTH_ASSIGN(const std::string name, fields.text("name"));
  if (name.empty()) return Status(Code::kInvalid, "a job has a name: job{name = \"a\", gpus = 1}");
  if (std::ranges::find(job_names_, name) != job_names_.end())
    return Status(Code::kInvalid, fmt::format("there is a job '{}' already", name));
  TaskGroup group;
  BERTH_ASSIGN(const double gpus, fields.number("gpus", 0));
  BERTH_ASSIGN(const double tasks, fields.number("tasks", 1));
  BERTH_ASSIGN(const double min_tasks, fields.number("min_tasks", tasks));
  BERTH_ASSIGN(const double cpu, fields.number("cpu", 1));
  BERTH_ASSIGN(group.shape.memory, fields.memory("memory", MiB(1024)));
  BERTH_ASSIGN(const ScriptTable models, fields.table("models"));
  BERTH_ASSIGN(group.shape.models, models_of(models));
  BERTH_ASSIGN(const std::string pool, fields.text("pool"));
  BERTH_ASSIGN(const std::string queue, fields.text("queue"));
  BERTH_ASSIGN(const double priority, fields.number("priority", 0));
  BERTH_ASSIGN(const double waited, fields.number("waited", 0));
  BERTH_ASSIGN(const double time_limit, fields.number("time_limit", 0));
  BERTH_ASSIGN(const double expected, fields.number("expected", 0));
  BERTH_ASSIGN(const double service, fields.number("service", 0));
  BERTH_TRY(fields.all_known());
  if (!(gpus >= 0 && gpus <= kMaxDevices) || (gpus > 1 && gpus != std::floor(gpus)))
    return Status(Code::kInvalid, fmt::format("{} GPUs: expected a fraction of one, or whole ones", gpus));
  if (!(tasks >= 1 && tasks <= 100000 && min_tasks >= 1 && min_tasks <= tasks))
    return Status(Code::kInvalid, "expected 1 <= min_tasks <= tasks");
  group.shape.gpu_count = gpus == 0 ? 0 : std::max(1, static_cast<std::int32_t>(gpus));
  group.shape.gpu_milli = gpus == 0 ? MilliGpu(0) : gpus < 1 ? MilliGpu(std::lround(gpus * 1000)) : kWholeDevice;
  group.shape.cpu = MilliCpu(std::lround(cpu * 1000));
  if (!pool.empty()) group.shape.pool = index_of(snapshot_.cluster.pools, pool);
  group.count = static_cast<std::int32_t>(tasks);
  group.min_tasks = static_cast<std::int32_t>(min_tasks);
  Job job;
  job_names_.push_back(name);
  job.id = static_cast<std::int64_t>(job_names_.size());
  job.queue = queue_index(queue);
  if (priority != 0) {
    const auto value = static_cast<std::int64_t>(priority);
    std::vector<PriorityClass>& classes = snapshot_.priority_classes;
    const auto known = std::ranges::find(classes, value, &PriorityClass::value);
    job.priority_class = static_cast<std::int32_t>(known - classes.begin());
    if (known == classes.end())
      classes.push_back({static_cast<std::int64_t>(classes.size()) + 1, fmt::format("p{}", value), value});
  }
  job.submit = snapshot_.now - Seconds(static_cast<std::int64_t>(waited));
  job.time_limit = Seconds(static_cast<std::int64_t>(time_limit));
  const Seconds run(static_cast<std::int64_t>(expected));
  job.estimate = {.p50 = run, .p80 = run, .p90 = run, .is_given = expected > 0, .p50_milli = 0};
  job.attained = static_cast<std::int64_t>(service) * 1000;
  job.groups.push_back(group);
  snapshot_.jobs.push_back(std::move(job));
  return {};
}

Result<const Job*> PolicyFixture::find_job(std::string_view name) const {
  for (const Job& job : snapshot_.jobs) {
    if (job_name(job.id) == name) return &job;
  }
  return unknown_word("no job", name, job_names_);
}

Result<NodeIndex> PolicyFixture::find_node(std::string_view name) const {
  const std::vector<std::string>& names = snapshot_.cluster.node_names;
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return static_cast<NodeIndex>(found - names.begin());
  return unknown_word("no node", name,
                      names.size() > 20 ? std::vector<std::string>(names.begin(), names.begin() + 20) : names);
}

}  // namespace berth
