#include "engine/runtime/policies.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "engine/base/file_bytes.h"
#include "engine/base/plain_text.h"
#include "engine/base/text.h"
#include "engine/lua/script_policies.h"
#include "engine/runtime/round_driver.h"
#include "engine/store/names.h"
#include "engine/store/settings.h"

namespace berth {

namespace {

constexpr std::size_t kMostPolicyBytes = std::size_t{256} << 10;

// Errors name the file, as the lines in them are the file's.
Result<PolicyText> check_text(const std::string& file, std::string source, std::vector<ScriptKnobValue> knobs) {
  const ScriptPolicy script{.name = file, .version = 0, .source = source, .knobs = std::move(knobs)};
  BERTH_ASSIGN(const std::unique_ptr<PolicyScript> loaded, PolicyScript::load(script, policy_limits()));
  return PolicyText{.file = file, .source = std::move(source), .hooks = loaded->hooks(), .summary = loaded->summary()};
}

// Those of the knobs that a text declares.
Result<std::vector<ScriptKnobValue>> declared_knobs(const std::string& file, const std::string& source,
                                                    const std::vector<ScriptKnobValue>& knobs) {
  const ScriptPolicy plain{.name = file, .version = 0, .source = source, .knobs = {}};
  BERTH_ASSIGN(const std::unique_ptr<PolicyScript> loaded, PolicyScript::load(plain, policy_limits()));
  std::vector<ScriptKnobValue> kept;
  for (const ScriptKnobValue& knob : knobs) {
    if (std::ranges::find(loaded->knobs(), knob.name, &ScriptKnob::name) != loaded->knobs().end()) kept.push_back(knob);
  }
  return kept;
}

Result<AlteredPolicy> alter_to(Change& change, const StoredPolicy& stored, const std::string& file,
                               std::string source) {
  const std::string& name = stored.script.name;
  BERTH_ASSIGN(std::vector<ScriptKnobValue> kept, declared_knobs(file, source, stored.script.knobs));
  AlteredPolicy altered;
  for (const ScriptKnobValue& knob : stored.script.knobs) {
    if (std::ranges::find(kept, knob) != kept.end()) continue;
    BERTH_TRY(forget_policy_knob(change, name, knob.name));
    altered.forgotten_knobs.push_back(knob.name);
  }
  BERTH_ASSIGN(const PolicyText text, check_text(file, std::move(source), std::move(kept)));
  BERTH_ASSIGN(altered.version, add_policy_version(change, name, text));
  return altered;
}

}  // namespace

Result<std::string> read_policy_file(const std::string& path) {
  BERTH_TRY(check_is_no_open_database(path));
  // To open a pipe blocks until somebody writes to it: a round would hang, or a transaction keep the database locked.
  std::error_code error;
  const std::filesystem::file_status found = std::filesystem::status(path, error);
  if (std::filesystem::exists(found) && !std::filesystem::is_regular_file(found) &&
      !std::filesystem::is_directory(found))
    return Status(Code::kInvalid, fmt::format("'{}' is no regular file; expected the text of a script", path));
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return Status(Code::kUnavailable, fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  std::string text(kMostPolicyBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (file.bad() || (text.empty() && !file.eof()))
    return Status(Code::kUnavailable, fmt::format("cannot read {}", path));
  if (text.size() > kMostPolicyBytes)
    return Status(Code::kInvalid, fmt::format("{} is larger than 256 KiB; it should hold one script", path));
  text.erase(0, text.size() - without_byte_order_mark(text).size());
  if (text.starts_with('\x1b'))
    return Status(Code::kInvalid, fmt::format("{} is bytecode; expected the text of a script", path));
  if (!is_utf8(text) || text.find('\0') != std::string::npos)
    return Status(Code::kInvalid, fmt::format("{} is not UTF-8 text", path));
  return text;
}

Status create_policy(Change& change, const std::string& name, const std::string& file) {
  BERTH_ASSIGN(std::string source, read_policy_file(file));
  BERTH_ASSIGN(const PolicyText text, check_text(file, std::move(source), {}));
  return add_policy(change, name, text);
}

Result<AlteredPolicy> alter_policy(Change& change, const std::string& name, const std::string& file) {
  BERTH_ASSIGN(const StoredPolicy stored, read_policy(change.db(), name));
  BERTH_ASSIGN(std::string source, read_policy_file(file));
  return alter_to(change, stored, file, std::move(source));
}

Status set_policy_knobs(Change& change, const std::string& name, const std::vector<KnobSetting>& settings,
                        std::size_t& failed) {
  BERTH_ASSIGN(StoredPolicy stored, read_policy(change.db(), name));
  ScriptPolicy& script = stored.script;
  for (failed = 0; failed < settings.size(); ++failed) {
    const std::string& knob = settings[failed].first;
    const std::string& value = settings[failed].second;
    std::erase_if(script.knobs, [&](const ScriptKnobValue& set) { return set.name == knob; });
    script.knobs.push_back({knob, value});
    BERTH_TRY(PolicyScript::load(script, policy_limits()).status());
    BERTH_TRY(set_policy_knob(change, name, knob, value));
  }
  return {};
}

Result<std::vector<std::string>> reload_policies(Runtime& runtime) {
  std::vector<std::string> said;
  BERTH_ASSIGN(const std::vector<StoredPolicy> policies, list_policies(runtime.db()));
  for (const StoredPolicy& policy : policies) {
    const std::string& name = policy.script.name;
    Result<std::string> source = read_policy_file(policy.text.file);
    // A file that is gone, or being written: what is stored is good.
    if (!source.ok() || *source == policy.text.source) continue;
    AlteredPolicy altered;
    const Result<std::int64_t> done = runtime.change([&](Change& change) -> Status {
      BERTH_ASSIGN(altered, alter_to(change, policy, policy.text.file, *source));
      return {};
    });
    if (done.ok()) {
      said.push_back(fmt::format("policy {}: version {} from {}", name, altered.version, policy.text.file));
      continue;
    }
    const std::string why = fmt::format("version {} stays: {}", policy.script.version, done.status().message());
    BERTH_ASSIGN(Statement last, runtime.db().prepare("SELECT detail FROM events WHERE kind = 'refuse policy' AND "
                                                      "object = ?1 ORDER BY id DESC LIMIT 1"));
    const bool is_known = last.with(name).next() && last.text(0) == why;
    BERTH_TRY(last.status());
    if (is_known) continue;
    BERTH_TRY(runtime.change([&](Change& change) { return change.record("refuse policy", name, why); }).status());
    said.push_back(fmt::format("policy {}: {}", name, why));
  }
  return said;
}

Result<SimulatedScripts> simulated_scripts(Runtime& runtime) {
  SimulatedScripts scripts;
  BERTH_ASSIGN(const std::vector<StoredPolicy> stored, list_policies(runtime.db()));
  for (const StoredPolicy& policy : stored) {
    if (policy.has_hook(hook_of(PolicyKind::kOrder))) scripts.names.orders.push_back(policy.script.name);
    if (policy.has_hook(hook_of(PolicyKind::kScore))) scripts.names.scores.push_back(policy.script.name);
    scripts.policies.policies.push_back(policy.script);
  }
  scripts.policies.maker = &script_policy_maker();
  return scripts;
}

Status add_scripts(Database& db, Snapshot& snapshot) {
  BERTH_ASSIGN(snapshot.scripts.policies, read_scripts(db, {snapshot.order_policy, snapshot.score_policy,
                                                            snapshot.filter_policy, snapshot.victim_policy}));
  snapshot.scripts.maker = &script_policy_maker();
  return {};
}

namespace {

// What order_policy was before the order that fails, which may itself stand in for a later one. Orders are looked at by
// when each was set last, so that of several broken ones none comes up twice.
Result<std::string> order_before(Database& db, const std::string& failed) {
  const std::string none(kDefaultOrder);
  BERTH_ASSIGN(const Settings settings, read_settings(db));
  BERTH_ASSIGN(Statement rows, db.prepare("SELECT detail FROM events WHERE kind IN ('set', 'reset') AND object = "
                                          "'order_policy' GROUP BY detail ORDER BY max(id) DESC"));
  std::vector<std::string> orders;
  while (rows.next()) orders.emplace_back(rows.text(0));
  BERTH_TRY(rows.status());
  auto at = std::ranges::find(orders, failed);
  if (at == orders.end() && settings.order_policy != failed) return none;  // asked for in one round
  at = at == orders.end() ? orders.begin() : at + 1;
  for (; at != orders.end(); ++at) {
    if (check_policy(db, PolicyKind::kOrder, *at).ok()) return *at;
  }
  return none;
}

}  // namespace

Status replace_failed(Database& db, std::vector<PolicyFailure>& failures, Snapshot& snapshot) {
  for (PolicyFailure& failure : failures) {
    switch (failure.kind) {
      case PolicyKind::kOrder: {
        BERTH_ASSIGN(snapshot.order_policy, order_before(db, failure.policy));
        failure.instead = snapshot.order_policy;
        break;
      }
      case PolicyKind::kScore: failure.instead = snapshot.score_policy = kDefaultScore; break;
      case PolicyKind::kFilter: snapshot.filter_policy.clear(); break;
      case PolicyKind::kVictim: snapshot.victim_policy.clear(); break;
      case PolicyKind::kAdmit:
      case PolicyKind::kRightsize: break;
    }
  }
  return add_scripts(db, snapshot);
}

std::string describe(const PolicyFailure& failure) {
  return fmt::format("{} policy {} failed, {} stands in for it: {}", policy_kind_name(failure.kind), failure.policy,
                     failure.instead.empty() ? "nothing" : failure.instead, failure.message);
}

Status note_failures(Runtime& runtime, const std::vector<PolicyFailure>& failures) {
  for (const PolicyFailure& failure : failures) {
    const std::string said = describe(failure);
    BERTH_ASSIGN(Change change, Change::begin(runtime.db(), runtime.author(), runtime.now()));
    BERTH_ASSIGN(Statement told,
                 change.db().prepare("SELECT max(id) > (SELECT coalesce(max(id), 0) FROM events WHERE object = ?1 AND "
                                     "kind IN ('create policy', 'alter policy')) FROM events "
                                     "WHERE object = ?1 AND kind = 'fail policy' AND detail = ?2"));
    const bool is_known = told.with(failure.policy, said).next() && told.integer(0) != 0;
    BERTH_TRY(told.status());
    if (is_known) continue;
    BERTH_TRY(change.record("fail policy", failure.policy, said));
    BERTH_TRY(change.commit().status());
  }
  return {};
}

Status replace_failing_scripts(Database& db, Snapshot& snapshot, const std::atomic<bool>* interrupted) {
  // Each time at least one is replaced.
  while (!snapshot.scripts.policies.empty()) {
    BERTH_ASSIGN(ScheduleResult planned, plan_schedule(snapshot, {.interrupted = interrupted}));
    if (planned.failures.empty()) return {};
    BERTH_TRY(replace_failed(db, planned.failures, snapshot));
  }
  return {};
}

}  // namespace berth
