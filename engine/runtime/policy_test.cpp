#include "engine/runtime/policy_test.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/text.h"
#include "engine/lua/hook_views.h"
#include "engine/lua/script_admit.h"
#include "engine/lua/script_policies.h"
#include "engine/policy/feasibility.h"
#include "engine/policy/registry.h"
#include "engine/round/schedule.h"
#include "engine/runtime/policy_fixture.h"
#include "engine/runtime/reason_words.h"

namespace berth {

namespace {

using Arguments = std::vector<ScriptValue>;

// As a script would write it, to be read in a message.
std::string written(const ScriptValue& value) {
  if (const auto* text = value.get<std::string>()) return fmt::format("'{}'", *text);
  const auto* const table = value.get<ScriptTable>();
  if (table == nullptr) return print_script_value(value);
  std::vector<std::string> parts;
  for (const ScriptValue& item : table->items) parts.push_back(written(item));
  for (const ScriptField& field : table->fields)
    parts.push_back(fmt::format("{} = {}", field.name, written(field.value)));
  return "{" + join(parts, ", ") + "}";
}

bool are_equal(const ScriptValue& a, const ScriptValue& b) {
  const auto* const left = a.get<ScriptTable>();
  const auto* const right = b.get<ScriptTable>();
  if ((left == nullptr) != (right == nullptr)) return false;
  if (left == nullptr) {
    const auto number_of = [](const ScriptValue& value) -> std::optional<double> {
      if (const auto* integer = value.get<std::int64_t>()) return static_cast<double>(*integer);
      if (const auto* real = value.get<double>()) return *real;
      return std::nullopt;
    };
    if (const auto number = number_of(a)) return number == number_of(b);
    if (const auto* text = a.get<std::string>())
      return b.get<std::string>() != nullptr && *text == *b.get<std::string>();
    if (const auto* flag = a.get<bool>()) return b.get<bool>() != nullptr && *flag == *b.get<bool>();
    return a.is_nil() && b.is_nil();
  }
  return left->items.size() == right->items.size() && left->fields.size() == right->fields.size() &&
         std::equal(left->items.begin(), left->items.end(), right->items.begin(), are_equal) &&
         std::equal(left->fields.begin(), left->fields.end(), right->fields.begin(),
                    [](const ScriptField& x, const ScriptField& y) {
                      return x.name == y.name && are_equal(x.value, y.value);
                    });
}

Result<const ScriptTable*> table_argument(const Arguments& arguments, std::size_t index, std::string_view what) {
  if (index < arguments.size() && arguments[index].get<ScriptTable>() != nullptr)
    return arguments[index].get<ScriptTable>();
  return Status(Code::kInvalid, fmt::format("expected a table: {}", what));
}

Result<std::string> text_argument(const Arguments& arguments, std::size_t index, std::string_view what) {
  if (index < arguments.size() && arguments[index].get<std::string>() != nullptr)
    return *arguments[index].get<std::string>();
  return Status(Code::kInvalid, fmt::format("expected a text: {}", what));
}

// One case: its situation and the functions that it is given.
class PolicyCase {
 public:
  explicit PolicyCase(const ScriptPolicy& policy) : policy_(policy) {}

  Status give_to(ScriptHost& host);

 private:
  using Method = Result<ScriptValue> (PolicyCase::*)(const Arguments&);
  Result<ScriptValue> cluster(const Arguments& arguments);
  Result<ScriptValue> queue(const Arguments& arguments);
  Result<ScriptValue> job(const Arguments& arguments);
  Result<ScriptValue> now(const Arguments& arguments);
  Result<ScriptValue> knob(const Arguments& arguments);
  Result<ScriptValue> round(const Arguments& arguments);
  Result<ScriptValue> score(const Arguments& arguments);
  Result<ScriptValue> feasible(const Arguments& arguments);
  Result<ScriptValue> victim_cost(const Arguments& arguments);
  Result<ScriptValue> admit(const Arguments& arguments);
  Result<ScriptValue> target(const Arguments& arguments) { return plain_hook("target", arguments); }
  Result<ScriptValue> mixing(const Arguments& arguments) { return plain_hook("mixing", arguments); }
  Result<ScriptValue> expect(const Arguments& arguments);

