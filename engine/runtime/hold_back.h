// Plans a round again without the jobs that would break an assertion.
//
// Each call gets the first decision of the last plan that breaks one; its job is held (Snapshot::holds) and the round
// is planned anew, so that evictions and reservations for it go, too, and others may take the room.
//
// A job that starts on nodes is first kept off those (Snapshot::kept_off), then off all nodes on which something runs:
// an assertion about single nodes may be kept elsewhere. Where it does not start there it is held.
//
// An elastic job is then held to the tasks that it needs (Snapshot::surplus_holds), and only then whole.
//
// Most assertions bound something - the jobs of a queue, what it borrows - and every further job of the queue would
// break them as well. So after kSingly jobs not only the job is held but all of its queue that ask for the same, then
// all of its queue, and at last every job that is not known to do no harm: at most kMostPlans plans, then the round is
// refused. What was held untried must not be held for ever: each time kSpared jobs, drawn by the state version, are
// spared, to be held only if they themselves break something. So each of n such jobs is tried about every n / kSpared
// rounds, whatever is held before it. Of what is held, rounds to come know only which jobs were held by themselves:
// they may start, but make no claims for a while (Snapshot::refused).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "engine/model/demand_key.h"
#include "engine/runtime/round_driver.h"

namespace berth {

class HoldBack {
 public:
  static constexpr int kSingly = 6;
  static constexpr int kWithAlike = 16;  // up to the plan of this number
  static constexpr int kWithQueue = 24;  // the same
  static constexpr int kMostPlans = 32;
  static constexpr std::size_t kSpared = 2;
  static constexpr int kMostElsewhere = 12;  // plans besides, for jobs that are kept off nodes

  // `round` is changed by each call of callback(); its plan may have been moved from.
  HoldBack(Runtime& runtime, const Settings& settings, PlannedRound& round, const std::atomic<bool>* interrupted)
      : runtime_(runtime), settings_(settings), round_(round), interrupted_(interrupted) {}

  // For ApplyRequest::plan_without; empty where the settings have rounds refused.
  std::function<Result<std::optional<PlanWithout>>(const Culprit&)> callback();
  // The plan was refused all the same, or not needed: the round is as it was before the first call.
  void take_back();

 private:
  Result<std::optional<PlanWithout>> plan_without(const Culprit& culprit);
  void hold(std::int64_t job, std::int64_t assertion, std::int64_t like_job);
  // Of a job that needs tasks and asks for more: only what it needs may start. False: that was tried.
  bool hold_surplus(const Job& job, std::int64_t assertion);
  // It is tried elsewhere. False: it was, or started on no node.
  bool keep_off(const Culprit& culprit);
  // What is kept off nodes and did not start is held, or to what it needs. False: there is none.
  bool hold_those_kept_off();
  Status plan_again();
  // After many plans: those like the culprit's job.
  void hold_others(const Culprit& culprit, const Job& job);
  // All that `is_meant` says, but those spared.
  void hold_untried(const Culprit& culprit, const std::function<bool(const Job&)>& is_meant);

  Runtime& runtime_;
  const Settings& settings_;
  PlannedRound& round_;
  const std::atomic<bool>* interrupted_;
  int plans_ = 0;
  int tried_elsewhere_ = 0;
  std::optional<ScheduleResult> first_;
  std::set<DemandKey> widened_;                                    // queues, and demands in them
  std::map<std::int64_t, std::pair<int, std::int64_t>> kept_off_;  // by job: how often, for which assertion
  bool holds_all_ = false;
};

}  // namespace berth
