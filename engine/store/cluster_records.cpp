#include "engine/store/cluster_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/base/failpoint.h"
#include "engine/base/text.h"
#include "engine/model/shape.h"
#include "engine/store/drain_records.h"
#include "engine/store/launch_losses.h"
#include "engine/store/names.h"
#include "engine/store/resource_names.h"

namespace berth {

namespace {

// One model index is kept for "a model that no longer exists" (load.cpp).
constexpr std::int64_t kMostDeviceModels = kMaxModels - 1;

Status check_amounts(MilliCpu cpu, MiB memory) {
  if (cpu < MilliCpu(0)) return Status(Code::kInvalid, "the CPU of a node type must not be negative").about("cpu");
  if (memory < MiB(0)) return Status(Code::kInvalid, "the memory of a node type must not be negative").about("memory");
  if (cpu > MilliCpu(kMostAmount)) {
    return Status(Code::kInvalid, fmt::format("the CPU of a node type is at most {} milli-cores, not {}",
                                              print_count(kMostAmount), print_count(cpu.value())))
        .about("cpu");
  }
  if (memory > MiB(kMostAmount)) {
    return Status(Code::kInvalid, fmt::format("the memory of a node type is at most {} MiB, not {}",
                                              print_count(kMostAmount), print_count(memory.value())))
        .about("memory");
  }
  return {};
}

Status check_device_memory(MiB memory) {
  if (memory < MiB(0)) return Status(Code::kInvalid, "the memory of a device must not be negative").about("memory");
  if (memory <= MiB(kMostDeviceMemory)) return {};
  return Status(Code::kInvalid, fmt::format("the memory of a device is at most {} MiB, not {}",
                                            print_count(kMostDeviceMemory), print_count(memory.value())))
      .about("memory");
}

// A checked node type, as the columns want it.
struct NodeTypeRow {
  MilliCpu cpu;
  MiB memory;
  std::optional<std::int64_t> device_model_id;
  int device_count = 0;
  std::string link_groups;
};

Result<NodeTypeRow> check_node_type(Database& db, const NodeTypeRequest& request) {
  NodeTypeRow row{request.cpu, request.memory, std::nullopt, request.device_count, {}};
  BERTH_TRY(check_amounts(request.cpu, request.memory));
  if (request.device_count < 0 || request.device_count > kMaxDevices) {
    return Status(Code::kInvalid,
                  fmt::format("a node may have 0 to {} devices, not {}", kMaxDevices, request.device_count))
        .about("devices");
  }
  if (request.device_model.empty() != (request.device_count == 0)) {
    return Status(Code::kInvalid,
                  request.device_model.empty()
                      ? fmt::format("{} devices need a device model", request.device_count)
                      : fmt::format("device model '{}' needs a number of devices above 0", request.device_model))
        .about(request.device_model.empty() ? "devices" : "device_model");
  }
  if (!request.device_model.empty()) {
    BERTH_ASSIGN(row.device_model_id, find_id(db, Thing::kDeviceModel, request.device_model));
  }
  const Result<std::vector<DeviceMask>> groups = read_link_groups(request.link_groups, request.device_count);
  if (!groups.ok()) return groups.status().about("link_groups");
  row.link_groups = print_link_groups(*groups);
  return row;
}

Result<std::string> labels_json(const Labels& labels) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [key, value] : labels) {
    if (key.empty()) return Status(Code::kInvalid, "a label needs a name before its '='");
    if (json.contains(key)) return Status(Code::kInvalid, fmt::format("label '{}' is given twice", key));
    json[key] = value;
  }
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::optional<std::string> null_when_empty(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

Result<std::optional<std::int64_t>> find_pool_or_none(Database& db, const std::string& pool) {
  if (pool.empty()) return std::optional<std::int64_t>();
  BERTH_ASSIGN(const std::int64_t id, find_id(db, Thing::kPool, pool));
  return std::optional(id);
}

// Adds nodes of any types and pools; what a name refers to is looked up once a run of equal names.
Result<bool> node_runs_tasks(Database& db, std::int64_t node) {
  BERTH_ASSIGN(Statement row, db.prepare("SELECT 1 FROM allocations WHERE node_id = ?1 LIMIT 1"));
  const bool runs = row.with(node).next();
  BERTH_TRY(row.status());
  return runs;
}

// By whomever.
Result<NodeState> state_of_node(Database& db, std::int64_t node) {
  BERTH_ASSIGN(Statement row, db.prepare("SELECT state FROM nodes WHERE id = ?1"));
  if (!row.with(node).next()) return row.status();
  return read_node_state(row.text(0));
}

Status move_node(Database& db, const std::string& name, NodeState wanted) {
  BERTH_ASSIGN(const std::int64_t id, find_id(db, Thing::kNode, name));
  BERTH_ASSIGN(Statement row, db.prepare("SELECT state FROM nodes WHERE id = ?1"));
  if (!row.with(id).next()) return row.status();
  BERTH_ASSIGN(const NodeState present, read_node_state(row.text(0)));
  BERTH_ASSIGN(const bool busy, node_runs_tasks(db, id));
  const bool is_drain = wanted == NodeState::kDraining || wanted == NodeState::kDrained;
  const NodeState target = !is_drain ? wanted : busy ? NodeState::kDraining : NodeState::kDrained;
  if (present == wanted || present == target) {
    return Status(Code::kConflict, fmt::format("node '{}' is {} already", name, node_state_name(present)));
  }
  if (!node_may_change(present, target)) {
    return Status(Code::kConflict, fmt::format("node '{}' is {}: it cannot become {}", name, node_state_name(present),
                                               node_state_name(target)));
  }
  BERTH_ASSIGN(Statement update, db.prepare("UPDATE nodes SET state = ?2 WHERE id = ?1"));
  return update.run(id, node_state_name(target));
}

std::string_view node_state_verb(NodeState state) {
  switch (state) {
    case NodeState::kUp: return "resume node";
    case NodeState::kDraining:
    case NodeState::kDrained: return "drain node";
    case NodeState::kDown: return "node down";
    case NodeState::kBooting: return "boot node";
  }
  return "change node";
}

// "a rack" for the event of an alteration.
template <class Value>
void note_field(std::vector<std::string>& fields, std::string_view word, const std::optional<Value>& value) {
  if (value) fields.push_back(fmt::format("{} {}", word, *value));
}

// Room on the nodes may not be there any more; the next round holds other room. `nodes`: "n.id", "n.type_id".
Status free_held_room(Database& db, std::string_view nodes, std::int64_t id) {
  BERTH_ASSIGN(Statement unreserve,
               db.prepare(fmt::format("DELETE FROM reservations WHERE job_id IN (SELECT r.job_id FROM reserved_tasks r "
                                      "JOIN nodes n ON n.id = r.node_id WHERE {} = ?1)",
                                      nodes)));
  return unreserve.run(id);
}

}  // namespace

// ---- pools ----------------------------------------------------------------------------------------------------------

Status add_pool(Change& change, const std::string& name) {
  BERTH_TRY(check_new_name(change.db(), Thing::kPool, name));
  BERTH_ASSIGN(Statement insert, change.db().prepare("INSERT INTO pools (name) VALUES (?1)"));
  BERTH_TRY(insert.run(name));
  failpoint("mid_write");
  return change.record("create pool", name);
}

Status rename_pool(Change& change, const std::string& name, const std::string& new_name) {
  BERTH_ASSIGN(const std::int64_t id, find_id(change.db(), Thing::kPool, name));
  BERTH_TRY(check_new_name(change.db(), Thing::kPool, new_name));
  BERTH_ASSIGN(Statement update, change.db().prepare("UPDATE pools SET name = ?2 WHERE id = ?1"));
  BERTH_TRY(update.run(id, new_name));
  return change.record("alter pool", name, fmt::format("renamed to {}", new_name));
}

Status drop_pool(Change& change, const std::string& name) {
  constexpr Use kUses[] = {{"SELECT count(*) FROM nodes WHERE pool_id = ?1", "node"},
                           {"SELECT count(DISTINCT job_id) FROM task_groups WHERE pool_id = ?1", "job"}};
  BERTH_ASSIGN(const std::int64_t id, find_id(change.db(), Thing::kPool, name));
  BERTH_TRY(check_unused(change.db(), Thing::kPool, name, id, kUses));
  BERTH_ASSIGN(Statement remove, change.db().prepare("DELETE FROM pools WHERE id = ?1"));
  BERTH_TRY(remove.run(id));
  return change.record("drop pool", name);
}

// ---- device models --------------------------------------------------------------------------------------------------

namespace {

// A family is named like a model, as quotas name both.
// Quotas are of cpu, memory, gpu, models and families: a model of such a name could not be told from them.
Status check_no_resource(std::string_view what, const std::string& name) {
  if (!is_plain_resource(name)) return {};
  return Status(Code::kInvalid, fmt::format("{} cannot be called '{}': quotas take that for the resource", what, name))
      .about("name", name);
}

Status check_family(const std::string& family) {
  if (family.empty()) return {};
  BERTH_TRY(check_no_resource("a family of device models", family));
  return check_name_text(Thing::kDeviceModel, family).prefixed("family of device models");
}

// Quotas and loans must not be left of something that no device belongs to any more.
Status check_quotas_keep_devices(Database& db) {
  BERTH_ASSIGN(const ResourceNames names, ResourceNames::read(db));
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT resource, 'has a quota of it', queue_id FROM quotas UNION ALL SELECT "
                                          "resource, 'has lent it', lender_id FROM loans WHERE state = 'open'"));
  while (rows.next()) {
    if (names.knows(rows.text(0))) continue;
    BERTH_ASSIGN(const std::string queue, name_of(db, Thing::kQueue, rows.integer(2)));
    return Status(Code::kConflict, fmt::format("no device model would belong to {}, and queue '{}' {}", rows.text(0),
                                               queue, rows.text(1)));
  }
  return rows.status();
}

}  // namespace

