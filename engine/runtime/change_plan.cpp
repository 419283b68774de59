#include "engine/runtime/change_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>

#include "engine/base/text.h"
#include "engine/runtime/hold_back.h"
#include "engine/runtime/reason_words.h"
#include "engine/store/settings.h"

namespace berth {

namespace {

constexpr std::size_t kMostMovesNamed = 20;
constexpr std::size_t kMostSubmittedExplained = 5;

// One round as the comparison sees it, by job.
struct RoundSeen {
  struct Start {
    std::int64_t tasks = 0;
    std::int64_t gpu_milli = 0;
    std::set<std::string> nodes = {};
  };
  std::map<std::int64_t, Start> starts;
  std::map<std::int64_t, Eviction> evictions;
  std::map<std::int64_t, Reason> waits;
  std::map<std::int64_t, Seconds> reserved;                           // expected start
  std::vector<std::int64_t> waiting;                                  // in the order in which they were looked at
  std::map<std::int64_t, std::pair<std::string, std::string>> names;  // job and queue, of all above
  std::map<std::tuple<std::string, std::string, std::string>, std::int64_t> borrowing;
  std::int64_t started_jobs = 0;
  std::int64_t lost = 0;
  std::vector<std::int64_t> running;       // before the round, in id order
  std::map<std::int64_t, NodeSeen> nodes;  // the same
  Plan plan;
  std::vector<BrokenAssertion> broken;
  std::vector<HeldBackJob> held_back;
  std::optional<RoundRecord> record;  // where the settings want one
};

Status add_names(Database& db, RoundSeen& seen) {
  BERTH_ASSIGN(Statement row,
               db.prepare("SELECT j.name, q.name FROM jobs j JOIN queues q ON q.id = j.queue_id WHERE j.id = ?1"));
  const auto add = [&](std::int64_t job) {
    if (seen.names.contains(job)) return;
    row.with(job);
    if (row.next()) seen.names.emplace(job, std::pair(std::string(row.text(0)), std::string(row.text(1))));
  };
  for (const auto& [job, start] : seen.starts) add(job);
  for (const auto& [job, reason] : seen.waits) add(job);
  for (const std::int64_t job : seen.running) add(job);
  for (const auto& [job, eviction] : seen.evictions) {
    add(job);
    if (eviction.rule != EvictionRule::kLoan) add(eviction.beneficiary);
  }
  return {};
}

// Jobs that the snapshot has and the tables before did not: numbers rise.
Result<std::vector<JobExplanation>> explain_new_jobs(Runtime& runtime, const Snapshot& snapshot, std::int64_t last_job,
                                                     const std::atomic<bool>* interrupted) {
  std::vector<JobExplanation> explanations;
  for (const Job& job : snapshot.jobs) {
    if (job.id <= last_job || explanations.size() == kMostSubmittedExplained) continue;
    BERTH_ASSIGN(JobExplanation explanation,
                 explain_loaded_job(runtime, snapshot, job.id, {.interrupted = interrupted, .next_step = false}));
    explanations.push_back(std::move(explanation));
  }
  return explanations;
}

// Plans the round and carries it out within `change`, which is to be taken back; without jobs that would break
// assertions, as a round does. `look` sees what was planned on. `is_kept`: with a record.
Result<RoundSeen> see_round(Runtime& runtime, Change& change, const AssertionWatch& watch, bool is_kept,
                            const std::atomic<bool>* interrupted,
                            const std::function<Status(const PlannedRound&)>& look) {
  RoundSeen seen;
  BERTH_ASSIGN(PlannedRound round,
               plan_round(runtime, {.interrupted = interrupted, .order_policy = {}, .score_policy = {}}));
  BERTH_TRY(look(round));
  ApplyRequest request{.actor = runtime.author(), .now = runtime.now()};
  request.last_reasons = round.loaded.last_reasons;
  BERTH_ASSIGN(const Settings settings, read_settings(runtime.db()));  // the change may be one of them
  HoldBack without(runtime, settings, round, interrupted);
  request.plan_without = without.callback();
  Plan whole = std::move(round.schedule.plan);
  BERTH_ASSIGN(ApplyResult written, write_watched_plan(change, whole, request, watch));
  if (!written.replanned) {
    without.take_back();
    round.schedule.plan = std::move(whole);
  }
  // What a refused one would be is shown all the same.
  if (written.is_refused()) BERTH_TRY(write_plan(change, round.schedule.plan, request).status());
  seen.broken = std::move(written.broken);
  seen.held_back = std::move(written.held_back);
  if (is_kept) seen.record = record_if_wanted(settings, round);
  const Plan& plan = round.schedule.plan;
  seen.started_jobs = started_jobs(plan);
  for (const Placement& placement : plan.placements) {
    RoundSeen::Start& start = seen.starts[placement.job];
    ++start.tasks;
    start.gpu_milli += placement.gpu_milli.value() * std::popcount(placement.devices);
    start.nodes.insert(round.loaded.snapshot.cluster.node_names[static_cast<std::size_t>(placement.node)]);
  }
  for (const Eviction& eviction : plan.evictions) {
    seen.evictions.emplace(eviction.job, eviction);
    seen.lost += eviction.lost;
  }
  for (const Waiting& waiting : plan.waiting) seen.waits.emplace(waiting.job, waiting.reason);
  for (const Reservation& reservation : plan.reservations) seen.reserved.emplace(reservation.job, reservation.expected);
  for (const std::int64_t job : round.schedule.order) {
    if (seen.waits.contains(job)) seen.waiting.push_back(job);
  }
  for (const RunningJob& job : round.loaded.snapshot.running) seen.running.push_back(job.job.id);
  seen.nodes = nodes_seen(round.loaded.snapshot);
  BERTH_TRY(add_names(runtime.db(), seen));
  seen.plan = plan;
  BERTH_TRY(change.settle());
  BERTH_ASSIGN(Statement rows, runtime.db().prepare("SELECT borrower, coalesce(lender, ''), resource, sum(amount) "
                                                    "FROM borrowing GROUP BY 1, 2, 3"));
  while (rows.next()) {
    seen.borrowing[{std::string(rows.text(0)), std::string(rows.text(1)), std::string(rows.text(2))}] = rows.integer(3);
  }
  BERTH_TRY(rows.status());
  return seen;
}

std::map<std::int64_t, std::int64_t> places_of(const std::vector<std::int64_t>& order) {
  std::map<std::int64_t, std::int64_t> places;
  for (const std::int64_t job : order) places.emplace(job, static_cast<std::int64_t>(places.size()) + 1);
  return places;
}

// The fewest jobs of `after` that must move for the others to stand as in `before`, whose places are given: all but a
// longest increasing run of places. Jobs that are not in both do not count.
std::vector<std::int64_t> moved_jobs(const std::map<std::int64_t, std::int64_t>& places,
                                     const std::vector<std::int64_t>& after) {
  struct Stayer {
    std::int64_t job;
    std::int64_t place;
    std::ptrdiff_t previous;
  };
  std::vector<Stayer> jobs;
  std::vector<std::ptrdiff_t> ends;  // of the run of each length that ends at the lowest place
  for (const std::int64_t job : after) {
    const auto place = places.find(job);
    if (place == places.end()) continue;
    const auto longer = std::ranges::lower_bound(
        ends, place->second, {}, [&](std::ptrdiff_t at) { return jobs[static_cast<std::size_t>(at)].place; });
    const std::ptrdiff_t previous = longer == ends.begin() ? -1 : *std::prev(longer);
    const auto at = std::ssize(jobs);
    if (longer == ends.end()) {
      ends.push_back(at);
    } else {
      *longer = at;
    }
    jobs.push_back({job, place->second, previous});
  }
  std::vector<bool> stays(jobs.size(), false);
  for (std::ptrdiff_t at = ends.empty() ? -1 : ends.back(); at >= 0; at = jobs[static_cast<std::size_t>(at)].previous) {
    stays[static_cast<std::size_t>(at)] = true;
  }
  std::vector<std::int64_t> moved;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (!stays[i]) moved.push_back(jobs[i].job);
  }
  return moved;
}

std::string say_names(const std::set<std::string>& names) {
  constexpr std::size_t kMost = 4;
  return join_some({names.begin(), names.end()}, kMost);
}

std::string say_start(const RoundSeen::Start& start) {
  const std::string gpus = print_gpu(MilliGpu(start.gpu_milli));
  return start.gpu_milli == 0
             ? print_counted(start.tasks, "task")
             : fmt::format("{} on {} GPU{}", print_counted(start.tasks, "task"), gpus, gpus == "1" ? "" : "s");
}

class RoundComparison {
 public:
  RoundComparison(const RoundSeen& before, const RoundSeen& after) : before_(before), after_(after) {}

