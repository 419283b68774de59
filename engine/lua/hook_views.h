// The read-only tables that hooks are given. There is one of each kind in a state, filled anew for every call: nothing
// is allocated, and what a script keeps of one shows the next.
//
// All but the constructor is called inside a protected call: it may raise Lua errors and owns nothing.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/model/snapshot.h"
#include "engine/policy/policy.h"

struct lua_State;

namespace berth {

// A protected table and the one that it shows, as references into Lua's registry.
struct ViewTable {
  int shown = 0;
  int filled = 0;
  int count = 0;  // of a list: items that it has
};

class HookViews {
 public:
  // Makes the tables; raises Lua errors.
  HookViews(lua_State* lua, ScoreSensitivity needs);

  // Names of models and pools are this cluster's, which must stay.
  void set_cluster(const Cluster& cluster);

  // Each fills its table and leaves it on the stack.
  void push_node(lua_State* lua, const NodeView& node);
  void push_shape(lua_State* lua, const TaskShape& shape);
  void push_queue(lua_State* lua, const OrderInput& input, std::int32_t queue);
  void push_job(lua_State* lua, const OrderInput& input, const Job& job);
  void push_round(lua_State* lua, const OrderInput& input);
  void push_victim(lua_State* lua, const VictimView& victim);

 private:
  void push_models(lua_State* lua, ViewTable& list, ModelSet models);
  std::string_view pool_name(std::int32_t pool) const;

  ScoreSensitivity needs_;
  const Cluster* cluster_ = nullptr;
  ViewTable node_;
  ViewTable node_milli_;
  ViewTable node_device_memory_;
  ViewTable shape_;
  ViewTable shape_models_;
  ViewTable queue_;
  ViewTable job_;
  ViewTable job_models_;
  ViewTable round_;
  ViewTable victim_;
  const NodeKind* kind_ = nullptr;  // whose fields stand in node_
  TaskShape last_shape_;
  bool has_shape_ = false;
};

// Hours and weekdays of a moment, UTC; weekday 1 = Monday.
struct TimeOfDay {
  std::int64_t hour = 0;
  std::int64_t minute = 0;
  std::int64_t weekday = 0;
};
TimeOfDay time_of_day(Seconds moment);

}  // namespace berth
