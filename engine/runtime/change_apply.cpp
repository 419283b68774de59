#include "engine/runtime/change_apply.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>

#include "engine/base/text.h"
#include "engine/runtime/sync.h"

namespace berth {

namespace {

Result<std::string> digest_of_file(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  if (!file) return Status(Code::kUnavailable, fmt::format("cannot open '{}': {}", name, std::strerror(errno)));
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) return Status(Code::kUnavailable, fmt::format("cannot read '{}': {}", name, std::strerror(errno)));
  return digest_of(bytes);
}

Status check_files(const PlannedStatement& statement) {
  for (const auto& [name, digest] : statement.digests) {
    BERTH_ASSIGN(const std::string present, digest_of_file(name));
    if (present != digest)
      return Status(Code::kConflict, fmt::format("file '{}' has changed since the plan was made", name),
                    fmt::format("PLAN {}; makes a new one", statement.text));
  }
  return {};
}

}  // namespace

Result<PlannedStatement> planned_statement(std::string text, const std::vector<std::string>& files) {
  PlannedStatement statement{.text = std::move(text), .digests = {}};
  for (const std::string& name : files) {
    BERTH_ASSIGN(statement.digests[name], digest_of_file(name));
  }
  return statement;
}

Result<RoundReport> apply_saved_change(Runtime& runtime, const SavedPlan& saved,
                                       const std::function<Status()>& make_change,
                                       const std::atomic<bool>* interrupted) {
  BERTH_TRY(runtime.check_writable());
  const std::string again = fmt::format("PLAN {}; makes a new one", saved.statement.text);
  if (saved.state == PlanState::kApplied)
    return Status(Code::kConflict, fmt::format("plan {} was applied before", saved.id), again);
  const auto check_present = [&](std::int64_t version, Seconds now) -> Status {
    const Status moved = check_not_moved(runtime.db(), saved.plan, version, now);
    return moved.ok() ? moved : Status(moved.code(), moved.message(), again);
  };
  BERTH_ASSIGN(const std::int64_t version, state_version(runtime.db()));
  BERTH_TRY(check_present(version, runtime.now()));
  BERTH_TRY(check_files(saved.statement));
  BERTH_ASSIGN(Lease lease, take_round_lease(runtime));
  BERTH_ASSIGN(const AssertionWatch watch, AssertionWatch::begin(runtime.db(), {.interrupted = interrupted}));
  std::optional<ApplyResult> applied;
  runtime.speak_for(fmt::format("{} (plan {})", saved.statement.text, saved.id));
  runtime.judge_changes([&](Change& change) -> Result<ChangeFate> {
    if (applied) return Status(Code::kInternal, "the statement makes more than one change");
    // What the statement brings may begin now, but not have begun since the plan was made.
    BERTH_TRY(check_present(change.version_before(), std::max(saved.plan.planned_at, change.now() - Seconds(1))));
    BERTH_ASSIGN(applied, write_plan(change, saved.plan,
                                     {.kind = "schedule",
                                      .actor = runtime.author(),
                                      .now = runtime.now(),
                                      .seconds = {},
                                      .last_reasons = {},
                                      .plan_id = saved.id,
                                      .record = nullptr,
                                      .on_broken = OnBroken::kRefuse,
                                      .asking = {},
                                      .accept_new_jobs = false}));
    applied->version = change.version_after();
    BERTH_TRY(change.settle());
    BERTH_ASSIGN(const std::vector<BrokenAssertion> broken, watch.broken(change.db()));
    if (broken.empty()) return ChangeFate::kCommit;
    return Status(Code::kConflict, fmt::format("plan {} would break {}", saved.id, describe(broken.front())),
                  "ALTER ASSERTION ... OFF switches an assertion off");
  });
  const Status made = make_change();
  runtime.judge_changes(nullptr);
  BERTH_TRY(made);
  if (!applied) return Status(Code::kConflict, "the statement changes nothing any more", again);
  BERTH_ASSIGN(const DispatchReport dispatched, dispatch_now(runtime, lease));
  return RoundReport{saved.plan, *applied, {}, {}, dispatched};
}

}  // namespace berth