namespace {

std::string print_price(std::int64_t milli) {
  return milli == kUsualPrice ? "the usual price" : fmt::format("price {}", static_cast<double>(milli) / 1000);
}

}  // namespace

Status add_device_model(Change& change, const DeviceModelRequest& request) {
  Database& db = change.db();
  BERTH_TRY(check_new_name(db, Thing::kDeviceModel, request.name));
  if (request.name.find('|') != std::string::npos) {
    return Status(Code::kInvalid, "the name of a device model must not have a '|': it separates models").about("name");
  }
  BERTH_TRY(check_no_resource("a device model", request.name));
  BERTH_TRY(check_device_memory(request.memory));
  if (!(request.speed > 0)) return Status(Code::kInvalid, "the speed of a device model must be above 0").about("speed");
  BERTH_TRY(check_family(request.family));
  BERTH_ASSIGN(const std::int64_t count, db.integer("SELECT count(*) FROM device_models"));
  if (count >= kMostDeviceModels) {
    return Status(Code::kConflict, fmt::format("there are {} device models already, the most there may be", count));
  }
  BERTH_ASSIGN(Statement insert, db.prepare("INSERT INTO device_models (name, memory_mib, speed, family, price_milli) "
                                            "VALUES (?1, ?2, ?3, nullif(?4, ''), ?5)"));
  BERTH_TRY(insert.run(request.name, request.memory, request.speed, request.family, request.price_milli));
  change.use_changed();  // a quota may be of a family of that name
  return change.record("create device model", request.name);
}

