#include "engine/runtime/change_apply.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "engine/base/file_bytes.h"
#include "engine/base/text.h"
#include "engine/runtime/sync.h"

namespace berth {

namespace {

Result<std::string> digest_of_file(const std::string& name) {
  BERTH_ASSIGN(const std::string bytes, read_file_bytes(name));
  return digest_of(bytes);
}

Status check_files(const PlannedStatement& statement) {
  for (const auto& [name, digest] : statement.digests) {
    BERTH_ASSIGN(const std::string present, digest_of_file(name));
    if (present != digest)
      return Status(Code::kConflict, fmt::format("file '{}' has changed since the plan was made", name),
                    makes_anew(statement));
  }
  return {};
}

Status moved_since(Database& db, const SavedPlan& saved, std::int64_t version, Seconds now) {
  const Status moved = check_not_moved(db, saved.plan, version, now);
  return moved.ok() ? moved : Status(moved.code(), moved.message(), makes_anew(saved.statement));
}

// Whether the state is still the one it was planned on.
Status check_present(Runtime& runtime, const SavedPlan& saved) {
  // Both at one moment: it may be applied just now.
  BERTH_ASSIGN(const Transaction reading, Transaction::begin_read(runtime.db()));
  BERTH_TRY(check_not_applied(runtime, saved));
  BERTH_ASSIGN(const std::int64_t version, state_version(runtime.db()));
  return moved_since(runtime.db(), saved, version, runtime.now());
}

// The statement and the round after it in one transaction, which stays when `fate` says so and no assertion breaks.
Result<ApplyResult> carry_out(Runtime& runtime, const SavedPlan& saved, const std::function<Status()>& make_change,
                              const std::atomic<bool>* interrupted, ChangeFate fate) {
  BERTH_TRY(check_present(runtime, saved));
  BERTH_TRY(check_files(saved.statement));
  BERTH_ASSIGN(const AssertionWatch watch, AssertionWatch::begin(runtime.db(), {.interrupted = interrupted}));
  std::optional<ApplyResult> applied;
  runtime.speak_for(fmt::format("{} (plan {})", saved.statement.spoken, saved.id));
  runtime.judge_changes([&](Change& change) -> Result<ChangeFate> {
    if (applied) return Status(Code::kInternal, "the statement makes more than one change");
    // Dates that the statement brings may begin now, but not have begun since the plan was made.
    const Seconds before = std::max(saved.plan.planned_at, change.now() - Seconds(1));
    BERTH_TRY(moved_since(change.db(), saved, change.version_before(), before));
    BERTH_ASSIGN(applied, write_watched_plan(change, saved.plan,
                                             {.kind = "schedule",
                                              .actor = runtime.author(),
                                              .now = runtime.now(),
                                              .seconds = {},
                                              .last_reasons = {},
                                              .plan_id = saved.id,
                                              .record = nullptr,
                                              .plan_without = {},
                                              .asking = {},
                                              .accept_new_jobs = false},
                                             watch));
    applied->version = change.version_after();
    return applied->is_refused() ? ChangeFate::kTakeBack : fate;
  });
  const Status made = make_change();
  runtime.judge_changes(nullptr);
  if (!made.ok()) {
    // Somebody else was faster: that is why, whatever the statement ran into. All of ours is taken back by now.
    BERTH_TRY(check_present(runtime, saved));
    return made;
  }
  if (!applied) return Status(Code::kConflict, "the statement changes nothing any more", makes_anew(saved.statement));
  return *std::move(applied);
}

}  // namespace

Result<PlannedStatement> planned_statement(std::string text, std::string spoken,
                                           const std::vector<std::string>& files) {
  PlannedStatement statement{.text = std::move(text), .spoken = std::move(spoken), .digests = {}};
  for (const std::string& name : files) {
    BERTH_ASSIGN(statement.digests[name], digest_of_file(name));
  }
  return statement;
}

Result<RoundReport> apply_saved_change(Runtime& runtime, const SavedPlan& saved,
                                       const std::function<Status()>& make_change,
                                       const std::atomic<bool>* interrupted) {
  BERTH_TRY(runtime.check_writable());
  BERTH_TRY(check_present(runtime, saved));
  BERTH_ASSIGN(Lease lease, take_round_lease(runtime));
  BERTH_ASSIGN(const ApplyResult applied, carry_out(runtime, saved, make_change, interrupted, ChangeFate::kCommit));
  if (applied.is_refused()) return RoundReport{saved.plan, applied, {}, {}, {}};
  BERTH_ASSIGN(const DispatchReport dispatched, dispatch_now(runtime, lease));
  return RoundReport{saved.plan, applied, {}, {}, dispatched};
}

Result<std::vector<BrokenAssertion>> broken_by_saved_change(Runtime& runtime, const SavedPlan& saved,
                                                            const std::function<Status()>& make_change,
                                                            const std::atomic<bool>* interrupted) {
  BERTH_ASSIGN(ApplyResult outlook, carry_out(runtime, saved, make_change, interrupted, ChangeFate::kTakeBack));
  return std::move(outlook.broken);
}

}  // namespace berth
