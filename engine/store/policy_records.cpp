#include "engine/store/policy_records.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/text.h"
#include "engine/store/names.h"

namespace berth {

namespace {

constexpr std::string_view kNoPolicy = "none";

bool may_be_left_out(PolicyKind kind) {
  return kind == PolicyKind::kFilter || kind == PolicyKind::kVictim || kind == PolicyKind::kAdmit;
}

// Settings that hold the name of a policy, by kind.
struct PolicySetting {
  PolicyKind kind;
  std::string_view key;
};
constexpr PolicySetting kPolicySettings[] = {{PolicyKind::kOrder, "order_policy"},
                                             {PolicyKind::kScore, "score_policy"},
                                             {PolicyKind::kFilter, "filter_policy"},
                                             {PolicyKind::kVictim, "victim_policy"},
                                             {PolicyKind::kAdmit, "admit_policy"}};

// The settings whose value the name is.
Result<std::vector<PolicySetting>> uses_of(Database& db, const std::string& name) {
  std::vector<PolicySetting> uses;
  BERTH_ASSIGN(Statement row, db.prepare("SELECT 1 FROM settings WHERE key = ?1 AND value = ?2"));
  for (const PolicySetting& setting : kPolicySettings) {
    if (row.with(setting.key, name).next()) uses.push_back(setting);
    BERTH_TRY(row.status());
  }
  return uses;
}

Status insert_version(Change& change, std::int64_t policy, std::int64_t version, const PolicyText& text) {
  BERTH_ASSIGN(Statement insert,
               change.db().prepare("INSERT INTO policy_versions (policy_id, version, source, hooks, summary, "
                                   "created_at, created_by) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"));
  return insert.run(policy, version, text.source, join(text.hooks, ","), text.summary, change.now(), change.actor());
}

Status check_script_name(const std::string& name) {
  for (const PolicyRow& row : all_policies()) {
    if (equals_ignoring_case(row.name, name))
      return Status(Code::kExists, fmt::format("'{}' is a built-in {} policy", name, policy_kind_name(row.kind)),
                    "choose another name");
  }
  if (name != to_lower(name) || name.find('+') != std::string::npos || name == kNoPolicy)
    return Status(Code::kInvalid, fmt::format("'{}' cannot be the name of a policy", name),
                  "names of policies are in lower case, without +, and not none")
        .about("name", name);
  return {};
}

Result<StoredPolicy> policy_from(Statement& row, Statement& knobs) {
  StoredPolicy policy;
  policy.script.name = row.text(1);
  policy.script.version = row.integer(2);
  policy.script.source = row.text(3);
  policy.text = {.file = std::string(row.text(4)),
                 .source = policy.script.source,
                 .hooks = {},
                 .summary = std::string(row.text(6))};
  for (const std::string_view hook : split(row.text(5), ',')) policy.text.hooks.emplace_back(hook);
  policy.created_at = row.quantity<Seconds>(7);
  policy.created_by = row.text(8);
  policy.versions = row.integer(9);
  knobs.with(row.integer(0));
  while (knobs.next()) policy.script.knobs.push_back({std::string(knobs.text(0)), std::string(knobs.text(1))});
  BERTH_TRY(knobs.status());
  return policy;
}

constexpr std::string_view kPolicyColumns =
    "SELECT p.id, p.name, v.version, v.source, p.file, v.hooks, v.summary, v.created_at, v.created_by, "
    "(SELECT max(version) FROM policy_versions WHERE policy_id = p.id) "
    "FROM policies p JOIN policy_versions v ON v.policy_id = p.id ";
constexpr std::string_view kKnobColumns = "SELECT name, value FROM policy_knobs WHERE policy_id = ?1 ORDER BY name";

}  // namespace

bool StoredPolicy::has_hook(std::string_view hook) const {
  return std::ranges::find(text.hooks, hook) != text.hooks.end();
}

Status add_policy(Change& change, const std::string& name, const PolicyText& text) {
  BERTH_TRY(check_script_name(name));
  BERTH_TRY(check_new_name(change.db(), Thing::kPolicy, name));
  BERTH_ASSIGN(Statement insert, change.db().prepare("INSERT INTO policies (name, version, file, created_at, "
                                                     "created_by) VALUES (?1, 1, ?2, ?3, ?4)"));
  BERTH_TRY(insert.run(name, text.file, change.now(), change.actor()));
  BERTH_TRY(insert_version(change, change.db().last_row_id(), 1, text));
  return change.record("create policy", name, fmt::format("version 1 from {}", text.file));
}

Result<std::int64_t> add_policy_version(Change& change, const std::string& name, const PolicyText& text) {
  BERTH_ASSIGN(const std::int64_t id, find_id(change.db(), Thing::kPolicy, name));
  BERTH_ASSIGN(const std::vector<PolicySetting> uses, uses_of(change.db(), name));
  for (const PolicySetting& use : uses) {
    const std::string_view hook = hook_of(use.kind);
    if (std::ranges::find(text.hooks, hook) == text.hooks.end())
      return Status(Code::kConflict, fmt::format("{} defines no {}(), and {} is {}", text.file, hook, use.key, name),
                    fmt::format("RESET {}; or keep the hook", use.key));
  }
  BERTH_ASSIGN(Statement last, change.db().prepare("SELECT max(version) FROM policy_versions WHERE policy_id = ?1"));
  const bool found = last.with(id).next();
  BERTH_TRY(last.status());
  const std::int64_t version = (found ? last.integer(0) : 0) + 1;
  BERTH_TRY(insert_version(change, id, version, text));
  BERTH_ASSIGN(Statement update, change.db().prepare("UPDATE policies SET version = ?2, file = ?3 WHERE id = ?1"));
  BERTH_TRY(update.run(id, version, text.file));
  BERTH_TRY(change.record("alter policy", name, fmt::format("version {} from {}", version, text.file)));
  return version;
}

Status set_policy_knob(Change& change, const std::string& name, const std::string& knob, const std::string& value) {
  BERTH_ASSIGN(const std::int64_t id, find_id(change.db(), Thing::kPolicy, name));
  BERTH_ASSIGN(Statement put, change.db().prepare("INSERT INTO policy_knobs (policy_id, name, value) VALUES (?1, ?2, "
                                                  "?3) ON CONFLICT (policy_id, name) DO UPDATE SET value = "
                                                  "excluded.value"));
  BERTH_TRY(put.run(id, knob, value));
  return change.record("alter policy", name, fmt::format("{} = {}", knob, value));
}

Status forget_policy_knob(Change& change, const std::string& name, const std::string& knob) {
  BERTH_ASSIGN(const std::int64_t id, find_id(change.db(), Thing::kPolicy, name));
  BERTH_ASSIGN(Statement remove, change.db().prepare("DELETE FROM policy_knobs WHERE policy_id = ?1 AND name = ?2"));
  BERTH_TRY(remove.run(id, knob));
  return change.record("alter policy", name, fmt::format("{} is no knob of it any more", knob));
}

Status drop_policy(Change& change, const std::string& name) {
  BERTH_ASSIGN(const std::int64_t id, find_id(change.db(), Thing::kPolicy, name));
  BERTH_ASSIGN(const std::vector<PolicySetting> uses, uses_of(change.db(), name));
  if (!uses.empty())
    return Status(Code::kConflict, fmt::format("policy '{}' is in use: {} = {}", name, uses.front().key, name),
                  fmt::format("RESET {}", uses.front().key));
  BERTH_ASSIGN(Statement shadow, change.db().prepare("SELECT 1 FROM shadows WHERE policy = ?1"));
  if (shadow.with(name).next())
    return Status(Code::kConflict, fmt::format("policy '{}' is in shadow", name),
                  fmt::format("ALTER POLICY {} SET MODE OFF", name));
  BERTH_TRY(shadow.status());
  BERTH_ASSIGN(Statement remove, change.db().prepare("DELETE FROM policies WHERE id = ?1"));
  BERTH_TRY(remove.run(id));
  return change.record("drop policy", name);
}

Result<std::vector<StoredPolicy>> list_policies(Database& db) {
  BERTH_ASSIGN(Statement rows,
               db.prepare(fmt::format("{}WHERE v.version = p.version ORDER BY p.name", kPolicyColumns)));
  BERTH_ASSIGN(Statement knobs, db.prepare(kKnobColumns));
  std::vector<StoredPolicy> policies;
  while (rows.next()) {
    BERTH_ASSIGN(StoredPolicy policy, policy_from(rows, knobs));
    policies.push_back(std::move(policy));
  }
  BERTH_TRY(rows.status());
  return policies;
}

Result<StoredPolicy> read_policy(Database& db, const std::string& name, std::optional<std::int64_t> version) {
  BERTH_ASSIGN(const std::int64_t id, find_id(db, Thing::kPolicy, name));
  BERTH_ASSIGN(Statement row,
               db.prepare(fmt::format("{}WHERE p.id = ?1 AND v.version = coalesce(?2, p.version)", kPolicyColumns)));
  BERTH_ASSIGN(Statement knobs, db.prepare(kKnobColumns));
  if (row.with(id, version).next()) return policy_from(row, knobs);
  BERTH_TRY(row.status());
  return Status(Code::kNotFound, fmt::format("policy '{}' has no version {}", name, version.value_or(0)),
                "SHOW POLICY tells how many there are")
      .about("version");
}

std::string_view hook_of(PolicyKind kind) {
  switch (kind) {
    case PolicyKind::kOrder: return "order";
    case PolicyKind::kScore: return "score";
    case PolicyKind::kFilter: return "feasible";
    case PolicyKind::kVictim: return "victim_cost";
    case PolicyKind::kAdmit: return "admit";
    case PolicyKind::kRightsize: break;
  }
  return {};
}

Result<std::vector<std::string>> policy_names(Database& db, PolicyKind kind) {
  std::vector<std::string> names;
  if (may_be_left_out(kind)) names.emplace_back(kNoPolicy);
  for (const PolicyRow& row : all_policies()) {
    if (row.kind == kind) names.emplace_back(row.name);
  }
  BERTH_ASSIGN(const std::vector<StoredPolicy> scripts, list_policies(db));
  for (const StoredPolicy& script : scripts) {
    if (script.has_hook(hook_of(kind))) names.push_back(script.script.name);
  }
  return names;
}

Status check_policy(Database& db, PolicyKind kind, const std::string& name) {
  BERTH_ASSIGN(const std::vector<std::string> names, policy_names(db, kind));
  if (std::ranges::find(names, name) != names.end()) return {};
  BERTH_ASSIGN(const std::vector<StoredPolicy> scripts, list_policies(db));
  for (const StoredPolicy& script : scripts) {
    if (script.script.name != name) continue;
    return Status(
        Code::kInvalid,
        fmt::format("policy {} is no {} policy: it defines no {}()", name, policy_kind_name(kind), hook_of(kind)),
        fmt::format("it defines {}", join(script.text.hooks, ", ")));
  }
  std::string hint = suggest(name, names);
  if (hint.empty()) hint = "known: " + join(names, ", ");
  return Status(Code::kNotFound, fmt::format("no {} policy named '{}'", policy_kind_name(kind), name), std::move(hint))
      .about("policy", name);
}

Result<std::vector<ScriptPolicy>> read_scripts(Database& db, const std::vector<std::string>& names) {
  std::vector<ScriptPolicy> scripts;
  BERTH_ASSIGN(const std::vector<StoredPolicy> stored, list_policies(db));
  for (const StoredPolicy& policy : stored) {
    if (std::ranges::find(names, policy.script.name) != names.end()) scripts.push_back(policy.script);
  }
  return scripts;
}

}  // namespace berth