Status alter_device_model(Change& change, const std::string& name, const DeviceModelAlteration& alteration) {
  Database& db = change.db();
  BERTH_ASSIGN(const std::int64_t id, find_id(db, Thing::kDeviceModel, name));
  if (alteration.memory) BERTH_TRY(check_device_memory(*alteration.memory));
  if (alteration.speed && !(*alteration.speed > 0)) {
    return Status(Code::kInvalid, "the speed of a device model must be above 0").about("speed");
  }
  BERTH_TRY(check_family(alteration.family.value_or("")));
  BERTH_ASSIGN(
      Statement update,
      db.prepare("UPDATE device_models SET memory_mib = coalesce(?2, memory_mib), speed = coalesce(?3, speed), "
                 "family = nullif(coalesce(?4, family), ''), price_milli = nullif(coalesce(?5, price_milli), -1) WHERE "
                 "id = ?1"));
  BERTH_TRY(update.run(id, alteration.memory, alteration.speed, alteration.family, alteration.price_milli));
  if (alteration.family) {
    BERTH_TRY(check_quotas_keep_devices(db));
    change.use_changed();
  }
  std::vector<std::string> fields;
  if (alteration.memory) fields.push_back(fmt::format("memory {}", print_memory(*alteration.memory)));
  note_field(fields, "speed", alteration.speed);
  if (alteration.price_milli) fields.push_back(print_price(*alteration.price_milli));
  if (alteration.family) fields.push_back(alteration.family->empty() ? "no family" : "family " + *alteration.family);
  return change.record("alter device model", name, join(fields, ", "));
}

