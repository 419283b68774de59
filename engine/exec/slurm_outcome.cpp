#include "engine/exec/slurm_outcome.h"

#include <fmt/format.h>

#include "engine/exec/slurm_hostlist.h"

namespace berth {

namespace {

constexpr std::int32_t kTermination = 15;
constexpr std::int32_t kKill = 9;

// Slurm ended it for a reason of its own: what its tasks made of that is not theirs.
bool is_slurms_own_end(SlurmState state) { return state == SlurmState::kNodeFailed || state == SlurmState::kPreempted; }

bool is_cancelled_or_late(SlurmState state) { return state == SlurmState::kCancelled || state == SlurmState::kTimeout; }

// Berth tells a task anything through its script, which writes that down first; and Slurm has not ended the job.
bool is_untold(const SlurmTaskRecord& record, const SlurmTaskFacts& facts) {
  if (record.was_told || record.was_told_by_others || record.is_left || facts.is_step) return false;
  return facts.job != nullptr && !is_cancelled_or_late(facts.job->state) && !is_slurms_own_end(facts.job->state);
}

void judge_record(const SlurmTaskRecord& record, const SlurmTaskFacts& facts, TaskObservation& seen) {
  seen.phase = TaskPhase::kEnded;
  seen.ended = *record.ended;
  seen.use = record.use;
  seen.is_out_of_time = record.is_late;
  seen.was_told = record.was_told;
  seen.is_untold = is_untold(record, facts);
  if (!record.is_exit && record.code > 128 && record.code <= 128 + 64) {
    seen.signal = record.code - 128;
  } else {
    seen.exit_code = record.code;
  }
  seen.is_out_of_memory = seen.signal == kKill && facts.job != nullptr && facts.job->state == SlurmState::kOutOfMemory;
}

constexpr Seconds kMargin{5};
// Of partitions whose jobs are preempted (GraceTime): what ends later was only woken.
constexpr Seconds kLongestGrace{3600};

// All that is heard of others is CONT: Slurm sends it before it ends a step, which it kills after KillWait, and when it
// wakes one that was suspended.
bool was_only_woken(const SlurmTaskRecord& record, const SlurmTaskFacts& facts, const TaskObservation& seen) {
  return facts.has_pilot && (seen.succeeded() || *record.ended > record.told + facts.slurm_kill_wait + kMargin);
}

std::string put_back(const SlurmJob& job) { return fmt::format("Slurm has put job {} back into its queue", job.shown); }

// Slurm has requeued the job since: it waits, or has started again.
bool was_put_back(const SlurmJob& job, const SlurmTaskRecord& record) {
  if (job.state == SlurmState::kPending || job.state == SlurmState::kConfiguring) return true;
  return job.state != SlurmState::kEnding && job.started > *record.ended + kMargin;
}

bool has_just_ended(const SlurmTaskFacts& facts, Seconds patience) {
  return facts.job->ended.value() >= 0 && facts.now - facts.job->ended < patience;
}

// Somebody killed the launch's script, or the srun below it: Slurm then ends what runs on the nodes.
bool was_cut_off(const SlurmTaskRecord& record, const SlurmTaskFacts& facts) {
  const SlurmState state = facts.job->state;
  const bool has_failed = state == SlurmState::kFailed || state == SlurmState::kOutOfMemory;
  return has_failed && !facts.is_step && !facts.has_ended_whole && record.was_ended_by_others() &&
         *record.ended <= record.told + facts.slurm_kill_wait + kMargin;
}

// What the task made of it when others told it to end is no end of its own.
void judge_by_others(const SlurmTaskRecord& record, const SlurmTaskFacts& facts, TaskObservation& seen) {
  const SlurmJob* const job = facts.job;
  const bool by_others = record.was_ended_by_others();
  if (by_others && job != nullptr && was_put_back(*job, record)) {
    seen.phase = facts.is_current ? TaskPhase::kVanished : TaskPhase::kRunning;
    if (facts.is_current) seen.detail = put_back(*job);
    return;
  }
  const bool was_ended = job != nullptr && by_others && is_cancelled_or_late(job->state);
  if (record.is_left && !was_ended) {
    seen.phase = TaskPhase::kVanished;
    seen.detail = "the process that waited for it was killed";
  }
  if (job == nullptr && facts.is_step && by_others) {
    if (was_only_woken(record, facts, seen)) {
      // Whether the pilot outlives it, a later look says.
      if (facts.listed <= *record.ended + kMargin) seen.phase = TaskPhase::kRunning;
      return;
    }
    seen.phase = TaskPhase::kVanished;
    seen.detail = facts.has_pilot ? "its step was ended" : "the pilot job of its node was ended";
  }
  if (job == nullptr && !facts.is_step && by_others && *record.ended <= record.told + kLongestGrace) {
    if (!facts.is_current || !facts.is_gone) {
      seen.phase = TaskPhase::kRunning;
      return;
    }
    seen.phase = TaskPhase::kVanished;
    seen.detail = "Slurm told it to end, and does not say why any more";
  }
  if (job == nullptr) return;
  if (by_others && !is_slurm_end(job->state)) {  // Slurm will say why
    seen.phase = TaskPhase::kRunning;
    return;
  }
  const bool is_cut_off = was_cut_off(record, facts);
  if (is_cut_off && has_just_ended(facts, kRecordPatience)) {  // the note of its script may arrive late
    seen.phase = TaskPhase::kRunning;
    return;
  }
  if (is_cut_off && job->state == SlurmState::kOutOfMemory) {
    seen.exit_code = 0;
    seen.signal = kKill;
    seen.is_out_of_memory = true;
    return;
  }
  const bool is_lost = is_cut_off || (is_slurms_own_end(job->state) && (by_others || !seen.succeeded()));
  const bool was_cancelled = by_others && job->state == SlurmState::kCancelled;
  if (is_lost) seen.phase = TaskPhase::kVanished;
  if (by_others && job->state == SlurmState::kTimeout) seen.is_out_of_time = true;
  if (was_cancelled) {
    seen.exit_code = 0;
    seen.signal = kTermination;
  }
  if (is_lost || was_cancelled) seen.detail = fmt::format("Slurm says {} of job {}", job->state_word, job->shown);
}

bool has_begun(const SlurmTaskFacts& facts) {
  return job_of_claim(facts.claim) || (facts.record != nullptr && facts.record->started);
}

// Who was stopped before it started has not the claim, and ends at once where Slurm starts it all the same. What runs
// has lost its folder, and the claim with it: it was cancelled then, and its guard may yet be ending it.
bool is_stopped_unstarted(const SlurmTaskFacts& facts) {
  if (facts.claim != kStoppedClaim || (facts.record != nullptr && facts.record->started)) return false;
  if (facts.job == nullptr) return true;
  const SlurmJob& job = *facts.job;
  const bool may_run_on = job.state == SlurmState::kCancelled && job.started.value() >= 0 && job.started < job.ended &&
                          facts.now - job.ended < facts.slurm_kill_wait + facts.kill_wait + kMargin;
  return job.state != SlurmState::kRunning && job.state != SlurmState::kEnding && !may_run_on;
}

// Slurm lists no job of that name.
void judge_unlisted(const SlurmTaskFacts& facts, TaskObservation& seen) {
  if (facts.is_trying && (facts.record == nullptr || !facts.record->started)) {
    seen.phase = TaskPhase::kStarting;
    seen.may_wait = true;
    seen.detail = "Slurm finds its nodes busy";
    seen.is_stuck =
        facts.submission && facts.now.value() - facts.submission->moment_ms / 1000 > facts.pending_limit.value();
    return;
  }
  const bool is_known = has_begun(facts) || facts.submission;
  if (!facts.is_current || (is_known && !facts.is_gone)) {
    seen.phase = has_begun(facts) ? TaskPhase::kRunning : TaskPhase::kStarting;
    if (facts.is_current && !has_begun(facts)) seen.detail = "Slurm does not list it now";
  } else if (is_known) {
    seen.phase = TaskPhase::kVanished;
    seen.detail = "Slurm lists it no more, and nobody wrote down how it ended";
  }
}

void judge_waiting(const SlurmTaskFacts& facts, TaskObservation& seen) {
  const SlurmJob& job = *facts.job;
  if (facts.claim && !facts.is_current) {  // it has started since
    seen.phase = TaskPhase::kRunning;
    return;
  }
  if (facts.claim) {
    seen.phase = TaskPhase::kVanished;
    seen.detail = put_back(job);
    return;
  }
  seen.phase = TaskPhase::kStarting;
  seen.may_wait = true;
  seen.detail = fmt::format("job {} waits in Slurm's own queue ({})", job.shown, job.reason);
  seen.is_kept_out = job.reason.starts_with("ReqNodeNotAvail");
  seen.is_stuck = job.submitted.value() >= 0 && facts.now - job.submitted > facts.pending_limit;
}

// Slurm does not say clearly whether it runs.
void judge_unclear(const SlurmTaskFacts& facts, TaskObservation& seen) {
  seen.phase = has_begun(facts) ? TaskPhase::kRunning : TaskPhase::kStarting;
  seen.detail = fmt::format("Slurm says {} of job {}", facts.job->state_word, facts.job->shown);
}

// The job has ended for Slurm, but what guards the task may yet be ending it: where Slurm kills the script alone, the
// guard notes `left`, and then gives the task its time. Slurm takes as the end of a job the moment it was cancelled,
// and gives it KillWait after that.
bool may_be_ending(const SlurmTaskFacts& facts) {
  const SlurmTaskRecord* const record = facts.record;
  if (record == nullptr) return facts.claim == kStoppedClaim;
  if (!record->started) return false;
  if (record->is_left) return facts.now - record->last < facts.kill_wait + kRecordPatience;
  // A node that is said to have failed may live, and with it what Slurm is ending there.
  const Seconds patience = facts.slurm_kill_wait + kRecordPatience;
  if (facts.job->state == SlurmState::kNodeFailed && has_just_ended(facts, patience)) return true;
  return record->was_told_by_others && facts.now - record->last < patience;
}

void judge_listed_end(const SlurmTaskFacts& facts, TaskObservation& seen) {
  const SlurmJob& job = *facts.job;
  if (may_be_ending(facts)) {
    seen.phase = TaskPhase::kRunning;
    return;
  }
  const bool was_ended = job.state == SlurmState::kCancelled || job.state == SlurmState::kTimeout;
  const bool is_fresh = has_just_ended(facts, kRecordPatience);
  if (was_ended && is_fresh && facts.record != nullptr && facts.record->started) {
    // Its script may yet be waiting for what is left of it.
    seen.phase = TaskPhase::kRunning;
    return;
  }
  seen.phase = TaskPhase::kEnded;
  seen.ended = job.ended;
  seen.detail = fmt::format("Slurm says {} of job {}", job.state_word, job.shown);
  switch (job.state) {
    case SlurmState::kTimeout:
      seen.is_out_of_time = true;
      seen.signal = kKill;
      return;
    case SlurmState::kOutOfMemory:
      seen.is_out_of_memory = true;
      seen.signal = kKill;
      return;
    case SlurmState::kCancelled:
      if (has_begun(facts)) {
        seen.signal = kTermination;
      } else if (is_fresh && !job.nodes.empty()) {
        seen.phase = TaskPhase::kRunning;
        seen.ended = Seconds(-1);
      } else {
        // Slurm says so also of what it could not start: its prolog failed, or its node did not answer.
        seen.phase = TaskPhase::kVanished;
      }
      return;
    case SlurmState::kCompleted:
    case SlurmState::kFailed:
      // The script ended by itself, so it has written what it had to, or there was nothing to be written.
      // What it says counts at once only where nothing of it can run any more.
      if (is_fresh && (facts.complaint.empty() || (facts.record != nullptr && facts.record->started))) {
        seen.phase = TaskPhase::kRunning;
        seen.ended = Seconds(-1);
      } else if (job.state == SlurmState::kFailed || !facts.claim) {
        seen.phase = TaskPhase::kVanished;
        if (!facts.complaint.empty()) seen.detail += ": " + facts.complaint;
      }
      return;
    default: seen.phase = TaskPhase::kVanished;
  }
}

// The launch's script runs on its first node, or as a step on each: who else has no record lost nothing.
TaskBegin begin_of(const LiveTask& task, const SlurmTaskFacts& facts, TaskPhase phase) {
  if (has_begun(facts)) return TaskBegin::kBegan;
  if (phase != TaskPhase::kVanished || facts.job == nullptr) return TaskBegin::kUnknown;
  const SlurmState state = facts.job->state;
  if (state == SlurmState::kNodeFailed) return TaskBegin::kNodeFailed;
  // What its script noted went with the folder: Slurm knows that it ran, and the node is not to blame.
  if (!facts.has_folder) return facts.job->started.value() >= 0 ? TaskBegin::kBegan : TaskBegin::kUnknown;
  const bool may_be_the_node =
      state == SlurmState::kFailed || state == SlurmState::kCompleted || state == SlurmState::kCancelled;
  if (!may_be_the_node) return TaskBegin::kUnknown;
  const Result<std::vector<std::string>> nodes = expand_slurm_hostlist(facts.job->nodes);
  const bool is_first = nodes.ok() && !nodes->empty() && nodes->front() == task.node;
  return is_first || facts.is_step ? TaskBegin::kLost : TaskBegin::kUnknown;
}

}  // namespace

TaskObservation judge_slurm_task(const LiveTask& task, const SlurmTaskFacts& facts) {
  TaskObservation seen;
  seen.key = task.key;
  if (facts.job != nullptr) {
    seen.external = std::to_string(facts.job->id);
  } else if (facts.submission) {
    seen.external = std::to_string(facts.submission->job);
  }
  if (facts.record != nullptr) {
    seen.node = facts.record->node;
    seen.started = facts.record->started.value_or(Seconds(-1));
  } else if (facts.job != nullptr && !facts.job->nodes.empty()) {
    seen.started = facts.job->started;
  }
  if (facts.record != nullptr && facts.record->ended) {
    judge_record(*facts.record, facts, seen);
    judge_by_others(*facts.record, facts, seen);
  } else if (is_stopped_unstarted(facts)) {
    seen.phase = TaskPhase::kEnded;
    seen.signal = kTermination;
    seen.detail = "stopped before it had started";
  } else if (facts.claim == kRefusedClaim) {
    seen.detail = "Slurm refused it";
  } else if (facts.job == nullptr) {
    judge_unlisted(facts, seen);
  } else if (facts.job->state == SlurmState::kUnknown ||
             (facts.job->state == SlurmState::kConfiguring && facts.claim)) {
    judge_unclear(facts, seen);
  } else if (facts.job->state == SlurmState::kPending || facts.job->state == SlurmState::kConfiguring) {
    judge_waiting(facts, seen);
  } else if (is_slurm_end(facts.job->state)) {
    judge_listed_end(facts, seen);
  } else {
    seen.phase = TaskPhase::kRunning;
  }
  // Of a suspended job Slurm says that it ended when it was suspended, and its script heard of nothing.
  const bool is_over = seen.phase == TaskPhase::kEnded && facts.job != nullptr;
  if (is_over && facts.job->state == SlurmState::kCancelled && has_begun(facts))
    seen.was_told = seen.was_told || facts.is_asked_to_end;
  seen.begin = begin_of(task, facts, seen.phase);
  return seen;
}

}  // namespace berth
