// What will be free on each node, and when: running tasks end, reservations begin.
//
// Told when what runs is expected to end and which holdings are reserved from when to when, it answers for single
// nodes: may this be taken until then without taking what is reserved; what must be left alone until then; from when on
// is there room for that. A line of changes is kept only for nodes on which something is reserved: elsewhere room only
// grows, until something starts. What is free now is the ledger's; a caller asks after placing on it.
//
// A node may be closed for a job: its reservation is due and something outran its prediction, so nothing may start
// there but what its time limit ends by the time that the reservation is expected to start now. Amounts that a late end
// makes negative count as nothing free.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "engine/model/ledger.h"
#include "engine/model/quota.h"
#include "engine/model/rules.h"
#include "engine/round/running_jobs.h"

namespace berth {

inline constexpr Seconds kNever{kNoLimit};

// When a run that begins `now` ends at the latest, as far as is known; kNever = nothing is known.
Seconds last_end_of(const Job& job, Seconds now);
inline constexpr Seconds kNoneEnded{-1};

// A running task and when it is expected to end.
struct ExpectedEnd {
  Seconds time;
  Seconds start;  // of its job
  Holding holding;
};

// When a running job is expected to end, and how many tasks it had when that was asked.
struct RunEnd {
  Seconds time;
  std::uint32_t tasks = 0;
  std::int64_t leaves_for = 0;  // the job that it makes room for; 0 = none
};

class Timeline {
 public:
  explicit Timeline(Seconds now) : now_(now) {}

  // What runs, to be told once and first; `ends` by place in running.all(). Until this is gone jobs may join and grow
  // there, and their new tasks are told by add_end(), but none may leave or shrink.
  void look_at(RunningJobs& running, std::vector<RunEnd> ends);
  void add_end(const ExpectedEnd& end);
  // Holds `tasks` for `job` from `from` until before `to`.
  void reserve(std::int64_t job, std::span<const ReservedTask> tasks, Seconds from, Seconds to);
  // The same from now on for a job that others make room for. Until its victims have ended, they hold most of what the
  // job will get, and only the rest is reserved. If the job starts elsewhere, its victims run on.
  void promise(std::int64_t job, std::span<const ReservedTask> tasks, Seconds to);
  // Nobody but `job` may start where its reserved tasks lie, but who ends by `until`: by its time limit, or as
  // expected.
  enum class PassBy : std::uint8_t { kCertainEnd, kExpectedEnd };
  void close(std::int64_t job, std::span<const ReservedTask> tasks, Seconds until, PassBy passes);

  Seconds now() const { return now_; }
  bool has_reservations() const { return !lines_.empty(); }
  // Ends of tasks before a moment, soonest first; of those at the same time what was told first comes first. Valid
  // until the next add_end().
  class Ends {
   public:
    Ends(const Timeline& timeline, Seconds before);

    // The next moment at which tasks end; kNever = there is none.
    Seconds next();
    // Calls visit(start of its job, holding) for the tasks of the end that comes next.
    template <class Visit>
    void take(Visit visit);
    // How many have been taken; and back to when so many had been.
    std::size_t taken() const { return taken_; }
    void return_to(std::size_t taken) { taken_ = taken; }

   private:
    struct End {
      Seconds time;
      std::size_t order = 0;
      auto operator<=>(const End&) const = default;
    };
    const Timeline& timeline_;
    std::vector<End> sorted_;  // the soonest, as far as anybody asked
    std::vector<End> heap_;    // the others
    std::size_t taken_ = 0;
  };

  // When a task ends: as far as is known, and by its time limit (kNever = it has none).
  struct TaskEnd {
    Seconds expected;
    Seconds certain = kNever;
  };
  // The job whose reservation is delayed by `holding`, which is in the ledger already, when it stays until `end`; 0 =
  // none. Reservations of `except` do not count.
  std::int64_t delays(const Ledger& ledger, const Holding& holding, TaskEnd end, std::int64_t except) const;

