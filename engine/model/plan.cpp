#include "engine/model/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/base/text.h"

namespace berth {

namespace {

constexpr std::array<std::string_view, 26> kReasonNames = {"none",
                                                           "node_not_up",
                                                           "pool",
                                                           "no_device",
                                                           "device_model",
                                                           "device_memory",
                                                           "node_too_small",
                                                           "unhealthy_device",
                                                           "cpu",
                                                           "memory",
                                                           "gpu",
                                                           "gpu_fragmented",
                                                           "gpu_memory",
                                                           "link_group",
                                                           "locality",
                                                           "gang",
                                                           "order",
                                                           "reserved",
                                                           "blocked",
                                                           "quota",
                                                           "limit",
                                                           "lender_keeps",
                                                           "dependency",
                                                           "assertion",
                                                           "policy",
                                                           "kept_out"};

}  // namespace

std::string_view reason_name(Reason reason) { return kReasonNames[static_cast<std::size_t>(reason)]; }

Result<Reason> read_reason(std::string_view text) {
  const auto found = std::find(kReasonNames.begin(), kReasonNames.end(), text);
  if (found == kReasonNames.end()) return Status(Code::kInvalid, fmt::format("'{}' is not a reason", text));
  return static_cast<Reason>(found - kReasonNames.begin());
}

std::int64_t started_jobs(const Plan& plan) {
  // Every gang has that task, and one that runs has it already.
  return std::ranges::count_if(plan.placements, [](const Placement& p) { return p.group == 0 && p.task == 0; });
}

std::string plan_to_text(const Plan& plan) {
  std::string text = fmt::format("plan version={} at={} seed={} order={} score={}\n", plan.version,
                                 plan.planned_at.value(), plan.seed, plan.order_policy, plan.score_policy);
  for (const Eviction& e : plan.evictions) {
    fmt::format_to(std::back_inserter(text), "evict job={} for={} rule={} whole={} lost={} at={}", e.job, e.beneficiary,
                   eviction_rule_name(e.rule), e.whole, e.lost, e.stop_at.value());
    for (const TaskName& t : e.tasks) fmt::format_to(std::back_inserter(text), " {}.{}", t.group, t.task);
    text += '\n';
  }
  for (const std::int64_t job : plan.reprieves) fmt::format_to(std::back_inserter(text), "reprieve job={}\n", job);
  for (const Placement& p : plan.placements) {
    fmt::format_to(std::back_inserter(text),
                   "place job={} group={} task={} node={} devices={} gpu={} gpu_memory={} cpu={} memory={}\n", p.job,
                   p.group, p.task, p.node_id, print_device_mask(p.devices), p.gpu_milli.value(), p.gpu_memory.value(),
                   p.cpu.value(), p.memory.value());
  }
  for (const Waiting& w : plan.waiting) {
    fmt::format_to(std::back_inserter(text), "wait job={} reason={} group={} fits={} needed={}", w.job,
                   reason_name(w.reason), w.group, w.fits, w.needed);
    if (w.queue != 0) {
      fmt::format_to(std::back_inserter(text), " queue={} resource={} short={}", w.queue, w.resource, w.short_by);
    }
    if (w.in_pieces) text += " in_pieces";
    if (w.passed_over) text += " passed_over";
    if (w.behind_job != 0) fmt::format_to(std::back_inserter(text), " behind={}", w.behind_job);
    if (w.beneficiary != 0) fmt::format_to(std::back_inserter(text), " beneficiary={}", w.beneficiary);
    text += '\n';
  }
  for (const AssertionHold& h : plan.holds) {
    fmt::format_to(std::back_inserter(text), "hold job={} assertion={} like={}\n", h.job, h.assertion, h.like_job);
  }
  for (const AssertionHold& h : plan.surplus_holds) {
    fmt::format_to(std::back_inserter(text), "hold_surplus job={} assertion={}\n", h.job, h.assertion);
  }
  for (const Reservation& r : plan.reservations) {
    fmt::format_to(std::back_inserter(text), "reserve job={} kind={} at={} tasks={}\n", r.job,
                   reservation_kind_name(r.kind), r.expected.value(), r.tasks.size());
  }
  for (const QuotaMark& m : plan.marks) fmt::format_to(std::back_inserter(text), "mark job={} {}\n", m.job, m.mark);
  for (const QueueOutlook& o : plan.outlook) {
    fmt::format_to(std::back_inserter(text), "outlook queue={} resource={} fair_share={} starves_since={}\n", o.queue,
                   o.resource, o.fair_share, o.starves_since.value());
  }
  return text;
}

namespace {

using Json = nlohmann::ordered_json;

void add_holds(const char* key, std::span<const AssertionHold> holds, Json& json) {
  for (const AssertionHold& h : holds)
    json[key].push_back(Json{{"job", h.job}, {"assertion", h.assertion}, {"like_job", h.like_job}});
}

Json json_of(const std::vector<Reservation>& reservations) {
  Json json = Json::array();
  for (const Reservation& r : reservations) {
    Json tasks = Json::array();
    for (const ReservedTask& t : r.tasks) {
      tasks.push_back(Json{{"group", t.group},
                           {"task", t.task},
                           {"node_id", t.node_id},
                           {"devices", t.holding.devices},
                           {"gpu_milli", t.holding.gpu_milli.value()},
                           {"gpu_memory_mib", t.holding.gpu_memory.value()},
                           {"cpu_milli", t.holding.cpu.value()},
                           {"memory_mib", t.holding.memory.value()}});
    }
    json.push_back(Json{{"job", r.job},
                        {"kind", reservation_kind_name(r.kind)},
                        {"made_at", r.made_at.value()},
                        {"expected", r.expected.value()},
                        {"expires", r.expires.value()},
                        {"tasks", std::move(tasks)}});
  }
  return json;
}

}  // namespace

std::string plan_to_json(const Plan& plan) {
  Json json;
  json["version"] = plan.version;
  json["planned_at"] = plan.planned_at.value();
  json["seed"] = plan.seed;
  json["order_policy"] = plan.order_policy;
  json["score_policy"] = plan.score_policy;
  Json& placements = json["placements"] = Json::array();
  for (const Placement& p : plan.placements) {
    placements.push_back(Json{{"job", p.job},
                              {"group", p.group},
                              {"task", p.task},
                              {"node_id", p.node_id},
                              {"devices", p.devices},
                              {"gpu_milli", p.gpu_milli.value()},
                              {"gpu_memory_mib", p.gpu_memory.value()},
                              {"cpu_milli", p.cpu.value()},
                              {"memory_mib", p.memory.value()}});
  }
  Json& waiting = json["waiting"] = Json::array();
  for (const Waiting& w : plan.waiting) {
    waiting.push_back(Json{{"job", w.job},
                           {"reason", reason_name(w.reason)},
                           {"group", w.group},
                           {"fits", w.fits},
                           {"needed", w.needed},
                           {"queue", w.queue},
                           {"resource", w.resource},
                           {"short_by", w.short_by},
                           {"in_pieces", w.in_pieces},
                           {"passed_over", w.passed_over},
                           {"behind_job", w.behind_job},
                           {"beneficiary", w.beneficiary}});
    if (!w.words.empty()) waiting.back()["words"] = w.words;
  }
  Json& evictions = json["evictions"] = Json::array();
  for (const Eviction& e : plan.evictions) {
    Json tasks = Json::array();
    for (const TaskName& t : e.tasks) tasks.push_back(Json{{"group", t.group}, {"task", t.task}});
    evictions.push_back(Json{{"job", e.job},
                             {"beneficiary", e.beneficiary},
                             {"rule", eviction_rule_name(e.rule)},
                             {"whole", e.whole},
                             {"tasks", std::move(tasks)},
                             {"lost", e.lost},
                             {"stop_at", e.stop_at.value()},
                             {"why", victim_choice_reason_name(e.why)},
                             {"candidates", e.candidates}});
  }
  Json& reprieves = json["reprieves"] = Json::array();
  for (const std::int64_t job : plan.reprieves) reprieves.push_back(Json{{"job", job}});
  json["reservations"] = json_of(plan.reservations);
  if (!plan.loan_starts.empty()) json["loan_starts"] = json_of(plan.loan_starts);
  Json& marks = json["marks"] = Json::array();
  for (const QuotaMark& m : plan.marks) marks.push_back(Json{{"job", m.job}, {"mark", m.mark}});
  Json& outlook = json["outlook"] = Json::array();
  for (const QueueOutlook& o : plan.outlook) {
    outlook.push_back(Json{{"queue", o.queue},
                           {"resource", o.resource},
                           {"fair_share", o.fair_share},
                           {"starves_since", o.starves_since.value()}});
  }
  add_holds("holds", plan.holds, json);
  add_holds("surplus_holds", plan.surplus_holds, json);
  return json.dump();
}

namespace {

// Reads the integers of one object. The JSON library would turn 1.5 into 1 and 1e300 into anything.
class PlanFields {
 public:
  explicit PlanFields(const nlohmann::json& object) : object_(object) {}

