// RUN, PLAN, APPLY.
#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "engine/base/text.h"
#include "engine/runtime/explanation.h"
#include "engine/runtime/policies.h"
#include "engine/runtime/round_driver.h"
#include "engine/runtime/scheduled_run.h"
#include "engine/store/journal.h"
#include "engine/store/names.h"
#include "shell/cmd_support.h"
#include "shell/families.h"

namespace berth {

namespace {

constexpr OptionRow kRoundOptions[] = {
    {.name = "order",
     .kind = "order_policy",
     .default_value = "",
     .sentence = "Order policy of this round instead of the setting's."},
    {.name = "score",
     .kind = "score_policy",
     .default_value = "",
     .sentence = "Score policy of this round instead of the setting's."},
};

Result<RoundOptions> round_options(Session& session, const Arguments& arguments) {
  const Options& options = arguments.options();
  for (const auto& [option, kind] : {std::pair{"order", PolicyKind::kOrder}, std::pair{"score", PolicyKind::kScore}}) {
    if (!options.given(option)) continue;
    BERTH_TRY(
        blame(check_policy(engine_of(session).db(), kind, to_lower(options.text(option))), options.value(option).span));
  }
  return RoundOptions{.interrupted = session.interrupt,
                      .order_policy = to_lower(options.text_or("order", "")),
                      .score_policy = to_lower(options.text_or("score", ""))};
}

// What jobs of a plan are called. Those that its statement brings have no rows before it is applied, and their numbers
// may go to others.
class JobWords {
 public:
  explicit JobWords(Database& db) : db_(db) {}
  JobWords(Database& db, const SavedPlan& saved)
      : db_(db), brought_(saved.statement.jobs), is_applied_(saved.state == PlanState::kApplied) {}

  std::string name(std::int64_t job) const {
    const auto brought = brought_.find(job);
    if (brought != brought_.end() && !is_applied_) return brought->second.name;
    Result<std::string> name = name_of(db_, Thing::kJob, job);
    if (name.ok()) return *std::move(name);
    return brought == brought_.end() ? fmt::format("#{}", job) : brought->second.name;
  }
  std::string group(Statement& row, std::int64_t job, std::int32_t group) const {
    const auto brought = brought_.find(job);
    const auto index = static_cast<std::size_t>(group);
    if (brought != brought_.end() && index < brought->second.groups.size()) return brought->second.groups[index];
    row.with(job, group);
    return row.next() ? std::string(row.text(0)) : fmt::format("{}", group);
  }
  PlannedJobs unborn() const { return is_applied_ ? PlannedJobs() : brought_; }

