#include "engine/lua/hook_views.h"

#include <bit>
#include <lua.hpp>
#include <string_view>

#include "engine/lua/globals.h"

namespace berth {

namespace {

ViewTable make_view(lua_State* lua, const char* what, bool strict) {
  ViewTable view;
  lua_newtable(lua);
  lua_pushvalue(lua, -1);
  view.filled = luaL_ref(lua, LUA_REGISTRYINDEX);
  protect_table(lua, what, strict);
  view.shown = luaL_ref(lua, LUA_REGISTRYINDEX);
  return view;
}

// The table to fill is on top of the stack.
void set_integer(lua_State* lua, const char* name, std::int64_t value) {
  lua_pushinteger(lua, value);
  lua_setfield(lua, -2, name);
}
void set_number(lua_State* lua, const char* name, double value) {
  lua_pushnumber(lua, value);
  lua_setfield(lua, -2, name);
}
void set_text(lua_State* lua, const char* name, std::string_view value) {
  lua_pushlstring(lua, value.data(), value.size());
  lua_setfield(lua, -2, name);
}
void set_flag(lua_State* lua, const char* name, bool value) {
  lua_pushboolean(lua, value ? 1 : 0);
  lua_setfield(lua, -2, name);
}
void set_view(lua_State* lua, const char* name, const ViewTable& view) {
  lua_rawgeti(lua, LUA_REGISTRYINDEX, view.shown);
  lua_setfield(lua, -2, name);
}

void open_view(lua_State* lua, const ViewTable& view) { lua_rawgeti(lua, LUA_REGISTRYINDEX, view.filled); }
void show_view(lua_State* lua, const ViewTable& view) { lua_rawgeti(lua, LUA_REGISTRYINDEX, view.shown); }

// The list on top of the stack has been given `count` items: those of the call before go.
void close_list(lua_State* lua, ViewTable& list, int count) {
  for (int gone = count + 1; gone <= list.count; ++gone) {
    lua_pushnil(lua);
    lua_rawseti(lua, -2, gone);
  }
  list.count = count;
  lua_pop(lua, 1);
}

void fill_list(lua_State* lua, ViewTable& list, std::span<const std::int32_t> values) {
  open_view(lua, list);
  int count = 0;
  for (const std::int32_t value : values) {
    lua_pushinteger(lua, value);
    lua_rawseti(lua, -2, ++count);
  }
  close_list(lua, list, count);
}

// GPU resources of a ledger: that of all devices.
std::size_t all_gpus(const QuotaLedger& quotas) {
  for (std::size_t i = 0; i < quotas.resource_count(); ++i) {
    const QuotaResource& resource = quotas.resource(i);
    if (resource.kind == ResourceKind::kGpu && resource.models == 0) return i;
  }
  return quotas.resource_count();
}

}  // namespace

TimeOfDay time_of_day(Seconds moment) {
  constexpr std::int64_t kDaySeconds = 86400;
  std::int64_t day = moment.value() / kDaySeconds;
  std::int64_t second = moment.value() % kDaySeconds;
  if (second < 0) {
    second += kDaySeconds;
    --day;
  }
  // 1970-01-01 was a Thursday.
  return {.hour = second / 3600, .minute = second / 60 % 60, .weekday = ((day + 3) % 7 + 7) % 7 + 1};
}

HookViews::HookViews(lua_State* lua, ScoreSensitivity needs)
    : needs_(needs),
      node_(make_view(lua, "node", true)),
      node_milli_(make_view(lua, "node.milli", false)),
      node_device_memory_(make_view(lua, "node.device_memory_mib", false)),
      shape_(make_view(lua, "shape", true)),
      shape_models_(make_view(lua, "shape.models", false)),
      queue_(make_view(lua, "queue", true)),
      job_(make_view(lua, "job", true)),
      job_models_(make_view(lua, "job.models", false)),
      round_(make_view(lua, "round", true)),
      victim_(make_view(lua, "job", true)) {
  open_view(lua, node_);
  set_view(lua, "milli", node_milli_);
  set_view(lua, "device_memory_mib", node_device_memory_);
  open_view(lua, shape_);
  set_view(lua, "models", shape_models_);
  open_view(lua, job_);
  set_view(lua, "models", job_models_);
  lua_pop(lua, 3);
}

void HookViews::set_cluster(const Cluster& cluster) {
  cluster_ = &cluster;
  kind_ = nullptr;
  has_shape_ = false;
}

std::string_view HookViews::pool_name(std::int32_t pool) const {
  return cluster_ == nullptr || pool < 0 ? std::string_view() : cluster_->pools[static_cast<std::size_t>(pool)];
}

void HookViews::push_models(lua_State* lua, ViewTable& list, ModelSet models) {
  open_view(lua, list);
  int count = 0;
  for (; models != 0 && cluster_ != nullptr; models &= models - 1) {
    const auto index = static_cast<std::size_t>(std::countr_zero(models));
    // A model that no node here has is still asked for.
    const std::string_view name =
        index < cluster_->models.size() ? std::string_view(cluster_->models[index].name) : "?";
    lua_pushlstring(lua, name.data(), name.size());
    lua_rawseti(lua, -2, ++count);
  }
  close_list(lua, list, count);
}

void HookViews::push_node(lua_State* lua, const NodeView& node) {
  open_view(lua, node_);
  if (kind_ != node.kind) {
    const NodeKind& kind = *node.kind;
    kind_ = node.kind;
    set_text(lua, "pool", pool_name(kind.pool));
    const bool has_model = kind.model >= 0 && cluster_ != nullptr;
    set_text(lua, "model",
             has_model ? std::string_view(cluster_->models[static_cast<std::size_t>(kind.model)].name) : "");
    set_integer(lua, "devices", kind.device_count);
    set_integer(lua, "total_cpu_milli", kind.cpu.value());
    set_integer(lua, "total_memory_mib", kind.memory.value());
    set_integer(lua, "total_device_memory_mib", kind.device_memory.value());
  }
  std::int64_t whole = 0;
  for (const std::int32_t milli : node.milli) whole += milli == kWholeDevice.value() ? 1 : 0;
  set_integer(lua, "cpu_milli", node.cpu.value());
  set_integer(lua, "free_milli", node.free_milli());
  set_integer(lua, "free_devices", whole);
  if (needs_.memory) set_integer(lua, "memory_mib", node.memory.value());
  if (needs_.tenants) set_integer(lua, "tenants", node.tenants);
  fill_list(lua, node_milli_, node.milli);
  fill_list(lua, node_device_memory_, node.device_memory);
  lua_pop(lua, 1);
  show_view(lua, node_);
}

void HookViews::push_shape(lua_State* lua, const TaskShape& shape) {
  if (!has_shape_ || !(shape == last_shape_)) {
    has_shape_ = false;
    push_models(lua, shape_models_, shape.models);
    open_view(lua, shape_);
    set_integer(lua, "cpu_milli", shape.cpu.value());
    if (needs_.memory) set_integer(lua, "memory_mib", shape.memory.value());
    set_integer(lua, "gpus", shape.gpu_count);
    set_integer(lua, "milli", shape.gpu_milli.value());
    set_integer(lua, "total_milli", shape.gpu_total().value());
    set_integer(lua, "gpu_memory_mib", shape.gpu_memory.value());
    set_flag(lua, "fraction", shape.is_fraction());
    set_text(lua, "pool", pool_name(shape.pool));
    lua_pop(lua, 1);
    last_shape_ = shape;
    has_shape_ = true;
  }
  show_view(lua, shape_);
}

void HookViews::push_queue(lua_State* lua, const OrderInput& input, std::int32_t index) {
  static const Queue kNone;
  const Queue& queue = index < 0 ? kNone : input.queues[static_cast<std::size_t>(index)];
  open_view(lua, queue_);
  set_text(lua, "name", queue.name);
  set_text(lua, "parent", queue.parent < 0 ? "" : input.queues[static_cast<std::size_t>(queue.parent)].name);
  set_number(lua, "weight", queue.weight);
  set_integer(lua, "priority_band", queue.priority_band);
  set_number(lua, "decayed_usage", queue.decayed_usage / 1000);
  std::int64_t used = 0;
  std::int64_t quota = -1;
  if (input.quotas != nullptr) {
    if (const std::size_t gpus = all_gpus(*input.quotas); gpus < input.quotas->resource_count()) {
      used = input.quotas->used(index, gpus);
      if (index >= 0 && input.quotas->terms(index, gpus).has_quota) quota = input.quotas->quota(index, gpus);
    }
  }
  set_integer(lua, "used_milli", used);
  set_integer(lua, "quota_milli", quota);
  lua_pop(lua, 1);
  show_view(lua, queue_);
}

void HookViews::push_job(lua_State* lua, const OrderInput& input, const Job& job) {
  static const PriorityClass kNone;
  const PriorityClass& priority =
      job.priority_class < 0 ? kNone : input.priority_classes[static_cast<std::size_t>(job.priority_class)];
  std::int64_t tasks = 0;
  std::int64_t gang = 0;
  std::int64_t milli = 0;
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  for (const TaskGroup& group : job.groups) {
    tasks += group.count;
    gang += group.min_tasks;
    milli += group.shape.gpu_total().value() * group.count;
    cpu += group.shape.cpu.value() * group.count;
    memory += group.shape.memory.value() * group.count;
  }
  push_models(lua, job_models_, job.groups.empty() ? 0 : job.groups.front().shape.models);
  open_view(lua, job_);
  set_integer(lua, "id", job.id);
  set_text(lua, "priority_class", priority.name);
  set_integer(lua, "priority", priority.value);
  set_integer(lua, "submit", job.submit.value());
  set_integer(lua, "waited", (input.now - job.submit).value());
  set_integer(lua, "time_limit", job.time_limit.value());
  set_integer(lua, "expected", job.estimate.p50.value());
  set_integer(lua, "expected_p90", job.estimate.p90.value());
  set_integer(lua, "tasks", tasks);
  set_integer(lua, "gang", gang);
  set_integer(lua, "total_milli", milli);
  set_integer(lua, "total_cpu_milli", cpu);
  set_integer(lua, "total_memory_mib", memory);
  set_text(lua, "pool", job.groups.empty() ? std::string_view() : pool_name(job.groups.front().shape.pool));
  set_integer(lua, "service", job.attained / 1000);
  set_integer(lua, "evictions", job.eviction.evictions);
  set_flag(lua, "running", job.state == JobState::kRunning);
  lua_pop(lua, 1);
  show_view(lua, job_);
}

void HookViews::push_victim(lua_State* lua, const VictimView& victim) {
  open_view(lua, victim_);
  set_text(lua, "queue", victim.queue);
  set_integer(lua, "priority", victim.priority);
  set_integer(lua, "ran", victim.ran.value());
  set_integer(lua, "lost", victim.lost / 1000);
  set_integer(lua, "tasks", victim.tasks);
  set_integer(lua, "total_milli", victim.held.value());
  set_integer(lua, "evictions", victim.job.eviction.evictions);
  lua_pop(lua, 1);
  show_view(lua, victim_);
}

void HookViews::push_round(lua_State* lua, const OrderInput& input) {
  const TimeOfDay time = time_of_day(input.now);
  open_view(lua, round_);
  set_integer(lua, "now", input.now.value());
  set_integer(lua, "hour", time.hour);
  set_integer(lua, "minute", time.minute);
  set_integer(lua, "weekday", time.weekday);
  set_integer(lua, "waiting", static_cast<std::int64_t>(input.jobs.size()));
  lua_pop(lua, 1);
  show_view(lua, round_);
}

}  // namespace berth