  // Nodes on which something is reserved, in order.
  std::vector<NodeIndex> reserved_nodes() const;
  bool is_reserved(NodeIndex node) const { return lines_.contains(node); }
  // What a task that runs on the node from `from` until `to` must leave alone, as holdings that fit `ledger`. That one
  // is as tasks that end by `ended` leave it (the ledger of now: kNoneEnded).
  void append_shade(const Ledger& ledger, NodeIndex node, Seconds from, TaskEnd to, Seconds ended, std::int64_t except,
                    std::vector<Holding>& shade) const;
  // Moments at which the answer of append_shade() for a task of that duration may change, but for ends of tasks.
  void append_turns(NodeIndex node, Seconds duration, std::int64_t except,
                    std::vector<std::pair<Seconds, NodeIndex>>& turns) const;

  // When all of `tasks` are free together and stay so for `duration`, ends as expected; kNever = not in sight.
  Seconds free_from(const Ledger& ledger, std::span<const ReservedTask> tasks, Seconds duration, std::int64_t except);

 private:
  struct Amounts {
    std::int64_t cpu = 0;
    std::int64_t memory = 0;
    std::array<std::int32_t, kMaxDevices> milli{};
    std::array<std::int32_t, kMaxDevices> device_memory{};

    void add(const Holding& holding, int sign);
    // The part that `others` do not hold.
    Amounts beyond(const Amounts& others) const;
    Amounts operator-(const Amounts& other) const;
  };
  struct Change {
    Seconds time;
    std::int64_t job = 0;  // whose reservation begins or ends; 0 = a task ends
    int sign = 1;          // +1 = is free from then on
    Holding holding;
    std::int64_t leaves_for = 0;  // see RunEnd
  };
  struct Line {
    std::vector<Change> changes;  // by time
    std::int64_t closed_for = 0;
    Seconds closed_until;  // see close()
    PassBy passes = PassBy::kCertainEnd;

    bool is_closed_to(std::int64_t job, TaskEnd end) const {
      const Seconds counts = passes == PassBy::kCertainEnd ? end.certain : end.expected;
      return closed_for != 0 && closed_for != job && counts > closed_until;
    }
  };

  static void insert(Line& line, const Change& change);
  static void insert(Line& line, const Change& change, const Amounts& amounts);
  void append_ends(NodeIndex node, std::vector<Change>& changes) const;
  // Of the nodes of `tasks` on which nothing is reserved yet.
  std::map<NodeIndex, Line> new_lines(std::span<const ReservedTask> tasks) const;
  const Line* find(NodeIndex node) const;
  // Jobs whose reservations do not count; 0 = none. The victims of `one`, which is to start, are not expected to end.
  struct Passed {
    std::int64_t one = 0;
    std::int64_t other = 0;
    bool counts(const Change& change, Seconds ended) const {
      if (change.job != 0) return change.job != one && change.job != other;
      return change.time > ended && (change.leaves_for == 0 || change.leaves_for != one);
    }
  };
  template <class Visit>
  static void walk(const Line& line, Seconds from, Seconds to, Seconds ended, Passed passed, Visit visit);
  Seconds free_on(const Ledger& ledger, const Line& line, NodeIndex node, const Amounts& needed, Seconds from,
                  Seconds duration, std::int64_t except) const;

  Seconds now_;
  RunningJobs* running_ = nullptr;
  std::vector<RunEnd> run_ends_;   // by place in running_->all()
  std::vector<ExpectedEnd> ends_;  // those told one by one
  std::map<NodeIndex, Line> lines_;
};

template <class Visit>
void Timeline::Ends::take(Visit visit) {
  const std::size_t order = sorted_[taken_++].order;
  if (order >= timeline_.run_ends_.size()) {
    const ExpectedEnd& end = timeline_.ends_[order - timeline_.run_ends_.size()];
    return visit(end.start, end.holding);
  }
  const RunningJob& run = timeline_.running_->all()[order];
  for (std::size_t task = 0; task < timeline_.run_ends_[order].tasks; ++task) visit(run.start, run.tasks[task].holding);
}

}  // namespace berth
