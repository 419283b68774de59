// Policies: CREATE, ALTER, DROP and SHOW of those in Lua, SHOW POLICIES of all.
#include "engine/lua/policy_api.h"
#include "engine/lua/policy_script.h"
#include "engine/policy/registry.h"
#include "engine/runtime/policies.h"
#include "engine/runtime/policy_test.h"
#include "engine/store/settings.h"
#include "shell/cmd_support.h"
#include "shell/families.h"

namespace berth {

namespace {

// An error of a file's text says where in the file; the statement is right but for naming it. `name` is the argument
// that names the policy.
Status blame_text(Status status, const Arguments& arguments, std::string_view name) {
  const bool is_about_name =
      status.code() == Code::kExists || status.code() == Code::kNotFound || status.subject().field == "name";
  return blame(std::move(status), arguments.span(is_about_name ? name : "file"));
}

Result<Output> create_policy_statement(Session& session, const Arguments& arguments) {
  const std::string& name = arguments.text("name");
  return change_with_note(session, fmt::format("policy {} created", name), [&](Change& change) {
    return blame_text(create_policy(change, name, arguments.text("file")), arguments, "name");
  });
}

Result<Output> alter_policy_statement(Session& session, const Arguments& arguments) {
  const std::string& name = arguments.text("policy");
  AlteredPolicy altered;
  const Result<std::int64_t> version = engine_of(session).change([&](Change& change) -> Status {
    Result<AlteredPolicy> done = alter_policy(change, name, arguments.text("file"));
    if (!done.ok()) return blame_text(std::move(done).status(), arguments, "policy");
    altered = *std::move(done);
    return {};
  });
  if (!version.ok()) return version.status();
  Output output = Output::note(fmt::format("policy {} has version {}", name, altered.version));
  for (const std::string& knob : altered.forgotten_knobs)
    output.add_note(fmt::format("warning: {} is no knob of it any more; what it was set to is forgotten", knob));
  return output;
}

Result<Output> set_knobs_statement(Session& session, const Arguments& arguments) {
  const std::string& name = arguments.text("policy");
  std::vector<KnobSetting> settings;
  for (const Arguments& entry : arguments.groups("knobs"))
    settings.emplace_back(entry.text("knob"), entry.text("value"));
  return change_with_note(session, fmt::format("policy {} altered", name), [&](Change& change) -> Status {
    std::size_t failed = settings.size();
    Status done = set_policy_knobs(change, name, settings, failed);
    if (done.ok()) return {};
    if (failed >= settings.size()) return blame(std::move(done), arguments.span("policy"));
    const Arguments& entry = arguments.groups("knobs")[failed];
    const bool is_about_value = done.code() == Code::kInvalid;
    return blame(std::move(done), entry.span(is_about_value ? "value" : "knob"));
  });
}

Result<Output> drop_policy_statement(Session& session, const Arguments& arguments) {
  return change_with_note(session, fmt::format("policy {} dropped", arguments.text("policy")), [&](Change& change) {
    return blame(drop_policy(change, arguments.text("policy")), arguments.span("policy"));
  });
}

bool is_active(PolicyKind kind, std::string_view name, const Settings& settings) {
  switch (kind) {
    case PolicyKind::kOrder: return name == settings.order_policy;
    case PolicyKind::kScore: return name == settings.score_policy;
    case PolicyKind::kFilter: return name == settings.filter_policy;
    case PolicyKind::kVictim: return name == settings.victim_policy;
    case PolicyKind::kAdmit: return name == settings.admit_policy;
    case PolicyKind::kRightsize: break;  // each queue has its own
  }
  return false;
}

Result<Output> show_policies(Session& session, const Arguments&) {
  Database& db = engine_of(session).db();
  BERTH_ASSIGN(const Settings settings, read_settings(db));
  BERTH_ASSIGN(const std::vector<StoredPolicy> scripts, list_policies(db));
  ResultTable table{.title = "", .columns = {{"kind"}, {"policy"}, {"active"}, {"summary"}, {"source"}}, .rows = {}};
  const auto add = [&](Cell kind, std::string_view name, bool active, std::string_view summary, std::string source) {
    table.rows.push_back({std::move(kind), std::string(name), active ? Cell("yes") : Cell(std::monostate()),
                          std::string(summary), std::move(source)});
  };
  for (const PolicyRow& policy : all_policies()) {
    add(std::string(policy_kind_name(policy.kind)), policy.name, is_active(policy.kind, policy.name, settings),
        policy.summary, std::string(policy.source));
  }
  for (const StoredPolicy& script : scripts) {
    const std::string source = fmt::format("{}, version {}", script.text.file, script.script.version);
    bool is_listed = false;
    for (const PolicyKind kind :
         {PolicyKind::kOrder, PolicyKind::kScore, PolicyKind::kFilter, PolicyKind::kVictim, PolicyKind::kAdmit}) {
      if (!script.has_hook(hook_of(kind))) continue;
      add(std::string(policy_kind_name(kind)), script.script.name, is_active(kind, script.script.name, settings),
          script.text.summary, source);
      is_listed = true;
    }
    // It has only hooks that nobody calls yet.
    if (!is_listed) add(std::monostate(), script.script.name, false, script.text.summary, source);
  }
  return Output(std::move(table));
}

std::string range_of(const ScriptKnob& knob) {
  if (knob.type == ScriptKnobType::kBoolean) return "true, false";
  if (knob.type == ScriptKnobType::kChoice) return join(knob.choices, ", ");
  if (knob.has_least && knob.has_most) return fmt::format("{} to {}", knob.least, knob.most);
  if (knob.has_least) return fmt::format("at least {}", knob.least);
  return knob.has_most ? fmt::format("at most {}", knob.most) : "";
}

Result<ResultTable> knobs_table(const ScriptPolicy& script) {
  ResultTable table{.title = "knobs",
                    .columns = {{"knob"}, {"value"}, {"default"}, {"type"}, {"range"}, {.name = "what", .wrap = true}},
                    .rows = {}};
  BERTH_ASSIGN(const std::unique_ptr<PolicyScript> loaded, PolicyScript::load(script, policy_limits()));
  for (std::size_t i = 0; i < loaded->knobs().size(); ++i) {
    const ScriptKnob& knob = loaded->knobs()[i];
    table.rows.push_back({knob.name, print_script_value(loaded->knob_value(i)), print_script_value(knob.default_value),
                          std::string(script_knob_type_name(knob.type)), range_of(knob), knob.sentence});
  }
  return table;
}

Result<Output> show_policy(Session& session, const Arguments& arguments) {
  const std::optional<std::int64_t> version =
      arguments.has("version") ? std::optional(arguments.integer("version")) : std::nullopt;
  Result<StoredPolicy> read = read_policy(engine_of(session).db(), arguments.text("policy"), version);
  if (!read.ok()) return arguments.point(std::move(read).status(), "policy");
  StoredPolicy& policy = *read;
  Output output;
  output.add(ResultTable{
      .title = "policy",
      .columns = {{"policy"}, {"version"}, {"versions"}, {"file"}, {"hooks"}, {"summary"}, {"since"}, {"by"}},
      .rows = {{policy.script.name, policy.script.version, policy.versions, policy.text.file,
                join(policy.text.hooks, ", "), policy.text.summary, print_time(policy.created_at),
                policy.created_by}}});
  // An older version may lack knobs that are set now.
  if (version) policy.script.knobs.clear();
  BERTH_ASSIGN(ResultTable knobs, knobs_table(policy.script));
  if (!knobs.rows.empty()) output.add(std::move(knobs));
  ResultTable source{.title = "source", .columns = {{"line"}, {"text"}}, .rows = {}};
  std::string_view text = policy.script.source;
  if (text.ends_with('\n')) text.remove_suffix(1);
  for (const std::string_view line : split(text, '\n'))
    source.rows.push_back({static_cast<std::int64_t>(source.rows.size()) + 1, std::string(line)});
  output.add(std::move(source));
  return output;
}

Result<Output> test_policy_statement(Session& session, const Arguments& arguments) {
  Result<StoredPolicy> read = read_policy(engine_of(session).db(), arguments.text("policy"));
  if (!read.ok()) return blame(std::move(read).status(), arguments.span("policy"));
  const std::string& file = arguments.text("file");
  const Result<std::string> source = read_policy_file(file);
  if (!source.ok()) return blame(source.status(), arguments.span("file"));
  Result<std::vector<PolicyTestResult>> results = test_policy(read->script, file, *source);
  if (!results.ok()) return blame(std::move(results).status(), arguments.span("file"));
  ResultTable table{.title = "cases", .columns = {{"case"}, {"outcome"}, {.name = "why", .wrap = true}}, .rows = {}};
  std::int64_t failed = 0;
  for (const PolicyTestResult& result : *results) {
    failed += result.failure.empty() ? 0 : 1;
    table.rows.push_back(
        {result.name, std::string(result.failure.empty() ? "holds" : "fails"), text_or_null(result.failure)});
  }
  Output output;
  output.add_note(failed == 0 ? fmt::format("all {} hold", counted(std::ssize(*results), "case"))
                              : fmt::format("{} of {} fail", failed, counted(std::ssize(*results), "case")));
  output.add(std::move(table));
  output.findings = failed > 0;
  return output;
}

constexpr std::string_view kPolicyFamily = "policies";

// "Node: pool, model, ... Shape: ..."
const std::string& fields_help() {
  static const std::string text = [] {
    std::string all = "What functions are given has these fields.";
    std::string_view view;
    for (const ViewField& field : policy_view_fields()) {
      all += field.view == view ? fmt::format(", {}", field.name) : fmt::format(" {}: {}", field.view, field.name);
      if (&field == &policy_view_fields().back() || (&field + 1)->view != field.view) all += '.';
      view = field.view;
    }
    return all;
  }();
  return text;
}

const CommandRow kPolicyRows[] = {
    {.family = kPolicyFamily,
     .syntax = "CREATE POLICY <name:new_name> FROM <file:file>",
     .effect = Effect::kChanges,
     .handler = create_policy_statement,
     .summary = "Takes a policy in Lua from a file.",
     .example = "CREATE POLICY night FROM 'scripts/policies/nights_and_weekends.lua'",
     .details =
         "A policy defines any of these functions: order(job, queue, round), score(node, shape), feasible(node, "
         "shape), victim_cost(task), admit(job, view), target(service), mixing(pool); beside score also device(node, "
         "shape, fits). The "
         "settings order_policy, score_policy, filter_policy, victim_policy and admit_policy name the policy whose "
         "function is used; no round calls target and mixing yet. HELP SHOW POLICY lists the fields they see, "
         "scripts/api.lua says what each means, scripts/README.md the rest. A policy that fails in a round is left out "
         "of it: for an order policy the one before it stands in, for others the built-in default, and an event says "
         "why."},
    {.family = kPolicyFamily,
     .syntax = "ALTER POLICY <policy:policy> FROM <file:file>",
     .effect = Effect::kChanges,
     .handler = alter_policy_statement,
     .summary = "Gives a policy a new text, as a new version. A text with mistakes is refused, and the old one stays.",
     .example = "ALTER POLICY night FROM 'scripts/policies/nights_and_weekends.lua'"},
    {.family = kPolicyFamily,
     .syntax = "ALTER POLICY <policy:policy> SET ( knobs:{<knob:new_name> = <value:value>}, ... )",
     .effect = Effect::kChanges,
     .handler = set_knobs_statement,
     .summary = "Sets knobs that the policy declares; SHOW POLICY lists them.",
     .example = "ALTER POLICY night SET (opens = 19)"},
    {.family = kPolicyFamily,
     .syntax = "DROP POLICY <policy:script_policy>",
     .effect = Effect::kChanges,
     .handler = drop_policy_statement,
     .summary = "Removes a policy in Lua with all its versions. Rounds that used it can still be replayed.",
     .example = "DROP POLICY night",
     .ask = ask_always},
    {.family = kPolicyFamily,
     .syntax = "TEST POLICY <policy:script_policy> FROM <file:file>",
     .effect = Effect::kReads,
     .handler = test_policy_statement,
     .summary = "Checks what a policy does in made-up situations; exit code 4 when something is not as expected.",
     .example = "TEST POLICY night FROM 'scripts/policies/nights_and_weekends_test.lua'",
     .details =
         "Each function test_...() of the file is a case. cluster(\"4x8:A100\"), queue{...} and job{...} make the "
         "situation, round() plans it, score(), feasible(), victim_cost(), admit(), target() and mixing() ask the "
         "policy, expect(found, expected) compares. The tests beside scripts/policies are examples."},
    {.family = kPolicyFamily,
     .syntax = "SHOW POLICIES",
     .effect = Effect::kReads,
     .handler = show_policies,
     .summary = "Policies by kind, what each does and where it comes from.",
     .example = "SHOW POLICIES"},
    {.family = kPolicyFamily,
     .syntax = "SHOW POLICY <policy:script_policy> [VERSION <version:integer>]",
     .effect = Effect::kReads,
     .handler = show_policy,
     .summary = "A policy in Lua: its hooks, knobs and text, now or of an older version.",
     .example = "SHOW POLICY night",
     .details = fields_help()},
};

}  // namespace

std::span<const CommandRow> policy_commands() { return kPolicyRows; }

}  // namespace berth
