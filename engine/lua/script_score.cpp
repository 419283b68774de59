#include "engine/lua/script_score.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <lua.hpp>

#include "engine/lua/hook_views.h"
#include "engine/policy/registry.h"

namespace berth {

namespace {

constexpr double kScoreSteps = 1000;
constexpr double kLargestScore = 2'000'000;

struct NodeCall {
  PolicyScript& script;
  const NodeView& node;
  const TaskShape& shape;
  DeviceMask fits = 0;
  Score score = 0;
  int device = -1;
  bool is_feasible = true;
};

void push_node_and_shape(lua_State* lua, const NodeCall& call, Hook hook) {
  call.script.push_hook(lua, hook);
  call.script.views().push_node(lua, call.node);
  call.script.views().push_shape(lua, call.shape);
}

int ask_score(lua_State* lua) {
  NodeCall& call = *static_cast<NodeCall*>(lua_touserdata(lua, 1));
  push_node_and_shape(lua, call, Hook::kScore);
  lua_call(lua, 2, 1);
  if (lua_type(lua, -1) != LUA_TNUMBER)
    return luaL_error(lua, "score() gives a %s; expected a number", luaL_typename(lua, -1));
  const double score = lua_tonumber(lua, -1);
  if (!(std::fabs(score) <= kLargestScore))
    return luaL_error(lua, "score() gives %f; expected -2000000 to 2000000", score);
  call.score = static_cast<Score>(std::lround(score * kScoreSteps));
  return 0;
}

int ask_device(lua_State* lua) {
  NodeCall& call = *static_cast<NodeCall*>(lua_touserdata(lua, 1));
  push_node_and_shape(lua, call, Hook::kDevice);
  lua_createtable(lua, std::popcount(call.fits), 0);
  int count = 0;
  for (DeviceMask rest = call.fits; rest != 0; rest &= rest - 1) {
    lua_pushinteger(lua, std::countr_zero(rest) + 1);
    lua_rawseti(lua, -2, ++count);
  }
  lua_call(lua, 3, 1);
  if (lua_isinteger(lua, -1) == 0)
    return luaL_error(lua, "device() gives a %s; expected one of fits", luaL_typename(lua, -1));
  const lua_Integer device = lua_tointeger(lua, -1) - 1;
  if (device < 0 || device >= kMaxDevices || (call.fits >> device & 1) == 0)
    return luaL_error(lua, "device() gives %I, which is not one of fits", device + 1);
  call.device = static_cast<int>(device);
  return 0;
}

int ask_feasible(lua_State* lua) {
  NodeCall& call = *static_cast<NodeCall*>(lua_touserdata(lua, 1));
  push_node_and_shape(lua, call, Hook::kFeasible);
  lua_call(lua, 2, 1);
  if (!lua_isboolean(lua, -1))
    return luaL_error(lua, "feasible() gives a %s; expected true or false", luaL_typename(lua, -1));
  call.is_feasible = lua_toboolean(lua, -1) != 0;
  return 0;
}

ScriptTable list_of(std::span<const std::string> names) {
  ScriptTable list;
  for (const std::string& name : names) list.items.push_back(ScriptValue{name});
  return list;
}

ScriptValue workload_item(const WorkloadShape& entry, const Cluster& cluster) {
  const TaskShape& shape = entry.shape;
  ScriptTable models;
  for (ModelSet rest = shape.models; rest != 0; rest &= rest - 1) {
    const auto index = static_cast<std::size_t>(std::countr_zero(rest));
    models.items.push_back(ScriptValue{index < cluster.models.size() ? cluster.models[index].name : std::string("?")});
  }
  ScriptTable item;
  item.fields.push_back({"cpu_milli", ScriptValue{shape.cpu.value()}});
  item.fields.push_back({"fraction", ScriptValue{shape.is_fraction()}});
  item.fields.push_back({"gpu_memory_mib", ScriptValue{shape.gpu_memory.value()}});
  item.fields.push_back({"gpus", ScriptValue{std::int64_t{shape.gpu_count}}});
  item.fields.push_back({"memory_mib", ScriptValue{shape.memory.value()}});
  item.fields.push_back({"milli", ScriptValue{shape.gpu_milli.value()}});
  item.fields.push_back({"models", ScriptValue{std::move(models)}});
  item.fields.push_back(
      {"pool", ScriptValue{shape.pool < 0 ? std::string() : cluster.pools[static_cast<std::size_t>(shape.pool)]}});
  item.fields.push_back({"popularity", ScriptValue{entry.popularity}});
  item.fields.push_back({"total_milli", ScriptValue{shape.gpu_total().value()}});
  return ScriptValue{std::move(item)};
}

ScriptValue cluster_table(const ScoreInput& input) {
  ScriptTable models;
  for (const DeviceModel& model : input.cluster->models) models.items.push_back(ScriptValue{model.name});
  ScriptTable workload;
  for (const WorkloadShape& entry : input.workload) workload.items.push_back(workload_item(entry, *input.cluster));
  ScriptTable table;
  table.fields.push_back({"models", ScriptValue{std::move(models)}});
  table.fields.push_back({"nodes", ScriptValue{static_cast<std::int64_t>(input.cluster->nodes.size())}});
  table.fields.push_back({"pools", ScriptValue{list_of(input.cluster->pools)}});
  table.fields.push_back({"workload", ScriptValue{std::move(workload)}});
  return ScriptValue{std::move(table)};
}

ScoreSensitivity needs_of(const Result<std::unique_ptr<PolicyScript>>& script) {
  return script.ok() ? (*script)->needs() : ScoreSensitivity{};
}

Score best_fit_score_of(const NodeView& node, const TaskShape& shape) {
  return (*make_score("best_fit", {}))->score(node, shape);
}

}  // namespace

BoundScript::BoundScript(Result<std::unique_ptr<PolicyScript>> script, const ScoreInput& input) {
  if (!script.ok()) {
    fail(script.status());
    return;
  }
  script_ = *std::move(script);
  script_->views().set_cluster(*input.cluster);
  if (!script_->has(Hook::kPrepare)) return;
  const std::vector<ScriptValue> arguments{cluster_table(input)};
  if (const Result<ScriptValue> prepared = script_->host().call("prepare", arguments); !prepared.ok())
    fail(prepared.status());
}

void BoundScript::fail(const Status& status) {
  if (!failure_.empty()) return;
  failure_ = status.hint().empty() ? status.message() : fmt::format("{} ({})", status.message(), status.hint());
  has_news_ = true;
}

bool BoundScript::take_news() {
  const bool had = has_news_;
  has_news_ = false;
  return had;
}

ScriptScore::ScriptScore(Result<std::unique_ptr<PolicyScript>> script, const ScoreInput& input)
    : needs_(needs_of(script)), script_(std::move(script), input) {}

Score ScriptScore::score(const NodeView& node, const TaskShape& shape) const {
  PolicyScript* const script = script_.script();
  if (script == nullptr) return best_fit_score_of(node, shape);
  NodeCall call{.script = *script, .node = node, .shape = shape};
  if (const Status asked = script->call(ask_score, &call); !asked.ok()) {
    script_.fail(asked);
    return best_fit_score_of(node, shape);
  }
  return call.score;
}

int ScriptScore::choose_device(const NodeView& node, const TaskShape& shape, DeviceMask feasible) const {
  PolicyScript* const script = script_.script();
  if (script == nullptr || !script->has(Hook::kDevice)) return NodeScore::choose_device(node, shape, feasible);
  NodeCall call{.script = *script, .node = node, .shape = shape, .fits = feasible};
  if (const Status asked = script->call(ask_device, &call); !asked.ok()) {
    script_.fail(asked);
    return NodeScore::choose_device(node, shape, feasible);
  }
  return call.device;
}

bool ScriptScore::refresh(const Ledger&, const TaskShape&) { return script_.take_news(); }

ScriptFilter::ScriptFilter(Result<std::unique_ptr<PolicyScript>> script, const ScoreInput& input,
                           std::unique_ptr<NodeScore> score)
    : needs_(needs_of(script)), script_(std::move(script), input), score_(std::move(score)) {}

ScoreSensitivity ScriptFilter::sensitivity() const {
  const ScoreSensitivity other = score_->sensitivity();
  return {.memory = needs_.memory || other.memory, .tenants = needs_.tenants || other.tenants};
}

// What fails lets everything.
bool ScriptFilter::lets(const NodeView& node, const TaskShape& shape) const {
  PolicyScript* const script = script_.script();
  if (script == nullptr) return true;
  NodeCall call{.script = *script, .node = node, .shape = shape};
  if (const Status asked = script->call(ask_feasible, &call); !asked.ok()) {
    script_.fail(asked);
    return true;
  }
  return call.is_feasible;
}

Score ScriptFilter::score(const NodeView& node, const TaskShape& shape) const {
  return lets(node, shape) ? score_->score(node, shape) : kInfeasibleScore;
}

bool ScriptFilter::allows(const NodeKind& kind, const TaskShape& shape) const {
  const auto [entry, is_new] = allowed_[&kind].try_emplace(shape, true);
  if (!is_new) return entry->second;
  const auto devices = static_cast<std::size_t>(kind.device_count);
  const std::vector<std::int32_t> milli(devices, static_cast<std::int32_t>(kWholeDevice.value()));
  const std::vector<std::int32_t> memory(devices, static_cast<std::int32_t>(kind.device_memory.value()));
  entry->second =
      lets({.kind = &kind, .cpu = kind.cpu, .memory = kind.memory, .milli = milli, .device_memory = memory}, shape);
  return entry->second;
}

bool ScriptFilter::refresh(const Ledger& ledger, const TaskShape& asked) {
  const bool is_moved = score_->refresh(ledger, asked);
  return script_.take_news() || is_moved;
}

std::string ScriptFilter::failure() const { return score_->failure(); }

}  // namespace berth
