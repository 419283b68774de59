#include "engine/runtime/counterfactual.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/text.h"
#include "engine/round/forecast.h"
#include "engine/runtime/explanation.h"
#include "engine/runtime/policies.h"
#include "engine/runtime/round_driver.h"
#include "engine/store/names.h"
#include "engine/store/quota_records.h"
#include "engine/store/stray_records.h"

namespace berth {

namespace {

constexpr std::size_t kMostNamesShown = 5;

std::string_view change_name(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::kQuota: return "quota";
    case ChangeKind::kModel: return "device model";
    case ChangeKind::kLocality: return "locality";
    case ChangeKind::kTasks: return "fewer tasks";
    case ChangeKind::kGpus: return "fewer GPUs";
    case ChangeKind::kPriority: return "priority";
    case ChangeKind::kOrder: return "order";
    case ChangeKind::kNodes: return "nodes";
    case ChangeKind::kEvict: return "eviction";
  }
  return "";
}

struct RiseWords {
  std::string_view verb;
  std::string_view of_what;
  std::string_view keyword;
  std::int64_t QuotaTerms::*amount;
  QuotaColumn column;
};
// By QuotaTerm.
constexpr RiseWords kRiseWords[] = {
    {"has", "", "QUOTA", &QuotaTerms::quota, QuotaColumn::kQuota},
    {"has", " as its limit", "LIMIT", &QuotaTerms::limit, QuotaColumn::kLimit},
    {"lends", "", "LEND LIMIT", &QuotaTerms::lend_limit, QuotaColumn::kLendLimit},
};

std::string gpu_hours(std::int64_t milli_seconds) {
  return fmt::format("{:.1f} GPU-hours", static_cast<double>(milli_seconds) / 1000.0 / 3600.0);
}

class CounterfactualWords {
 public:
  CounterfactualWords(Runtime& runtime, const Snapshot& snapshot, const Job& job, std::string_view job_name,
                      std::int64_t ahead, std::size_t most_names)
      : runtime_(runtime),
        snapshot_(snapshot),
        job_(job),
        job_name_(job_name),
        ahead_(ahead),
        most_names_(most_names) {}

  Result<CounterfactualLine> say(const WhatIf& change) const {
    CounterfactualLine line;
    line.change = change_name(change.kind);
    switch (change.kind) {
      case ChangeKind::kQuota: BERTH_TRY(say_quotas(change, line)); break;
      case ChangeKind::kModel:
        line.sentence = fmt::format("it may run on {} too", model_names(change.models, snapshot_.cluster));
        break;
      case ChangeKind::kLocality:
        line.sentence = change.locality == Locality::kAny
                            ? "its tasks may lie anywhere"
                            : fmt::format("its tasks share a {} instead of a {}", locality_name(change.locality),
                                          locality_name(group(change).locality));
        break;
      case ChangeKind::kTasks:
        line.sentence = fmt::format("it starts with {} task{} instead of {}", change.count,
                                    change.count == 1 ? "" : "s", group(change).min_tasks);
        break;
      case ChangeKind::kGpus:
        line.sentence =
            fmt::format("its tasks ask for {} instead of {}", count_gpus(change.count), group(change).shape.gpu_count);
        break;
      case ChangeKind::kPriority: {
        const std::string& name = snapshot_.priority_classes[static_cast<std::size_t>(change.priority_class)].name;
        line.sentence = fmt::format("its priority class is {}", name);
        line.statement = fmt::format("ALTER JOB {} SET PRIORITY {};", job_name_, name);
        break;
      }
      case ChangeKind::kOrder: {
        BERTH_ASSIGN(const std::string names, job_names(change.jobs));
        line.sentence = change.jobs.size() == 1 ? fmt::format("it goes before {}", names)
                                                : fmt::format("it goes before {} of the {} jobs ahead of it: {}",
                                                              change.jobs.size(), ahead_, names);
        break;
      }
      case ChangeKind::kNodes: BERTH_TRY(say_nodes(change, line)); break;
      case ChangeKind::kEvict: {
        BERTH_ASSIGN(const std::string names, job_names(change.jobs));
        line.sentence = fmt::format("{} {}", names, others_follow(change.jobs) ? "cancelled" : "ended");
        line.cost = fmt::format("{} of {} lost", gpu_hours(change.lost),
                                print_counted(static_cast<std::int64_t>(change.jobs.size()), "job"));
        break;
      }
    }
    if (change.goes_first) {
      line.sentence += ", and it goes before all jobs ahead of it";
      line.statement.clear();  // alone it would not start the job
    }
    if (change.may_be_smaller) line.sentence += "; a smaller one may exist";
    if (!change.evictions.empty()) {
      std::int64_t lost = 0;
      for (const Eviction& eviction : change.evictions) lost += eviction.lost;
      line.cost =
          fmt::format("{} evicted for it, {} lost",
                      print_counted(static_cast<std::int64_t>(change.evictions.size()), "job"), gpu_hours(lost));
    }
    if (const Seconds start = last_end(change); start > snapshot_.now) {
      line.starts_later = true;
      line.sentence += fmt::format(
          "; room would be made now, and it starts about {}, when those told to stop have ended", print_time(start));
    }
    return line;
  }