  Result<ScriptValue> plain_hook(std::string_view hook, const Arguments& arguments);
  // Of the empty node and a task of the job.
  Result<Score> score_with(const NodeScore& score, const Arguments& arguments);
  Snapshot situation() const;
  Result<bool> has(Hook hook) const;

  ScriptPolicy policy_;
  PolicyFixture fixture_;
};

Status PolicyCase::give_to(ScriptHost& host) {
  static constexpr std::pair<std::string_view, Method> kFunctions[] = {
      {"cluster", &PolicyCase::cluster}, {"queue", &PolicyCase::queue},
      {"job", &PolicyCase::job},         {"now", &PolicyCase::now},
      {"knob", &PolicyCase::knob},       {"round", &PolicyCase::round},
      {"score", &PolicyCase::score},     {"feasible", &PolicyCase::feasible},
      {"admit", &PolicyCase::admit},     {"victim_cost", &PolicyCase::victim_cost},
      {"target", &PolicyCase::target},   {"mixing", &PolicyCase::mixing},
      {"expect", &PolicyCase::expect}};
  for (const auto& [name, method] : kFunctions) {
    const Method called = method;
    BERTH_TRY(
        host.add_function("", name, [this, called](const Arguments& arguments) { return (this->*called)(arguments); }));
  }
  return {};
}

Result<ScriptValue> PolicyCase::cluster(const Arguments& arguments) {
  BERTH_ASSIGN(const std::string text, text_argument(arguments, 0, "cluster(\"4x8:A100\")"));
  BERTH_TRY(fixture_.set_cluster(text));
  return ScriptValue{};
}

Result<ScriptValue> PolicyCase::queue(const Arguments& arguments) {
  BERTH_ASSIGN(const ScriptTable* table, table_argument(arguments, 0, "queue{name = \"nlp\"}"));
  BERTH_TRY(fixture_.add_queue(*table));
  return ScriptValue{};
}

Result<ScriptValue> PolicyCase::job(const Arguments& arguments) {
  BERTH_ASSIGN(const ScriptTable* table, table_argument(arguments, 0, "job{name = \"a\", gpus = 1}"));
  BERTH_TRY(fixture_.add_job(*table));
  return ScriptValue{};
}

Result<ScriptValue> PolicyCase::now(const Arguments& arguments) {
  BERTH_ASSIGN(const std::string text, text_argument(arguments, 0, "now(\"2026-11-02 03:00\")"));
  BERTH_ASSIGN(const Seconds moment, read_time(text));
  fixture_.set_now(moment);
  return ScriptValue{};
}

Result<ScriptValue> PolicyCase::knob(const Arguments& arguments) {
  BERTH_ASSIGN(const std::string name, text_argument(arguments, 0, "knob(\"weight\", 3)"));
  if (arguments.size() < 2) return Status(Code::kInvalid, "knob(name, value)");
  std::erase_if(policy_.knobs, [&](const ScriptKnobValue& set) { return set.name == name; });
  policy_.knobs.push_back({name, print_script_value(arguments[1])});
  BERTH_TRY(PolicyScript::load(policy_, policy_limits()).status());
  return ScriptValue{};
}

Result<bool> PolicyCase::has(Hook hook) const {
  BERTH_ASSIGN(const std::unique_ptr<PolicyScript> script, PolicyScript::load(policy_, policy_limits()));
  return script->has(hook);
}

// With the policy for every hook that it has, and plain policies for the others.
Snapshot PolicyCase::situation() const {
  Snapshot snapshot = fixture_.snapshot();
  snapshot.order_policy = "fifo";
  snapshot.score_policy = "best_fit";
  snapshot.scripts = {.policies = {policy_}, .maker = &script_policy_maker()};
  const auto uses = [&](Hook hook) {
    const Result<bool> found = has(hook);
    return found.ok() && *found;
  };
  if (uses(Hook::kOrder)) snapshot.order_policy = policy_.name;
  if (uses(Hook::kScore)) snapshot.score_policy = policy_.name;
  if (uses(Hook::kFeasible)) snapshot.filter_policy = policy_.name;
  if (uses(Hook::kVictimCost)) snapshot.victim_policy = policy_.name;
  return snapshot;
}

Result<ScriptValue> PolicyCase::round(const Arguments&) {
  const Snapshot snapshot = situation();
  BERTH_ASSIGN(const ScheduleResult result, plan_schedule(snapshot));
  if (!result.failures.empty()) return Status(Code::kInvalid, result.failures.front().message);
  ScriptTable order;
  for (const std::int64_t id : result.order) order.items.push_back(ScriptValue{fixture_.job_name(id)});
  ScriptTable starts;
  for (const Placement& placement : result.plan.placements) {
    const std::string& job = fixture_.job_name(placement.job);
    const std::string& node = snapshot.cluster.node_names[static_cast<std::size_t>(placement.node)];
    const auto known = std::ranges::find(starts.fields, job, &ScriptField::name);
    if (known == starts.fields.end()) {
      starts.fields.push_back({job, ScriptValue{node}});
    } else {
      known->value = ScriptValue{*known->value.get<std::string>() + " " + node};
    }
  }
  ScriptTable waits;
  for (const Waiting& waiting : result.plan.waiting) {
    waits.fields.push_back(
        {fixture_.job_name(waiting.job),
         ScriptValue{waiting.words.empty() ? std::string(reason_name(waiting.reason)) : waiting.words}});
  }
  for (ScriptTable* table : {&starts, &waits}) std::ranges::sort(table->fields, {}, &ScriptField::name);
  ScriptTable round;
  round.fields = {{"order", ScriptValue{std::move(order)}},
                  {"starts", ScriptValue{std::move(starts)}},
                  {"waits", ScriptValue{std::move(waits)}}};
  return ScriptValue{std::move(round)};
}

Result<Score> PolicyCase::score_with(const NodeScore& score, const Arguments& arguments) {
  BERTH_ASSIGN(const std::string node_name, text_argument(arguments, 0, "a node, as in score(\"n1\", \"a\")"));
  BERTH_ASSIGN(const std::string job_name, text_argument(arguments, 1, "a job, as in score(\"n1\", \"a\")"));
  BERTH_ASSIGN(const NodeIndex node, fixture_.find_node(node_name));
  BERTH_ASSIGN(const Job* job, fixture_.find_job(job_name));
  const Ledger ledger(fixture_.snapshot().cluster);
  const Score found = score.score(ledger.view(node), job->groups.front().shape);
  if (const std::string failure = score.failure() + score.filter_failure(); !failure.empty())
    return Status(Code::kInvalid, failure);
  return found;
}

Result<ScriptValue> PolicyCase::score(const Arguments& arguments) {
  const Snapshot& snapshot = fixture_.snapshot();
  const std::unique_ptr<NodeScore> score =
      script_policy_maker().make_score(policy_, {.cluster = &snapshot.cluster, .workload = snapshot.workload});
  BERTH_ASSIGN(const Score found, score_with(*score, arguments));
  return ScriptValue{static_cast<double>(found) / 1000};
}

Result<ScriptValue> PolicyCase::feasible(const Arguments& arguments) {
  const Snapshot& snapshot = fixture_.snapshot();
  const ScoreInput input{.cluster = &snapshot.cluster, .workload = snapshot.workload};
  BERTH_ASSIGN(std::unique_ptr<NodeScore> plain, make_score("best_fit", input));
  const std::unique_ptr<NodeScore> filter = script_policy_maker().make_filter(policy_, input, std::move(plain));
  BERTH_ASSIGN(const Score found, score_with(*filter, arguments));
  return ScriptValue{found != kInfeasibleScore};
}

Result<ScriptValue> PolicyCase::victim_cost(const Arguments& arguments) {
  BERTH_ASSIGN(const ScriptTable* table, table_argument(arguments, 0, "victim_cost{queue = \"nlp\", ran = 600}"));
  Job job;
  std::string queue;
  VictimView victim{
      .job = job, .queue = {}, .priority = 0, .ran = Seconds(0), .lost = 0, .tasks = 1, .held = MilliGpu(0)};
  for (const ScriptField& field : table->fields) {
    const auto* const integer = field.value.get<std::int64_t>();
    const std::int64_t number = integer == nullptr ? 0 : *integer;
    if (field.name == "queue" && field.value.get<std::string>() != nullptr) {
      queue = *field.value.get<std::string>();
    } else if (integer == nullptr) {
      return Status(Code::kInvalid, fmt::format("{} of a victim: expected a whole number", field.name));
    } else if (field.name == "priority") {
      victim.priority = number;
    } else if (field.name == "ran") {
      victim.ran = Seconds(number);
    } else if (field.name == "lost") {
      victim.lost = number * 1000;
    } else if (field.name == "tasks") {
      victim.tasks = number;
    } else if (field.name == "total_milli") {
      victim.held = MilliGpu(number);
    } else if (field.name == "evictions") {
      job.eviction.evictions = static_cast<std::int32_t>(number);
    } else {
      return Status(Code::kInvalid, fmt::format("a victim has no field '{}'", field.name),
                    suggest(field.name, {"queue", "priority", "ran", "lost", "tasks", "total_milli", "evictions"}));
    }
  }
  victim.queue = queue;
  const std::unique_ptr<VictimCost> policy = script_policy_maker().make_victim_cost(policy_);
  const std::int64_t cost = policy->cost(victim);
  if (!policy->failure().empty()) return Status(Code::kInvalid, policy->failure());
  return ScriptValue{static_cast<double>(cost) / 1000};
}

// {job = ...}, or {refusal = "why"}.
Result<ScriptValue> PolicyCase::admit(const Arguments& arguments) {
  BERTH_TRY(table_argument(arguments, 0, "admit(job, view)").status());
  const ScriptValue view = arguments.size() > 1 ? arguments[1] : ScriptValue{ScriptTable{}};
  if (view.get<ScriptTable>() == nullptr) return Status(Code::kInvalid, "expected a table: admit(job, view)");
  BERTH_ASSIGN(AdmitAnswer admitted, ask_admit(policy_, arguments[0], view));
  ScriptTable answer;
  if (admitted.refusal.empty()) {
    answer.fields.push_back({"job", ScriptValue{std::move(admitted.job)}});
  } else {
    answer.fields.push_back({"refusal", ScriptValue{std::move(admitted.refusal)}});
  }
  return ScriptValue{std::move(answer)};
}

Result<ScriptValue> PolicyCase::plain_hook(std::string_view hook, const Arguments& arguments) {
  BERTH_ASSIGN(const std::unique_ptr<PolicyScript> script, PolicyScript::load(policy_, policy_limits()));
  return script->host().call(hook, arguments);
}

Result<ScriptValue> PolicyCase::expect(const Arguments& arguments) {
  const ScriptValue nothing;
  const ScriptValue& found = arguments.empty() ? nothing : arguments[0];
  const ScriptValue& expected = arguments.size() < 2 ? nothing : arguments[1];
  if (are_equal(found, expected)) return ScriptValue{};
  const std::string* const what = arguments.size() < 3 ? nullptr : arguments[2].get<std::string>();
  return Status(Code::kInvalid, fmt::format("{}expected {}, found {}", what == nullptr ? "" : *what + ": ",
                                            written(expected), written(found)));
}

ScriptLimits test_limits() {
  ScriptLimits limits = policy_limits();
  limits.instructions = 10'000'000;
  return limits;
}

}  // namespace

Result<std::vector<PolicyTestResult>> test_policy(const ScriptPolicy& policy, const std::string& test_name,
                                                  const std::string& test_source) {
  std::vector<std::string> cases;
  {
    PolicyCase nothing(policy);
    BERTH_ASSIGN(const std::unique_ptr<ScriptHost> host, ScriptHost::open(test_limits()));
    BERTH_TRY(nothing.give_to(*host));
    BERTH_TRY(host->load(test_name, test_source));
    for (const std::string& name : host->functions()) {
      if (name.starts_with("test")) cases.push_back(name);
    }
  }
  if (cases.empty())
    return Status(Code::kInvalid, fmt::format("{} has no cases", test_name), "a case is a function test_...()");
  std::vector<PolicyTestResult> results;
  for (const std::string& name : cases) {
    PolicyCase one(policy);
    BERTH_ASSIGN(const std::unique_ptr<ScriptHost> host, ScriptHost::open(test_limits()));
    BERTH_TRY(one.give_to(*host));
    BERTH_TRY(host->load(test_name, test_source));
    const Status done = host->call(name, {}).status();
    results.push_back({name, done.message()});
  }
  return results;
}

}  // namespace berth