  ChangeOutlook outlook() && {
    compare_capacity();
    for (const std::int64_t job : before_.running) {
      if (!std::ranges::binary_search(after_.running, job)) add(job, JobTurn::kStops, {});
    }
    for (const auto& [job, start] : after_.starts) {
      if (!before_.starts.contains(job)) add(job, JobTurn::kStarts, say_start(start));
    }
    compare_nodes();
    for (const auto& [job, start] : before_.starts) {
      if (!after_.starts.contains(job)) add(job, JobTurn::kStartsNoMore, say_wait(job));
    }
    for (const auto& [job, eviction] : after_.evictions) {
      if (!before_.evictions.contains(job)) add(job, JobTurn::kEvicted, say_eviction(eviction));
    }
    for (const auto& [job, eviction] : before_.evictions) {
      if (!after_.evictions.contains(job)) add(job, JobTurn::kEvictedNoMore, {});
    }
    for (const auto& [job, reason] : after_.waits) {
      const auto was = before_.waits.find(job);
      if (was == before_.waits.end() ? !before_.starts.contains(job) && !before_.evictions.contains(job)
                                     : was->second != reason) {
        add(job, JobTurn::kWaitsOtherwise, say_wait(job));
      }
    }
    for (const auto& [job, reason] : before_.waits) {
      if (!after_.waits.contains(job) && !after_.starts.contains(job)) add(job, JobTurn::kWaitsNoMore, {});
    }
    compare_reservations();
    compare_order();
    compare_borrowing();
    outlook_.started_before = before_.started_jobs;
    outlook_.started_after = after_.started_jobs;
    outlook_.lost_before = before_.lost;
    outlook_.lost_after = after_.lost;
    return std::move(outlook_);
  }

