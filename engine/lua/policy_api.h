// What policies in Lua may define and see, as data: the checks of scripts, HELP and the annotations for editors
// (scripts/api.lua) come from these rows.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace berth {

// Functions that a policy may define; any subset. In the order of policy_hooks().
enum class Hook : std::uint8_t { kPrepare, kOrder, kScore, kDevice, kFeasible, kVictimCost, kAdmit, kTarget, kMixing };
inline constexpr std::size_t kHookCount = 9;

struct HookRow {
  std::string_view name;
  std::string_view parameters;  // "job: Job, queue: Queue"
  std::string_view results;     // as an annotation has them
  std::string_view sentence;
  std::string_view setting =
      {};  // that makes rounds or submissions call it; empty = with others of its policy, or none
};
std::span<const HookRow> policy_hooks();
std::string_view hook_name(Hook hook);

struct ViewField {
  std::string_view view;  // "Node"
  std::string_view name;
  std::string_view type;  // "integer", "number", "string", "boolean", "integer[]", "string[]", "Shape[]"
  std::string_view sentence;
};
// By view, each together.
std::span<const ViewField> policy_view_fields();

// All that as annotations for editors (LuaLS): scripts/api.lua, which a test holds equal.
std::string policy_annotations();

}  // namespace berth