Status drop_device_model(Change& change, const std::string& name) {
  constexpr Use kUses[] = {
      {"SELECT count(*) FROM node_types WHERE device_model_id = ?1", "node type"},
      {"SELECT count(DISTINCT j.id) FROM jobs j JOIN task_groups g ON g.job_id = j.id "
       "WHERE j.state IN ('pending', 'held', 'running') AND ?1 AND instr('|' || g.models || '|', '|' || ?2 || '|') > 0",
       "live job"}};
  BERTH_ASSIGN(const std::int64_t id, find_id(change.db(), Thing::kDeviceModel, name));
  BERTH_TRY(check_unused(change.db(), Thing::kDeviceModel, name, id, kUses));
  BERTH_ASSIGN(Statement remove, change.db().prepare("DELETE FROM device_models WHERE id = ?1"));
  BERTH_TRY(remove.run(id));
  BERTH_TRY(check_quotas_keep_devices(change.db()));
  change.use_changed();
  return change.record("drop device model", name);
}

// ---- node types -----------------------------------------------------------------------------------------------------

Status add_node_type(Change& change, const NodeTypeRequest& request) {
  Database& db = change.db();
  BERTH_TRY(check_new_name(db, Thing::kNodeType, request.name));
  BERTH_ASSIGN(const NodeTypeRow row, check_node_type(db, request));
  BERTH_ASSIGN(Statement insert, db.prepare("INSERT INTO node_types (name, cpu_milli, memory_mib, device_model_id, "
                                            "device_count, link_groups) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"));
  BERTH_TRY(insert.run(request.name, row.cpu, row.memory, row.device_model_id, row.device_count, row.link_groups));
  return change.record("create node type", request.name);
}

Status alter_node_type(Change& change, const std::string& name, const NodeTypeAlteration& alteration) {
  Database& db = change.db();
  change.devices_changed();
  BERTH_ASSIGN(const std::int64_t id, find_id(db, Thing::kNodeType, name));
  BERTH_ASSIGN(Statement present, db.prepare("SELECT t.cpu_milli, t.memory_mib, coalesce(m.name, ''), t.device_count, "
                                             "t.link_groups FROM node_types t LEFT JOIN device_models m "
                                             "ON m.id = t.device_model_id WHERE t.id = ?1"));
  if (!present.with(id).next()) return present.status();
  NodeTypeRequest request;
  request.name = name;
  request.cpu = alteration.cpu.value_or(present.quantity<MilliCpu>(0));
  request.memory = alteration.memory.value_or(present.quantity<MiB>(1));
  request.device_model = alteration.device_model.value_or(std::string(present.text(2)));
  request.device_count = alteration.device_count.value_or(static_cast<int>(present.integer(3)));
  request.link_groups = alteration.link_groups.value_or(std::string(present.text(4)));
  BERTH_ASSIGN(const NodeTypeRow row, check_node_type(db, request));
  BERTH_ASSIGN(Statement update,
               db.prepare("UPDATE node_types SET cpu_milli = ?2, memory_mib = ?3, device_model_id = ?4, "
                          "device_count = ?5, link_groups = ?6 WHERE id = ?1"));
  BERTH_TRY(update.run(id, row.cpu, row.memory, row.device_model_id, row.device_count, row.link_groups));
  BERTH_TRY(free_held_room(db, "n.type_id", id));
  std::vector<std::string> fields;
  if (alteration.cpu) fields.push_back(fmt::format("cpu {}", print_cpu(*alteration.cpu)));
  if (alteration.memory) fields.push_back(fmt::format("memory {}", print_memory(*alteration.memory)));
  note_field(fields, "device model", alteration.device_model);
  note_field(fields, "devices", alteration.device_count);
  note_field(fields, "link groups", alteration.link_groups);
  return change.record("alter node type", name, join(fields, ", "));
}