 private:
  Database& db_;
  PlannedJobs brought_;
  bool is_applied_ = false;
};

// A plan's placements by job and node, and its waiting jobs with reasons: what people and programs read.
Result<ResultTable> placements_table(Session& session, const Plan& plan, const JobWords& words) {
  ResultTable table{.title = "placements",
                    .columns = {{"job"},
                                {"task_group"},
                                {"task"},
                                {"node"},
                                {"devices"},
                                {"gpu", Align::kRight},
                                {"gpu_memory", Align::kRight},
                                {"cpu", Align::kRight},
                                {"memory", Align::kRight}},
                    .rows = {}};
  Database& db = engine_of(session).db();
  BERTH_ASSIGN(Statement group, db.prepare("SELECT name FROM task_groups WHERE job_id = ?1 AND group_index = ?2"));
  for (const Placement& p : plan.placements) {
    const Result<std::string> node = name_of(db, Thing::kNode, p.node_id);
    table.rows.push_back(
        {words.name(p.job), words.group(group, p.job, p.group), static_cast<std::int64_t>(p.task),
         node.ok() ? *node : fmt::format("#{}", p.node_id), text_or_null(print_device_mask(p.devices)),
         p.devices == 0 ? Cell(std::monostate()) : Cell(print_gpu(p.gpu_milli * std::popcount(p.devices))),
         p.gpu_memory == MiB(0) ? Cell(std::monostate()) : Cell(print_memory(p.gpu_memory)), print_cpu(p.cpu),
         print_memory(p.memory)});
  }
  return table;
}

ResultTable waiting_table(const Plan& plan, const JobWords& words) {
  ResultTable table{
      .title = "waiting", .columns = {{"job"}, {"reason"}, {"task_group"}, {"fits"}, {"needed"}, {"why"}}, .rows = {}};
  for (const Waiting& w : plan.waiting) {
    table.rows.push_back({words.name(w.job), std::string(reason_name(w.reason)), static_cast<std::int64_t>(w.group),
                          static_cast<std::int64_t>(w.fits), static_cast<std::int64_t>(w.needed),
                          std::string(reason_words(w.reason))});
  }
  return table;
}

// Who makes room for whom, and what it costs.
ResultTable evictions_table(const Plan& plan, const JobWords& words) {
  ResultTable table{.title = "evictions",
                    .columns = {{"victim"},
                                {"beneficiary"},
                                {"rule"},
                                {"gives_up"},
                                {"stops_at"},
                                {.name = "gpu_hours_lost", .decimals = 2},
                                {.name = "why", .wrap = true}},
                    .rows = {}};
  for (const Eviction& e : plan.evictions) {
    table.rows.push_back({words.name(e.job), beneficiary_words(e, [&](std::int64_t job) { return words.name(job); }),
                          std::string(eviction_rule_name(e.rule)),
                          e.whole ? std::string("all") : counted(static_cast<std::int64_t>(e.tasks.size()), "task"),
                          print_time(e.stop_at), gpu_hours_of(e.lost),
                          text_or_null(why_victim_words(e.why, e.candidates))});
  }
  return table;
}

// For whom room is held after the round, and until when they are expected to start.
ResultTable reservations_table(const Plan& plan, const JobWords& words) {
  ResultTable table{.title = "reservations", .columns = {{"job"}, {"kind"}, {"expected_start"}, {"tasks"}}, .rows = {}};
  for (const Reservation& r : plan.reservations) {
    if (r.tasks.empty()) continue;  // room under a limit: SHOW RESERVATIONS
    table.rows.push_back({words.name(r.job), std::string(reservation_kind_name(r.kind)), print_time(r.expected),
                          static_cast<std::int64_t>(r.tasks.size())});
  }
  return table;
}

// What both people and programs see of a plan beside its placements and waiting jobs.
Status add_consequences(Session& session, const Plan& plan, const JobWords& words, Output& output) {
  if (!plan.evictions.empty()) output.add(evictions_table(plan, words));
  if (ResultTable reserved = reservations_table(plan, words); !reserved.rows.empty()) output.add(std::move(reserved));
  if (!plan.reprieves.empty()) {
    std::vector<std::string> names;
    for (const std::int64_t job : plan.reprieves) names.push_back(words.name(job));
    output.add_note(
        fmt::format("told to stop, and run on because nobody needs their room any more: {}", join(names, ", ")));
  }
  BERTH_ASSIGN(const std::vector<std::int64_t> borrowing, borrowing_starts(engine_of(session), plan, words.unborn()));
  if (borrowing.empty()) return {};
  constexpr std::size_t kMostNamed = 5;
  std::vector<std::string> names;
  for (const std::int64_t job : borrowing) {
    if (names.size() < kMostNamed) names.push_back(words.name(job));
  }
  if (borrowing.size() > kMostNamed) names.push_back(fmt::format("and {} more", borrowing.size() - kMostNamed));
  output.add_note(fmt::format("on borrowed quota: {}", join(names, ", ")));
  return {};
}

// How many wait for which reason: the short form of a long list.
ResultTable reasons_table(const Plan& plan) {
  ResultTable table{.title = "waiting", .columns = {{"reason"}, {"jobs"}, {"why"}}, .rows = {}};
  std::map<Reason, std::int64_t> counts;
  for (const Waiting& w : plan.waiting) ++counts[w.reason];
  std::vector<std::pair<Reason, std::int64_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [reason, jobs] : sorted)
    table.rows.push_back({std::string(reason_name(reason)), jobs, std::string(reason_words(reason))});
  return table;
}

std::string plan_sentence(const Plan& plan, std::string_view verb) {
  MilliGpu gpu;
  std::set<std::int64_t> jobs;
  for (const Placement& p : plan.placements) {
    gpu += p.gpu_milli * std::popcount(p.devices);
    jobs.insert(p.job);
  }
  const std::int64_t growing = std::ssize(jobs) - started_jobs(plan);
  std::string which =
      growing == 0 ? "" : fmt::format(" ({} of them {} already)", growing, growing == 1 ? "runs" : "run");
  if (growing > 0 && growing == std::ssize(jobs)) which = growing == 1 ? " that runs already" : " that run already";
  std::string sentence = fmt::format(
      "{} {} of {}{} on {} GPU{}; {} waiting", verb, counted(static_cast<std::int64_t>(plan.placements.size()), "task"),
      counted(std::ssize(jobs), "job"), which, print_gpu(gpu), gpu == kWholeDevice ? "" : "s",
      counted(static_cast<std::int64_t>(plan.waiting.size()), "job"));
  if (!plan.evictions.empty())
    sentence += fmt::format("; {}", counted(static_cast<std::int64_t>(plan.evictions.size()), "eviction"));
  return sentence;
}

constexpr std::size_t kMostPlacementsShown = 20;

// People see the first placements and the reasons counted; programs see everything.
Status add_plan(Session& session, const Plan& plan, Output& output) {
  const JobWords words(engine_of(session).db());
  BERTH_ASSIGN(ResultTable placements, placements_table(session, plan, words));
  ResultTable waiting = waiting_table(plan, words);
  ResultTable shown = placements;
  if (shown.rows.size() > kMostPlacementsShown) {
    shown.rows.resize(kMostPlacementsShown);
    output.add_note(fmt::format("the first {} of {} placements; EXPLAIN PLAN shows all", kMostPlacementsShown,
                                print_count(static_cast<std::int64_t>(placements.rows.size()))));
  }
  if (!shown.rows.empty()) output.add(std::move(shown), Audience::kPeople);
  if (!waiting.rows.empty()) output.add(reasons_table(plan), Audience::kPeople);
  BERTH_TRY(add_consequences(session, plan, words, output));
  output.add(std::move(placements), Audience::kPrograms);
  output.add(std::move(waiting), Audience::kPrograms);
  return {};
}

ResultTable round_row(const RoundReport& report) {
  return {.title = "round",
          .columns = {{"round"},
                      {"started_jobs"},
                      {"placed_tasks"},
                      {"waiting_jobs"},
                      {"order_policy"},
                      {"score_policy"},
                      {"state_version"}},
          .rows = {{report.applied.round, report.applied.started_jobs, report.applied.placed_tasks,
                    report.applied.waiting_jobs, report.plan.order_policy, report.plan.score_policy,
                    report.applied.version}}};
}

// The round stands, but nobody was told, as in a copy of the database that drives the work.
void add_refusal(const RoundReport& report, Output& output) {
  const Status& refusal = report.dispatched.refusal;
  if (refusal.ok()) return;
  output.findings = true;
  output.add_note(refusal.message());
  output.add_note(refusal.hint());
}

void add_failures(const std::vector<PolicyFailure>& failures, Output& output) {
  for (const PolicyFailure& failure : failures) output.add_note("warning: " + describe(failure));
  output.findings |= !failures.empty();
}

void add_held_back(Session& session, const Plan& plan, std::span<const HeldBackJob> seen, Output& output) {
  const JobWords words(engine_of(session).db());
  add_held_back(
      seen, plan.holds, [&](std::int64_t job) { return words.name(job); }, output);
}

// Of a plan that was kept: what the assertions said of its jobs is not kept with it.
bool add_kept_holds(Session& session, const Plan& plan, const JobWords& words, Output& output) {
  constexpr std::size_t kMostNamed = 5;
  if (plan.holds.empty() && plan.surplus_holds.empty()) return false;
  ResultTable table{
      .title = "held_back", .columns = {{"job"}, {"assertion"}, {"like_job"}, {"only_surplus"}}, .rows = {}};
  const auto add_row = [&](const AssertionHold& hold, bool only_surplus) {
    const Result<std::string> name = name_of(engine_of(session).db(), Thing::kAssertion, hold.assertion);
    const std::string assertion = name.ok() ? *name : fmt::format("#{}", hold.assertion);
    table.rows.push_back({words.name(hold.job), assertion,
                          hold.like_job == 0 ? Cell(std::monostate()) : Cell(words.name(hold.like_job)),
                          std::string(only_surplus ? "yes" : "no")});
    return assertion;
  };
  std::size_t tried = 0;
  for (const AssertionHold& hold : plan.holds) {
    const std::string assertion = add_row(hold, false);
    if (hold.like_job == 0 && ++tried <= kMostNamed)
      output.add_note(fmt::format("{} is held back by assertion {}", words.name(hold.job), assertion));
  }
  for (const AssertionHold& hold : plan.surplus_holds) {
    output.add_note(
        fmt::format("{} gets only the tasks it needs, for assertion {}", words.name(hold.job), add_row(hold, true)));
  }
  const auto untried = std::ssize(plan.holds) - static_cast<std::ptrdiff_t>(tried);
  if (tried > kMostNamed) output.add_note(fmt::format("and {} more are", tried - kMostNamed));
  if (untried > 0) output.add_note(fmt::format("with them {} like them, untried", counted(untried, "job")));
  output.add(std::move(table), Audience::kPrograms);
  return true;
}

Result<Output> run_schedule(Session& session, const Arguments& arguments) {
  BERTH_ASSIGN(const RoundOptions options, round_options(session, arguments));
  BERTH_ASSIGN(ScheduledRun run, ScheduledRun::begin(engine_of(session), "schedule"));
  const Result<RoundReport> done = run_round(engine_of(session), options);
  BERTH_TRY(run.end(done.status(), done.ok() ? summary_of(*done) : std::string()));
  if (!done.ok()) return done.status();
  const RoundReport& report = *done;
  if (report.applied.is_refused()) {
    Output refused;
    add_broken(report.applied.broken, refused);
    refused.add_note("the round was refused, nothing has changed; EXPLAIN PLAN of a PLAN SCHEDULE shows it in full");
    return refused;
  }
  Output output;
  output.add(round_row(report), Audience::kPrograms);
  add_failures(report.failures, output);
  add_held_back(session, report.plan, report.applied.held_back, output);
  BERTH_TRY(add_consequences(session, report.plan, JobWords(engine_of(session).db()), output));
  output.add_note(fmt::format("round {}: {}", report.applied.round, plan_sentence(report.plan, "started")));
  if (!report.watched.ok()) output.add_note("shadow policies: " + report.watched.message());
  add_refusal(report, output);
  return output;
}

Result<Output> plan_schedule_statement(Session& session, const Arguments& arguments) {
  BERTH_ASSIGN(const RoundOptions options, round_options(session, arguments));
  BERTH_ASSIGN(const PlanReport report, save_round_plan(engine_of(session), options));
  const Plan& plan = report.round.schedule.plan;
  Output output;
  output.add(ResultTable{.title = "plan",
                         .columns = {{"plan"}, {"state_version"}, {"starts_jobs"}, {"places_tasks"}, {"waiting_jobs"}},
                         .rows = {{report.id, plan.version, started_jobs(plan),
                                   static_cast<std::int64_t>(plan.placements.size()),
                                   static_cast<std::int64_t>(plan.waiting.size())}}},
             Audience::kPrograms);
  BERTH_TRY(add_plan(session, plan, output));
  output.add_note(fmt::format("plan {}: {}", report.id, plan_sentence(plan, "would start")));
  add_failures(report.round.failures, output);
  add_broken(report.broken, output);
  add_held_back(session, plan, report.held_back, output);
  const bool is_refused = !report.broken.empty();
  if (!is_refused && (!plan.placements.empty() || !plan.evictions.empty() || !plan.reprieves.empty()))
    output.add_note(fmt::format("APPLY PLAN {}; carries it out", report.id));
  if (is_refused) output.add_note(fmt::format("APPLY PLAN {}; would be refused for that", report.id));
  return output;
}

Result<Output> apply_plan_statement(Session& session, const Arguments& arguments) {
  Result<SavedPlan> saved = load_plan(engine_of(session).db(), arguments.integer("plan"));
  if (!saved.ok()) return blame(std::move(saved).status(), arguments.span("plan"));
  const bool is_change = !saved->statement.text.empty();
  Result<RoundReport> report =
      is_change ? apply_change(session, *saved) : apply_saved_plan(engine_of(session), saved->id, session.interrupt);
  if (!report.ok()) {
    // What the error points at is a word of the planned statement.
    const Status status = report.status();
    return Status(status.code(), status.message(), status.hint()).at(arguments.span("plan"));
  }
  Output output;
  if (report->applied.is_refused()) {
    for (const BrokenAssertion& each : report->applied.broken)
      output.add_note(fmt::format("plan {} would break {}", saved->id, describe(each)));
    output.add_note("it was refused, nothing has changed; ALTER ASSERTION ... OFF switches an assertion off");
    output.findings = true;
    output.failed = Code::kConflict;
    return output;
  }
  output.add(round_row(*report), Audience::kPrograms);
  const JobWords words(engine_of(session).db());
  output.findings |= add_kept_holds(session, report->plan, words, output);
  BERTH_TRY(add_consequences(session, report->plan, words, output));
  if (is_change) output.add_note(fmt::format("done: {}", saved->statement.spoken));
  output.add_note(fmt::format("round {}: {}", report->applied.round, plan_sentence(report->plan, "started")));
  add_refusal(*report, output);
  return output;
}

// Whether assertions would let a plan be applied now.
Status add_verdict(Session& session, const SavedPlan& saved, Output& output) {
  Runtime& runtime = engine_of(session);
  BERTH_ASSIGN(const std::vector<Assertion> assertions, list_assertions(runtime.db()));
  if (std::ranges::none_of(assertions, &Assertion::is_on)) return {};
  constexpr std::string_view kUnknown = "whether it would break an assertion cannot be told";
  if (runtime.read_only()) {
    output.add_note(fmt::format("{} in a read-only session", kUnknown));
    return {};
  }
  const Result<std::vector<BrokenAssertion>> broken = saved.statement.text.empty()
                                                          ? broken_by_saved_plan(runtime, saved, session.interrupt)
                                                          : broken_by_change(session, saved);
  if (broken.status().code() == Code::kInterrupted) return broken.status();
  if (!broken.ok()) {
    output.add_note(fmt::format("{}: {}", kUnknown, broken.status().message()));
    return {};
  }
  add_broken(*broken, output);
  if (!broken->empty()) output.add_note(fmt::format("APPLY PLAN {}; would be refused for that", saved.id));
  return {};
}

Result<Output> explain_plan(Session& session, const Arguments& arguments) {
  Result<SavedPlan> saved = load_plan(engine_of(session).db(), arguments.integer("plan"));
  if (!saved.ok()) return blame(std::move(saved).status(), arguments.span("plan"));
  const JobWords words(engine_of(session).db(), *saved);
  BERTH_ASSIGN(ResultTable placements, placements_table(session, saved->plan, words));
  Output output;
  output.add(std::move(placements));
  output.add(waiting_table(saved->plan, words));
  (void)add_kept_holds(session, saved->plan, words, output);  // nothing is wrong with the plan
  if (saved->state == PlanState::kOpen) {
    BERTH_TRY(add_consequences(session, saved->plan, words, output));
  } else if (!saved->plan.evictions.empty()) {
    output.add(evictions_table(saved->plan, words));
  }
  if (!saved->statement.text.empty()) output.add_note(fmt::format("after: {}", saved->statement.spoken));
  output.add_note(plan_sentence(saved->plan, saved->state == PlanState::kApplied ? "started" : "would start"));
  BERTH_ASSIGN(const std::int64_t version, state_version(engine_of(session).db()));
  if (saved->state == PlanState::kApplied) {
    output.add_note("it was applied");
  } else if (version != saved->plan.version) {
    BERTH_ASSIGN(const std::string moves, describe_moves_since(engine_of(session).db(), saved->plan.version));
    output.add_note(fmt::format("it can no longer be applied, the state has moved: {}", moves));
  } else {
    const Status moved = check_not_moved(engine_of(session).db(), saved->plan, version, engine_of(session).now());
    if (!moved.ok()) {
      output.add_note(fmt::format("it can no longer be applied: {}", moved.message()));
      output.add_note(makes_anew(saved->statement));
    } else {
      BERTH_TRY(add_verdict(session, *saved, output));
    }
  }
  return output;
}

constexpr std::string_view kRoundFamily = "rounds";

constexpr CommandRow kRoundRows[] = {
    {.family = kRoundFamily,
     .syntax = "PLAN SCHEDULE [WITH (<options>)]",
     .effect = Effect::kChanges,
     .handler = plan_schedule_statement,
     .summary = "Shows what a scheduling round would do and keeps it as a numbered plan; nothing starts.",
     .example = "PLAN SCHEDULE",
     .options = kRoundOptions,
     .details = "PLAN before a statement that changes or imports nodes, queues, quotas, loans, jobs, policies, "
                "assertions or settings shows what the next round would do differently after it: PLAN ALTER QUEUE "
                "search SET QUOTA (A100 = 16), PLAN SUBMIT JOB eval IN QUEUE search WITH (gpus = 8). "
                "Nothing changes; the change and that round are kept as a plan, too.",
     .transactional = true},
    {.family = kRoundFamily,
     .syntax = "APPLY PLAN <plan:integer>",
     .effect = Effect::kChanges,
     .handler = apply_plan_statement,
     .summary = "Carries out a plan exactly; refused when the state has moved since, saying what moved.",
     .example = "APPLY PLAN 1",
     .details =
         "That a loan or a dated quota has begun or ended since then counts as moved, too. Of the plan of a "
         "change: makes the change and carries out the round that was shown with it, both or neither. One that "
         "would break an assertion is refused, with exit code 4. So it ends where it holds jobs back for one, as "
         "RUN SCHEDULE does."},
    {.family = kRoundFamily,
     .syntax = "RUN SCHEDULE [WITH (<options>)]",
     .effect = Effect::kChanges,
     .handler = run_schedule,
     .summary = "Runs one scheduling round: plans and applies at once.",
     .example = "RUN SCHEDULE",
     .options = kRoundOptions,
     .details = "One round runs at a time; if another session runs one, the answer is who, and exit code 3."},
    {.family = kRoundFamily,
     .syntax = "EXPLAIN PLAN <plan:integer>",
     .effect = Effect::kReads,
     .handler = explain_plan,
     .summary = "Shows a plan in full: every placement, every waiting job with its reason, and whether it can still be "
                "applied: exit code 4 when it would break an assertion.",
     .example = "EXPLAIN PLAN 1"},
};

}  // namespace

std::span<const CommandRow> round_commands() { return kRoundRows; }

}  // namespace berth