 private:
  // Of those that the round would evict for it: the end of the last grace; before now = there is none.
  // Jobs wait for the end of one of these, and would start with it.
  bool others_follow(const std::vector<std::int64_t>& jobs) const {
    return std::ranges::any_of(snapshot_.jobs, [&](const Job& job) {
      return std::ranges::any_of(
          jobs, [&](std::int64_t ended) { return std::ranges::find(job.after, ended) != job.after.end(); });
    });
  }

  Seconds last_end(const WhatIf& change) const {
    Seconds last(-1);
    for (const Eviction& eviction : change.evictions) {
      if (eviction.stop_at <= snapshot_.now) continue;
      const auto run =
          std::ranges::find_if(snapshot_.running, [&](const RunningJob& each) { return each.job.id == eviction.job; });
      last = std::max(last, eviction.stop_at + (run == snapshot_.running.end() ? Seconds(0) : run->end_delay));
    }
    return last;
  }

  const TaskGroup& group(const WhatIf& change) const { return job_.groups[static_cast<std::size_t>(change.group)]; }

  // A statement changes the row that the amount comes from: with its dates, where it has some.
  Status say_quotas(const WhatIf& change, CounterfactualLine& line) const {
    std::vector<std::string> parts;
    std::vector<std::string> statements;
    for (const QuotaRise& rise : change.quotas) {
      const auto q = static_cast<std::size_t>(rise.queue);
      const auto r = static_cast<std::size_t>(rise.resource);
      const QuotaResource& resource = snapshot_.quotas.resources[r];
      const QuotaTerms& terms = snapshot_.quotas.terms[q][r];
      const RiseWords& words = kRiseWords[static_cast<std::size_t>(rise.term)];
      const std::int64_t before = terms.*(words.amount);
      const std::string& name = snapshot_.queues[q].name;
      parts.push_back(fmt::format("queue {} {} {} more{} ({} instead of {})", name, words.verb,
                                  describe_amount(resource, rise.amount), words.of_what,
                                  plain_amount(resource, before + rise.amount), plain_amount(resource, before)));
      BERTH_ASSIGN(const QuotaPeriod period,
                   period_in_force(runtime_.db(), snapshot_.queues[q].id, resource.name, words.column, snapshot_.now));
      statements.push_back(fmt::format("ALTER QUEUE {} SET {} ({} = {}){};", name, words.keyword, resource.name,
                                       plain_amount(resource, before + rise.amount), period_clause(period)));
    }
    line.sentence = join(parts, ", ");
    line.statement = join(statements, " ");
    return {};
  }

  static std::string plain_amount(const QuotaResource& resource, std::int64_t amount) {
    switch (resource.kind) {
      case ResourceKind::kCpu: return print_cpu(MilliCpu(amount));
      case ResourceKind::kMemory: return print_memory(MiB(amount));
      case ResourceKind::kGpu: break;
    }
    return print_gpu(MilliGpu(amount));
  }

  Status say_nodes(const WhatIf& change, CounterfactualLine& line) const {
    std::vector<std::string> names;
    std::string states;
    for (const NodeIndex node : change.nodes) {
      const auto n = static_cast<std::size_t>(node);
      names.push_back(snapshot_.cluster.node_names[n]);
      states = node_state_name(snapshot_.cluster.nodes[n].state);
      line.statement += fmt::format("{}RESUME NODE {};", line.statement.empty() ? "" : " ", names.back());
    }
    if (names.size() > kMostNamesShown) line.statement.clear();
    line.sentence = names.size() == 1 ? fmt::format("node {} is up; it is {}", names.front(), states)
                                      : fmt::format("nodes {} are up", join_some(names, most_names_));
    BERTH_ASSIGN(const std::vector<std::string> closed, nodes_of_strays(runtime_.db()));
    const auto is_closed = [&](const std::string& node) { return std::ranges::find(closed, node) != closed.end(); };
    if (std::ranges::any_of(names, is_closed)) line.statement = "STOP STRAYS;";
    return {};
  }