Status drop_node_type(Change& change, const std::string& name) {
  constexpr Use kUses[] = {{"SELECT count(*) FROM nodes WHERE type_id = ?1", "node"}};
  BERTH_ASSIGN(const std::int64_t id, find_id(change.db(), Thing::kNodeType, name));
  BERTH_TRY(check_unused(change.db(), Thing::kNodeType, name, id, kUses));
  BERTH_ASSIGN(Statement remove, change.db().prepare("DELETE FROM node_types WHERE id = ?1"));
  BERTH_TRY(remove.run(id));
  return change.record("drop node type", name);
}

// ---- nodes ----------------------------------------------------------------------------------------------------------

Status NodeAdder::add(const NodeRequest& request) {
  Database& db = change_.db();
  BERTH_TRY(check_new_name(db, Thing::kNode, request.name));
  if (request.name.find_first_of(",[]") != std::string::npos) {
    return Status(Code::kInvalid, "the name of a node must not have ',', '[' or ']': they write ranges of nodes");
  }
  if (type_id_ == 0 || request.type != type_) {
    BERTH_ASSIGN(type_id_, find_id(db, Thing::kNodeType, request.type));
    type_ = request.type;
  }
  if (request.pool != pool_) {
    BERTH_ASSIGN(pool_id_, find_pool_or_none(db, request.pool));
    pool_ = request.pool;
  }
  BERTH_TRY(check_plain_text("the rack of a node", request.rack));
  BERTH_ASSIGN(const std::string labels, labels_json(request.labels));
  BERTH_ASSIGN(Statement insert, db.prepare("INSERT INTO nodes (name, type_id, pool_id, rack, labels) "
                                            "VALUES (?1, ?2, ?3, ?4, ?5)"));
  BERTH_TRY(insert.run(request.name, type_id_, pool_id_, null_when_empty(request.rack), labels));
  if (added_++ == 0) {
    first_ = request.name;
    first_type_ = request.type;
  }
  last_ = request.name;
  return {};
}

Status NodeAdder::finish() {
  if (added_ == 0) return {};
  return change_.record(added_ == 1 ? "create node" : "create nodes",
                        added_ == 1 ? first_ : fmt::format("{} .. {} ({})", first_, last_, added_),
                        fmt::format("type {}", first_type_));
}

Status add_nodes(Change& change, std::span<const NodeRequest> requests) {
  NodeAdder adder(change);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    BERTH_TRY(adder.add(requests[i]).prefixed(fmt::format("in node '{}'", requests[i].name)));
    if (i == requests.size() / 2) failpoint("mid_write");
  }
  return adder.finish();
}

Status alter_nodes(Change& change, std::span<const std::string> names, const NodeAlteration& alteration) {
  Database& db = change.db();
  change.devices_changed();
  std::optional<std::int64_t> type_id;
  if (alteration.type) {
    BERTH_ASSIGN(type_id, find_id(db, Thing::kNodeType, *alteration.type));
  }
  std::optional<std::int64_t> pool_id;
  if (alteration.pool) {
    BERTH_ASSIGN(pool_id, find_pool_or_none(db, *alteration.pool));
  }
  std::optional<std::string> labels;
  if (alteration.labels) {
    BERTH_ASSIGN(labels, labels_json(*alteration.labels));
  }
  if (alteration.rack) BERTH_TRY(check_plain_text("the rack of a node", *alteration.rack));
  const std::optional<std::string> rack = alteration.rack ? null_when_empty(*alteration.rack) : std::nullopt;
  for (const std::string& name : names) {
    BERTH_ASSIGN(const std::int64_t id, find_id(db, Thing::kNode, name));
    BERTH_ASSIGN(Statement update,
                 db.prepare("UPDATE nodes SET pool_id = iif(?2, ?3, pool_id), rack = iif(?4, ?5, rack), "
                            "labels = coalesce(?6, labels) WHERE id = ?1"));
    BERTH_TRY(update.run(id, alteration.pool.has_value(), pool_id, alteration.rack.has_value(), rack, labels));
    // Only when asked for: the triggers that watch the type need not run otherwise.
    if (!type_id) continue;
    BERTH_ASSIGN(Statement retype, db.prepare("UPDATE nodes SET type_id = ?2 WHERE id = ?1"));
    BERTH_TRY(retype.run(id, type_id).prefixed(fmt::format("in node '{}'", name)));
    BERTH_TRY(free_held_room(db, "n.id", id));
  }
  std::vector<std::string> fields;
  note_field(fields, "type", alteration.type);
  note_field(fields, "pool", alteration.pool);
  note_field(fields, "rack", alteration.rack);
  note_field(fields, "labels", labels);
  return change.record("alter node", summarize_names(names), join(fields, ", "));
}