  template <std::integral Integer>
  PlanFields& read(const char* key, Integer& value) {
    const nlohmann::json& item = object_.at(key);
    const bool fits = item.is_number_unsigned()
                          ? std::in_range<Integer>(item.get<std::uint64_t>())
                          : item.is_number_integer() && std::in_range<Integer>(item.get<std::int64_t>());
    if (fits) {
      value = item.get<Integer>();
    } else if (status_.ok()) {
      status_ = Status(Code::kCorrupt, fmt::format("not a plan: {} is no integer in range", key));
    }
    return *this;
  }
  template <class Tag>
  PlanFields& read(const char* key, Quantity<Tag>& amount) {
    std::int64_t value = 0;
    read(key, value);
    amount = Quantity<Tag>(value);
    return *this;
  }
  Status status() const { return status_; }

 private:
  const nlohmann::json& object_;
  Status status_;
};

Status read_holds(const nlohmann::json& json, const char* key, std::vector<AssertionHold>& holds) {
  if (!json.contains(key)) return {};
  for (const nlohmann::json& item : json.at(key)) {
    AssertionHold& h = holds.emplace_back();
    BERTH_TRY(PlanFields(item).read("job", h.job).read("assertion", h.assertion).read("like_job", h.like_job).status());
  }
  return {};
}

Status read_reservations(const nlohmann::json& json, std::vector<Reservation>& reservations) {
  for (const nlohmann::json& item : json) {
    Reservation r;
    BERTH_ASSIGN(r.kind, read_reservation_kind(item.at("kind").get<std::string>()));
    BERTH_TRY(PlanFields(item)
                  .read("job", r.job)
                  .read("made_at", r.made_at)
                  .read("expected", r.expected)
                  .read("expires", r.expires)
                  .status());
    for (const nlohmann::json& task : item.at("tasks")) {
      ReservedTask t;
      t.holding.node = -1;
      BERTH_TRY(PlanFields(task)
                    .read("group", t.group)
                    .read("task", t.task)
                    .read("node_id", t.node_id)
                    .read("devices", t.holding.devices)
                    .read("gpu_milli", t.holding.gpu_milli)
                    .read("gpu_memory_mib", t.holding.gpu_memory)
                    .read("cpu_milli", t.holding.cpu)
                    .read("memory_mib", t.holding.memory)
                    .status());
      r.tasks.push_back(t);
    }
    reservations.push_back(std::move(r));
  }
  return {};
}

}  // namespace

Result<Plan> plan_from_json(std::string_view text) {
  Plan plan;
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    BERTH_TRY(PlanFields(json)
                  .read("version", plan.version)
                  .read("planned_at", plan.planned_at)
                  .read("seed", plan.seed)
                  .status());
    plan.order_policy = json.at("order_policy");
    plan.score_policy = json.at("score_policy");
    for (const nlohmann::json& item : json.at("placements")) {
      Placement p;
      p.node = -1;
      BERTH_TRY(PlanFields(item)
                    .read("job", p.job)
                    .read("group", p.group)
                    .read("task", p.task)
                    .read("node_id", p.node_id)
                    .read("devices", p.devices)
                    .read("gpu_milli", p.gpu_milli)
                    .read("gpu_memory_mib", p.gpu_memory)
                    .read("cpu_milli", p.cpu)
                    .read("memory_mib", p.memory)
                    .status());
      plan.placements.push_back(p);
    }
    for (const nlohmann::json& item : json.at("waiting")) {
      Waiting w;
      BERTH_ASSIGN(w.reason, read_reason(item.at("reason").get<std::string>()));
      BERTH_TRY(PlanFields(item)
                    .read("job", w.job)
                    .read("group", w.group)
                    .read("fits", w.fits)
                    .read("needed", w.needed)
                    .read("queue", w.queue)
                    .read("short_by", w.short_by)
                    .read("behind_job", w.behind_job)
                    .read("beneficiary", w.beneficiary)
                    .status());
      w.resource = item.at("resource");
      w.in_pieces = item.at("in_pieces");
      w.passed_over = item.at("passed_over");
      if (item.contains("words")) w.words = item.at("words");
      plan.waiting.push_back(w);
    }
    for (const nlohmann::json& item : json.at("evictions")) {
      Eviction e;
      BERTH_ASSIGN(e.rule, read_eviction_rule(item.at("rule").get<std::string>()));
      e.whole = item.at("whole");
      BERTH_TRY(PlanFields(item)
                    .read("job", e.job)
                    .read("beneficiary", e.beneficiary)
                    .read("lost", e.lost)
                    .read("stop_at", e.stop_at)
                    .status());
      for (const nlohmann::json& task : item.at("tasks")) {
        TaskName name;
        BERTH_TRY(PlanFields(task).read("group", name.group).read("task", name.task).status());
        e.tasks.push_back(name);
      }
      if (item.contains("why")) {  // plans of older programs do not say
        BERTH_ASSIGN(e.why, read_victim_choice_reason(item.at("why").get<std::string>()));
        BERTH_TRY(PlanFields(item).read("candidates", e.candidates).status());
      }
      plan.evictions.push_back(std::move(e));
    }
    for (const nlohmann::json& item : json.at("reprieves")) {
      BERTH_TRY(PlanFields(item).read("job", plan.reprieves.emplace_back()).status());
    }
    BERTH_TRY(read_reservations(json.at("reservations"), plan.reservations));
    if (json.contains("loan_starts")) BERTH_TRY(read_reservations(json.at("loan_starts"), plan.loan_starts));
    for (const nlohmann::json& item : json.at("marks")) {
      QuotaMark m;
      BERTH_TRY(PlanFields(item).read("job", m.job).read("mark", m.mark).status());
      plan.marks.push_back(m);
    }
    for (const nlohmann::json& item : json.at("outlook")) {
      QueueOutlook o;
      o.resource = item.at("resource");
      BERTH_TRY(PlanFields(item)
                    .read("queue", o.queue)
                    .read("fair_share", o.fair_share)
                    .read("starves_since", o.starves_since)
                    .status());
      plan.outlook.push_back(std::move(o));
    }
    BERTH_TRY(read_holds(json, "holds", plan.holds));
    BERTH_TRY(read_holds(json, "surplus_holds", plan.surplus_holds));
  } catch (const nlohmann::json::exception& error) {
    return Status(Code::kCorrupt, fmt::format("not a plan: {}", error.what()));
  }
  return plan;
}

}  // namespace berth