  Result<std::string> job_names(const std::vector<std::int64_t>& jobs) const {
    std::vector<std::string> names;
    for (const std::int64_t job : jobs) {
      if (names.size() > most_names_) {
        names.emplace_back();  // counted, not shown
        continue;
      }
      BERTH_ASSIGN(std::string name, job_name(runtime_.db(), job));
      names.push_back(std::move(name));
    }
    return join_some(names, most_names_);
  }

  Runtime& runtime_;
  const Snapshot& snapshot_;
  const Job& job_;
  std::string job_name_;
  std::int64_t ahead_;  // jobs before it in the order
  std::size_t most_names_;
};

CounterfactualLine say_wait(const Forecast& forecast, const std::string& when, bool is_measured,
                            Seconds guessed_duration) {
  CounterfactualLine line{.change = "wait", .sentence = {}, .statement = {}, .cost = {}};
  if (!forecast.p50) {
    line.sentence = "waiting alone will not start it";
    return line;
  }
  line.sentence = fmt::format("wait until about {}", print_time(*forecast.p50));
  if (!when.empty()) line.sentence += fmt::format(", when {}", when);
  if (forecast.p90 && *forecast.p90 != *forecast.p50) {
    line.sentence +=
        fmt::format("; {} until {}", is_measured ? "nine times in ten" : "if jobs run long", print_time(*forecast.p90));
  }
  if (forecast.guesses > 0) {
    line.sentence += fmt::format(" - if {} of which no duration is known take {}",
                                 print_counted(forecast.guesses, "job"), print_duration(guessed_duration));
  }
  return line;
}

}  // namespace

Result<Counterfactual> explain_counterfactual(Runtime& runtime, std::string_view name,
                                              const std::atomic<bool>* interrupted) {
  BERTH_ASSIGN(const std::int64_t id, find_job(runtime.db(), name));
  BERTH_ASSIGN(Loaded loaded, load_for_planning(runtime, {.now = runtime.now(), .node_names = true, .also_job = id}));
  BERTH_TRY(replace_failing_scripts(runtime.db(), loaded.snapshot, interrupted));
  const Snapshot& snapshot = loaded.snapshot;
  BERTH_ASSIGN(const JobExplanation now,
               explain_loaded_job(runtime, snapshot, id, {.interrupted = interrupted, .next_step = false}));
  Counterfactual answer;
  answer.job = now.job;
  answer.state = now.state;
  answer.why = now.sentence;
  answer.starts_anyway = now.starts;
  if (now.starts || (now.state != JobState::kPending && now.state != JobState::kHeld)) return answer;
  if (now.state == JobState::kHeld) {
    BERTH_ASSIGN(const std::optional<StrayOfJob> stray, stray_of_job(runtime.db(), id));
    if (stray) {
      answer.lines.push_back({"release",
                              "its task from before the restore has ended, and it is released",
                              fmt::format("STOP STRAYS OF JOB {};", id),
                              {}});
    } else {
      answer.lines.push_back({"release", "it is released", fmt::format("RELEASE JOB {};", now.job), {}});
    }
  }
  if (now.reason == Reason::kAssertion) {  // which no plan can foresee
    answer.lines.push_back({"wait", "each round tries it anew; or the assertion is altered", "SHOW ASSERTIONS;", {}});
    return answer;
  }
  const auto workload = [&](std::span<const RunningJob* const> ended, const Job& was, const Job& is) {
    return workload_then(loaded, ended, was, is);
  };
  BERTH_ASSIGN(const WhatIfAnswer found, what_would_start(snapshot, id, workload, interrupted));
  answer.plans = found.plans;
  const Job& job = *std::ranges::find(snapshot.jobs, id, &Job::id);
  const CounterfactualWords words(runtime, snapshot, job, now.job, found.ahead, SIZE_MAX);
  const CounterfactualWords few_names(runtime, snapshot, job, now.job, found.ahead, kMostNamesShown);
  for (const WhatIf& change : found.changes) {
    BERTH_ASSIGN(CounterfactualLine line, words.say(change));
    BERTH_ASSIGN(const CounterfactualLine shown, few_names.say(change));
    line.shown = shown.sentence;
    answer.lines.push_back(std::move(line));
  }
  if (now.state == JobState::kPending) {
    answer.lines.push_back(say_wait({.p50 = now.start_p50, .p90 = now.start_p90, .guesses = now.guesses},
                                    now.start_when, now.is_measured(), snapshot.rules.default_duration));
  }
  return answer;
}

}  // namespace berth
