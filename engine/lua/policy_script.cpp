#include "engine/lua/policy_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <lua.hpp>

#include "engine/base/text.h"
#include "engine/lua/globals.h"
#include "engine/lua/hook_views.h"

namespace berth {

namespace {

constexpr std::string_view kKnobTypes[] = {"integer", "number", "boolean", "text", "choice"};
constexpr std::string_view kKnobWords[] = {"type", "default", "least", "most", "choices", "sentence"};

template <class Names>
Status not_one_of(std::string_view what, std::string_view found, const Names& names) {
  const std::vector<std::string> known(std::begin(names), std::end(names));
  std::string hint = suggest(found, known);
  if (hint.empty()) hint = "expected one of " + join(known, ", ");
  return Status(Code::kInvalid, fmt::format("{} '{}'", what, found), std::move(hint));
}

const std::string* text_of(const ScriptTable& table, std::string_view field) {
  const ScriptValue* const value = table.find(field);
  return value == nullptr ? nullptr : value->get<std::string>();
}

std::optional<double> number_of(const ScriptValue& value) {
  if (const auto* integer = value.get<std::int64_t>()) return static_cast<double>(*integer);
  if (const auto* number = value.get<double>()) return *number;
  return std::nullopt;
}

Status check_knob_value(const ScriptKnob& knob, const ScriptValue& value) {
  const auto wrong = [&](std::string_view expected) {
    return Status(Code::kInvalid, fmt::format("knob {}: expected {}, found {}", knob.name, expected,
                                              value.is_nil() ? "nothing" : print_script_value(value)));
  };
  switch (knob.type) {
    case ScriptKnobType::kBoolean: return value.get<bool>() == nullptr ? wrong("true or false") : Status();
    case ScriptKnobType::kText: return value.get<std::string>() == nullptr ? wrong("a text") : Status();
    case ScriptKnobType::kChoice: {
      const std::string* const text = value.get<std::string>();
      if (text != nullptr && std::ranges::find(knob.choices, *text) != knob.choices.end()) return {};
      Status status = wrong("one of " + join(knob.choices, ", "));
      return text == nullptr ? status : std::move(status).with_hint(suggest(*text, knob.choices));
    }
    case ScriptKnobType::kInteger:
      if (value.get<std::int64_t>() == nullptr) return wrong("a whole number");
      break;
    case ScriptKnobType::kNumber:
      if (!number_of(value)) return wrong("a number");
      break;
  }
  const double number = *number_of(value);
  if ((knob.has_least && number < knob.least) || (knob.has_most && number > knob.most) || !std::isfinite(number)) {
    const std::string range = !knob.has_least  ? fmt::format("at most {}", knob.most)
                              : !knob.has_most ? fmt::format("at least {}", knob.least)
                                               : fmt::format("a number from {} to {}", knob.least, knob.most);
    return wrong(range);
  }
  return {};
}

Result<ScriptKnob> read_declaration(const std::string& name, const ScriptValue& declared) {
  const std::string where = fmt::format("knob {}", name);
  const auto* const table = declared.get<ScriptTable>();
  if (table == nullptr) return Status(Code::kInvalid, fmt::format("{}: expected a table of type, default ...", where));
  for (const ScriptField& field : table->fields) {
    if (std::ranges::find(kKnobWords, std::string_view(field.name)) == std::end(kKnobWords))
      return not_one_of(where + ": no such word", field.name, kKnobWords);
  }
  ScriptKnob knob{.name = name,
                  .type = ScriptKnobType::kNumber,
                  .default_value = {},
                  .least = 0,
                  .most = 0,
                  .has_least = false,
                  .has_most = false,
                  .choices = {},
                  .sentence = {}};
  const std::string* const type = text_of(*table, "type");
  const std::string type_name = type == nullptr ? "number" : *type;
  const auto* const known = std::ranges::find(kKnobTypes, std::string_view(type_name));
  if (known == std::end(kKnobTypes)) return not_one_of(where + ": no type", type_name, kKnobTypes);
  knob.type = static_cast<ScriptKnobType>(known - std::begin(kKnobTypes));
  if (const ScriptValue* const least = table->find("least")) {
    knob.has_least = true;
    knob.least = number_of(*least).value_or(NAN);
  }
  if (const ScriptValue* const most = table->find("most")) {
    knob.has_most = true;
    knob.most = number_of(*most).value_or(NAN);
  }
  if (std::isnan(knob.least) || std::isnan(knob.most))
    return Status(Code::kInvalid, fmt::format("{}: least and most are numbers", where));
  if (const ScriptValue* const choices = table->find("choices")) {
    const auto* const list = choices->get<ScriptTable>();
    for (std::size_t i = 0; list != nullptr && i < list->items.size(); ++i) {
      if (const auto* text = list->items[i].get<std::string>()) knob.choices.push_back(*text);
    }
  }
  if (knob.type == ScriptKnobType::kChoice && knob.choices.empty())
    return Status(Code::kInvalid, fmt::format("{}: a choice has choices = {{'a', 'b'}}", where));
  if (const std::string* const sentence = text_of(*table, "sentence")) knob.sentence = *sentence;
  if (const ScriptValue* const value = table->find("default")) knob.default_value = *value;
  BERTH_TRY(check_knob_value(knob, knob.default_value).prefixed("default"));
  return knob;
}

// Refs of what the script has defined that is not a function are given to it by their names.
struct GlobalNames {
  std::vector<std::string> functions;
  std::vector<std::string> others;
};

// No Lua error is raised: only texts are read.
GlobalNames defined_globals(lua_State* lua) {
  GlobalNames names;
  lua_getfield(lua, LUA_REGISTRYINDEX, kDefinedTable);
  lua_pushnil(lua);
  while (lua_next(lua, -2) != 0) {
    if (lua_type(lua, -2) == LUA_TSTRING)
      (lua_isfunction(lua, -1) ? names.functions : names.others).emplace_back(lua_tostring(lua, -2));
    lua_pop(lua, 1);
  }
  lua_pop(lua, 1);
  std::ranges::sort(names.functions);
  std::ranges::sort(names.others);
  return names;
}

struct KnobRequest {
  const std::vector<ScriptKnob>& knobs;
  const std::vector<ScriptValue>& values;
};

// knob = {name = value}, a name of the library from now on.
int install_knobs(lua_State* lua) {
  const KnobRequest& request = *static_cast<const KnobRequest*>(lua_touserdata(lua, 1));
  lua_getfield(lua, LUA_REGISTRYINDEX, kLibraryTable);
  lua_pushliteral(lua, "knob");
  lua_newtable(lua);
  for (std::size_t i = 0; i < request.knobs.size(); ++i) {
    lua_pushlstring(lua, request.knobs[i].name.data(), request.knobs[i].name.size());
    push_script_value(lua, request.values[i]);
    lua_rawset(lua, -3);
  }
  protect_table(lua, "knob", true);
  lua_rawset(lua, -3);
  return 0;
}

struct HookRefRequest {
  Hook hook;
  int ref = 0;
};

int refer_to_hook(lua_State* lua) {
  HookRefRequest& request = *static_cast<HookRefRequest*>(lua_touserdata(lua, 1));
  lua_getfield(lua, LUA_REGISTRYINDEX, kDefinedTable);
  const std::string_view name = hook_name(request.hook);
  lua_pushlstring(lua, name.data(), name.size());
  if (lua_rawget(lua, -2) == LUA_TFUNCTION) request.ref = luaL_ref(lua, LUA_REGISTRYINDEX);
  return 0;
}

struct ViewsRequest {
  ScoreSensitivity needs;
  std::unique_ptr<HookViews>* views;
};

int make_views(lua_State* lua) {
  const ViewsRequest& request = *static_cast<const ViewsRequest*>(lua_touserdata(lua, 1));
  *request.views = std::make_unique<HookViews>(lua, request.needs);
  return 0;
}

}  // namespace

std::string_view script_knob_type_name(ScriptKnobType type) { return kKnobTypes[static_cast<std::size_t>(type)]; }

std::string print_script_value(const ScriptValue& value) {
  if (const auto* boolean = value.get<bool>()) return *boolean ? "true" : "false";
  if (const auto* integer = value.get<std::int64_t>()) return fmt::format("{}", *integer);
  if (const auto* number = value.get<double>()) return fmt::format("{}", *number);
  if (const auto* text = value.get<std::string>()) return *text;
  return std::string(value.type_name());
}

Result<ScriptValue> read_script_knob(const ScriptKnob& knob, std::string_view text) {
  ScriptValue value{std::string(text)};
  const char* const end = text.data() + text.size();
  if (knob.type == ScriptKnobType::kBoolean && (text == "true" || text == "false")) value.value = text == "true";
  if (knob.type == ScriptKnobType::kInteger || knob.type == ScriptKnobType::kNumber) {
    std::int64_t integer = 0;
    double number = 0;
    if (const auto [stop, error] = std::from_chars(text.data(), end, integer); error == std::errc() && stop == end) {
      value.value = integer;
    } else if (const auto [last, bad] = std::from_chars(text.data(), end, number); bad == std::errc() && last == end) {
      value.value = number;
    }
  }
  BERTH_TRY(check_knob_value(knob, value));
  return value;
}

ScriptLimits policy_limits() {
  return {.memory = std::int64_t{16} << 20,
          .instructions = 1'000'000,
          .instructions_in_all = 2'000'000'000,
          .longest_text = std::int64_t{16} << 10,
          .pattern_steps = 1'000'000,
          .wall = std::chrono::milliseconds(0)};
}

PolicyScript::~PolicyScript() = default;

Result<std::unique_ptr<PolicyScript>> PolicyScript::load(const ScriptPolicy& script, const ScriptLimits& limits) {
  std::unique_ptr<PolicyScript> policy(new PolicyScript());
  BERTH_ASSIGN(policy->host_, ScriptHost::open(limits));
  // A name that can be used before there are values: it has no fields while the text is loaded.
  BERTH_TRY(policy->host_->load(script.name, script.source));
  const auto in_script = [&](Status status) { return std::move(status).prefixed(script.name); };
  BERTH_TRY(in_script(policy->read_globals()));
  ScriptTable declared;
  BERTH_ASSIGN(const ScriptValue knobs, policy->host_->global("knobs"));
  if (const auto* table = knobs.get<ScriptTable>()) declared = *table;
  BERTH_TRY(in_script(policy->read_knobs(declared, script)));
  ViewsRequest views{.needs = policy->needs_, .views = &policy->views_};
  BERTH_TRY(policy->host_->protect(make_views, &views));
  BERTH_TRY(in_script(policy->find_hooks()));
  return policy;
}

Status PolicyScript::read_globals() {
  const GlobalNames names = defined_globals(host_->state());
  std::vector<std::string> hooks;
  for (const HookRow& hook : policy_hooks()) hooks.emplace_back(hook.name);
  for (const std::string& name : names.functions) {
    if (std::ranges::find(hooks, name) != hooks.end()) continue;
    std::string hint = suggest(name, hooks);
    if (hint.empty()) hint = "declare it local; hooks are " + join(hooks, ", ");
    return Status(Code::kInvalid, fmt::format("global function '{}' is no hook", name), std::move(hint));
  }
  constexpr std::string_view kWords[] = {"summary", "knobs", "needs"};
  for (const std::string& name : names.others) {
    if (std::ranges::find(kWords, std::string_view(name)) != std::end(kWords)) continue;
    if (std::ranges::find(hooks, name) != hooks.end())
      return Status(Code::kInvalid, fmt::format("'{}' is a hook: expected a function", name));
    std::string hint = suggest(name, {std::begin(kWords), std::end(kWords)});
    if (hint.empty()) hint = "declare it local";
    return Status(Code::kInvalid, fmt::format("global '{}' means nothing to Berth", name), std::move(hint));
  }
  BERTH_ASSIGN(const ScriptValue summary, host_->global("summary"));
  if (!summary.is_nil() && summary.get<std::string>() == nullptr)
    return Status(Code::kInvalid, "summary is a text of one sentence");
  if (const auto* text = summary.get<std::string>()) summary_ = *text;
  BERTH_ASSIGN(const ScriptValue knobs, host_->global("knobs"));
  if (!knobs.is_nil() && knobs.get<ScriptTable>() == nullptr)
    return Status(Code::kInvalid, "knobs is a table: knobs = {weight = {default = 3}}");
  BERTH_ASSIGN(const ScriptValue needs, host_->global("needs"));
  if (needs.is_nil()) return {};
  if (needs.get<ScriptTable>() == nullptr) return Status(Code::kInvalid, "needs is a list: needs = {'memory'}");
  return read_needs(*needs.get<ScriptTable>());
}

Status PolicyScript::read_needs(const ScriptTable& named) {
  for (const ScriptValue& item : named.items) {
    const std::string* const text = item.get<std::string>();
    const std::string word = text == nullptr ? std::string(item.type_name()) : *text;
    constexpr std::string_view kNeeds[] = {"memory", "tenants"};
    if (std::ranges::find(kNeeds, std::string_view(word)) == std::end(kNeeds))
      return not_one_of("needs: there is no", word, kNeeds);
    (word == "memory" ? needs_.memory : needs_.tenants) = true;
  }
  return {};
}

Status PolicyScript::read_knobs(const ScriptTable& declared, const ScriptPolicy& script) {
  std::vector<std::string> names;
  for (const ScriptField& field : declared.fields) {
    BERTH_ASSIGN(ScriptKnob knob, read_declaration(field.name, field.value));
    names.push_back(knob.name);
    knob_values_.push_back(knob.default_value);
    knobs_.push_back(std::move(knob));
  }
  for (const ScriptKnobValue& set : script.knobs) {
    const auto found = std::ranges::find(names, set.name);
    if (found == names.end()) {
      std::string hint = suggest(set.name, names);
      if (hint.empty()) hint = names.empty() ? "it has none" : "it has " + join(names, ", ");
      return Status(Code::kNotFound, fmt::format("no knob '{}'", set.name), std::move(hint));
    }
    const auto index = static_cast<std::size_t>(found - names.begin());
    BERTH_ASSIGN(knob_values_[index], read_script_knob(knobs_[index], set.value));
  }
  KnobRequest request{.knobs = knobs_, .values = knob_values_};
  return host_->protect(install_knobs, &request);
}

Status PolicyScript::find_hooks() {
  bool has_any = false;
  for (std::size_t i = 0; i < kHookCount; ++i) {
    HookRefRequest request{.hook = static_cast<Hook>(i)};
    BERTH_TRY(host_->protect(refer_to_hook, &request));
    refs_[i] = request.ref;
    has_any |= request.ref != 0 && request.hook != Hook::kPrepare && request.hook != Hook::kDevice;
  }
  if (!has_any)
    return Status(Code::kInvalid, "it defines no hook",
                  "a policy defines order, score, feasible, victim_cost, admit, target or mixing");
  if (has(Hook::kDevice) && !has(Hook::kScore))
    return Status(Code::kInvalid, "device() goes with score(), which it does not define");
  return {};
}

std::vector<std::string> PolicyScript::hooks() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kHookCount; ++i) {
    if (refs_[i] != 0) names.emplace_back(hook_name(static_cast<Hook>(i)));
  }
  return names;
}

void PolicyScript::push_hook(lua_State* lua, Hook hook) const {
  lua_rawgeti(lua, LUA_REGISTRYINDEX, refs_[static_cast<std::size_t>(hook)]);
}

Status PolicyScript::call(int (*body)(lua_State*), void* data) { return host_->run(body, data); }

}  // namespace berth