 private:
  std::pair<std::string, std::string> names(std::int64_t job) const {
    for (const RoundSeen* round : {&after_, &before_}) {
      if (const auto found = round->names.find(job); found != round->names.end()) return found->second;
    }
    return {fmt::format("#{}", job), {}};
  }

  void add(std::int64_t job, JobTurn turn, std::string detail) {
    const auto [name, queue] = names(job);
    outlook_.jobs.push_back({name, queue, turn, std::move(detail)});
  }

  std::string say_eviction(const Eviction& eviction) const {
    const std::string beneficiary = beneficiary_words(eviction, [this](std::int64_t job) { return names(job).first; });
    return fmt::format("for {}: {:.1f} GPU-hours lost", beneficiary, static_cast<double>(eviction.lost) / 3.6e6);
  }

  // What it waits for then, and what it waited for before.
  std::string say_wait(std::int64_t job) const {
    const auto after = after_.waits.find(job);
    const auto before = before_.waits.find(job);
    const std::string then = after == after_.waits.end() ? "not tried" : std::string(reason_words(after->second));
    return before == before_.waits.end() ? then : fmt::format("{}; before: {}", then, reason_words(before->second));
  }

  void compare_nodes() {
    std::size_t named = 0;
    for (const auto& [job, start] : after_.starts) {
      const auto was = before_.starts.find(job);
      if (was == before_.starts.end() || was->second.nodes == start.nodes) continue;
      if (++named <= kMostMovesNamed) {
        add(job, JobTurn::kStartsElsewhere,
            fmt::format("on {}; before: {}", say_names(start.nodes), say_names(was->second.nodes)));
      } else {
        ++outlook_.more_elsewhere;
      }
    }
  }

  void compare_reservations() {
    for (const auto& [job, expected] : after_.reserved) {
      if (!before_.reserved.contains(job)) {
        add(job, JobTurn::kReserved, fmt::format("expected start {}", print_time(expected)));
      }
    }
    for (const auto& [job, expected] : after_.reserved) {
      const auto was = before_.reserved.find(job);
      if (was == before_.reserved.end() || was->second == expected) continue;
      add(job, JobTurn::kReservedOtherwise,
          fmt::format("expected start {}; before: {}", print_time(expected), print_time(was->second)));
    }
    for (const auto& [job, expected] : before_.reserved) {
      if (!after_.reserved.contains(job)) {
        add(job, JobTurn::kReservedNoMore, fmt::format("before: expected start {}", print_time(expected)));
      }
    }
  }

  void compare_capacity() {
    outlook_.nodes = node_differences(before_.nodes, after_.nodes);
    for (NodeDifference& node : outlook_.nodes) {
      std::set<std::string> names;
      for (const std::int64_t job : node.jobs) {
        if (const auto named = before_.names.find(job); named != before_.names.end()) names.insert(named->second.first);
      }
      node.runs = say_names(names);
    }
  }

  void compare_order() {
    const auto before = places_of(before_.waiting);
    const auto after = places_of(after_.waiting);
    const std::vector<std::int64_t> moved = moved_jobs(before, after_.waiting);
    for (const std::int64_t job : std::span(moved).first(std::min(moved.size(), kMostMovesNamed))) {
      add(job, JobTurn::kMoves,
          fmt::format("place {} of {}; before: {} of {}", after.at(job), after.size(), before.at(job), before.size()));
    }
    if (moved.size() > kMostMovesNamed) outlook_.more_moves = static_cast<std::int64_t>(moved.size() - kMostMovesNamed);
  }

  void compare_borrowing() {
    auto all = before_.borrowing;
    for (const auto& [pair, amount] : after_.borrowing) all.try_emplace(pair, 0);
    for (const auto& entry : all) {
      const auto& pair = entry.first;
      const auto amount = [&](const RoundSeen& round) {
        const auto found = round.borrowing.find(pair);
        return found == round.borrowing.end() ? 0 : found->second;
      };
      if (amount(before_) == amount(after_)) continue;
      const auto& [borrower, lender, resource] = pair;
      outlook_.borrowing.push_back({borrower, lender, resource, amount(before_), amount(after_)});
    }
  }