Status drop_nodes(Change& change, std::span<const std::string> names) {
  constexpr Use kUses[] = {{"SELECT count(*) FROM allocations WHERE node_id = ?1", "running task"}};
  for (const std::string& name : names) {
    BERTH_ASSIGN(const std::int64_t id, find_id(change.db(), Thing::kNode, name));
    BERTH_TRY(check_unused(change.db(), Thing::kNode, name, id, kUses).with_hint("DRAIN it first, or cancel the jobs"));
    BERTH_TRY(free_held_room(change.db(), "n.id", id));
    BERTH_ASSIGN(Statement remove, change.db().prepare("DELETE FROM nodes WHERE id = ?1"));
    BERTH_TRY(remove.run(id));
  }
  return change.record("drop node", summarize_names(names));
}

Status set_node_state(Change& change, std::span<const std::string> names, NodeState state) {
  for (const std::string& name : names) BERTH_TRY(move_node(change.db(), name, state));
  return change.record(node_state_verb(state), summarize_names(names));
}

Status order_node_state(Change& change, std::span<const std::string> names, NodeState state,
                        const std::string& reason) {
  const bool is_drain = state == NodeState::kDraining || state == NodeState::kDrained;
  // Of many nodes those that have the state already stay as they are; when all of them do, nothing is left to be done.
  std::size_t left = names.size();
  for (const std::string& name : names) {
    BERTH_ASSIGN(const std::int64_t id, find_id(change.db(), Thing::kNode, name));
    BERTH_ASSIGN(const bool is_drained, is_drained_by_us(change.db(), id));
    BERTH_ASSIGN(const NodeState present, state_of_node(change.db(), id));
    // One that is up may yet keep launches out.
    BERTH_ASSIGN(const bool opens, present == NodeState::kUp && state == NodeState::kUp
                                       ? keeps_launches_out(change.db(), id)
                                       : Result<bool>(false));
    if ((is_drain ? is_drained : present == state && !opens) && --left > 0) continue;
    const bool is_draining = present == NodeState::kDraining || present == NodeState::kDrained;
    if (!opens && (!is_drain || is_drained || !is_draining)) BERTH_TRY(move_node(change.db(), name, state));
    if (is_drain && !is_drained) BERTH_TRY(add_drain(change, id, reason));
    if (state != NodeState::kUp) continue;
    BERTH_TRY(remove_drain(change, id));
    BERTH_TRY(forget_launch_losses(change.db(), id));
  }
  return change.record(node_state_verb(state), summarize_names(names), is_drain ? reason : std::string());
}

Status set_device_health(Change& change, const std::string& node, DeviceMask devices, Health health) {
  Database& db = change.db();
  BERTH_ASSIGN(const std::int64_t id, find_id(db, Thing::kNode, node));
  const std::string_view word = health == Health::kHealthy ? "healthy" : "unhealthy";
  BERTH_ASSIGN(
      Statement update,
      db.prepare("UPDATE devices AS d SET health = iif(?3 = 'healthy' AND EXISTS (SELECT 1 FROM gone_devices g "
                 "WHERE g.node_id = ?1 AND g.device_index = ?2), d.health, ?3) WHERE node_id = ?1 AND "
                 "device_index = ?2"));
  BERTH_ASSIGN(Statement forget, db.prepare("DELETE FROM gone_devices WHERE node_id = ?1 AND device_index = ?2 AND ?3 "
                                            "= 'unhealthy'"));
  for (int device = 0; device < kMaxDevices; ++device) {
    if ((devices >> device & 1) == 0) continue;
    BERTH_TRY(update.run(id, device, word));
    if (db.changed_rows() == 0) {
      return Status(Code::kNotFound, fmt::format("node '{}' has no device {}", node, device));
    }
    BERTH_TRY(forget.run(id, device, word));
  }
  return change.record("alter device", fmt::format("{} {}", node, print_device_mask(devices)), word);
}

}  // namespace berth