  const RoundSeen& before_;
  const RoundSeen& after_;
  ChangeOutlook outlook_;
};

}  // namespace

std::string_view job_turn_name(JobTurn turn) {
  switch (turn) {
    case JobTurn::kStops: return "stops";
    case JobTurn::kStarts: return "starts";
    case JobTurn::kStartsElsewhere: return "starts elsewhere";
    case JobTurn::kStartsNoMore: return "starts no more";
    case JobTurn::kEvicted: return "evicted";
    case JobTurn::kEvictedNoMore: return "evicted no more";
    case JobTurn::kWaitsOtherwise: return "waits";
    case JobTurn::kWaitsNoMore: return "waits no more";
    case JobTurn::kReserved: return "reserved";
    case JobTurn::kReservedOtherwise: return "reservation moves";
    case JobTurn::kReservedNoMore: return "reserved no more";
    case JobTurn::kMoves: return "moves";
  }
  return "";
}

namespace {

// What the assertions leave of the round: jobs that are held back do not start.
void say_held_back(const RoundSeen& after, ChangeOutlook& outlook, std::vector<JobExplanation>& submitted) {
  outlook.broken = after.broken;
  outlook.held_back = after.held_back;
  outlook.holds = after.plan.holds;
  for (const AssertionHold& hold : outlook.holds) {
    if (const auto named = after.names.find(hold.job); named != after.names.end())
      outlook.held_names.emplace(hold.job, named->second.first);
  }
  for (JobExplanation& explanation : submitted) {
    const auto named =
        std::ranges::find(after.names, explanation.job, [](const auto& each) { return each.second.first; });
    if (!explanation.starts || named == after.names.end()) continue;
    if (find_hold(after.plan.holds, named->first) == nullptr) continue;
    explanation.starts = false;
    explanation.reason = Reason::kAssertion;
    explanation.sentence = reason_words(Reason::kAssertion);
    explanation.placements.clear();
    explanation.placement_nodes.clear();
  }
}

// The change with the round after it as a plan; 0 and why when it cannot be one.
Status keep_plan(Runtime& runtime, PlannedStatement statement, const RoundSeen& after, PlannedJobs jobs, int changes,
                 ChangeOutlook& outlook) {
  if (statement.text.empty()) return {};
  if (changes != 1) {
    outlook.not_kept = changes == 0 ? "the statement changes nothing" : "the statement makes several changes";
    return {};
  }
  statement.jobs = std::move(jobs);
  BERTH_ASSIGN(outlook.plan, save_plan(runtime.db(), after.plan, "change", runtime.now(),
                                       after.record ? &*after.record : nullptr, statement));
  return {};
}

}  // namespace

Result<ChangeOutlook> outlook_of_change(Runtime& runtime, const PlannedStatement& statement,
                                        const std::function<Status()>& make_change,
                                        const std::atomic<bool>* interrupted) {
  BERTH_ASSIGN(const AssertionWatch watch, AssertionWatch::begin(runtime.db(), {.interrupted = interrupted}));
  BERTH_ASSIGN(const std::int64_t last_job, runtime.db().integer("SELECT coalesce(max(id), 0) FROM jobs"));
  RoundSeen before;
  {
    BERTH_ASSIGN(Change nothing, Change::begin(runtime.db(), runtime.author(), runtime.now()));
    BERTH_ASSIGN(before,
                 see_round(runtime, nothing, watch, false, interrupted, [](const PlannedRound&) { return Status(); }));
  }
  RoundSeen after;
  std::vector<JobExplanation> submitted;
  PlannedJobs jobs;
  int changes = 0;
  runtime.judge_changes([&](Change& change) -> Result<ChangeFate> {
    ++changes;
    const auto look = [&](const PlannedRound& round) -> Status {
      BERTH_ASSIGN(jobs, read_planned_jobs(runtime.db(), last_job));
      BERTH_ASSIGN(submitted, explain_new_jobs(runtime, round.loaded.snapshot, last_job, interrupted));
      return {};
    };
    BERTH_ASSIGN(after, see_round(runtime, change, watch, !statement.text.empty(), interrupted, look));
    return ChangeFate::kTakeBack;
  });
  const Status made = make_change();
  runtime.judge_changes(nullptr);
  BERTH_TRY(made);
  ChangeOutlook outlook = RoundComparison(before, changes == 0 ? before : after).outlook();
  say_held_back(after, outlook, submitted);
  outlook.submitted = std::move(submitted);
  BERTH_TRY(keep_plan(runtime, statement, after, std::move(jobs), changes, outlook));
  return outlook;
}

}  // namespace berth
