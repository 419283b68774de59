// A small company in which an owner asks for its quota, and every set of victims that the rules allow is tried.
//
// Counts for itself, from rows: it shares no code with the ledgers and the searches that it looks at. The rules:
//   - a job of another queue may go where, at the fork of the two paths, it does not count within quota, and the owner
//     is within its quota afterwards; surplus tasks of an elastic job go by themselves, by their own marks
//   - a job of the owner's queue may go if its class is lower, and the owner counts within each quota that it did;
//     it counts there before all of lower classes
//   - limits and borrow limits hold afterwards; where somebody keeps what it owns, the owner stays within all quotas
// Rules of time and budgets are off.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/base/env.h"
#include "tests/company.h"

namespace berth::test {

// One victim that may go by itself: a surplus task, or a gang with all its surplus tasks.
struct VictimStep {
  std::int64_t job = 0;
  bool is_gang = false;
  std::int32_t queue = -1;
  std::uint32_t marks = 0;
  int fork = -1;  // the depth at which the owner must be within its quota; -1 = it is of the owner's queue
  std::vector<Allocation> holds;
};
// Bits of steps.
using VictimSet = std::uint32_t;

class OwnerScene {
 public:
  // Fills the cluster, by random jobs of all queues, with orders and backfill modes drawn; the owner's queue is q.
  OwnerScene(std::string_view cluster, std::string_view tree, std::uint64_t seed);

  // Submits a gang of q, of which nobody says that it can start. Nobody else waits then.
  std::int64_t submit_owner();
  // Few enough steps that all sets of them can be tried.
  bool is_small() const { return steps_.size() <= (owner_.size() > 1 ? 9U : 12U); }
  // The first set that makes room.
  std::optional<VictimSet> find_room() const;
  bool makes_room(VictimSet set) const;
  // Nothing of it could be left out.
  bool is_minimal(VictimSet set) const;
  // Nothing: somebody goes who may not.
  std::optional<VictimSet> set_of(std::span<const Eviction> evictions) const;
  std::string print(VictimSet set) const;
  std::string print() const;

  Plan next_round() { return company.round(now_ += 60); }
  // Some victims may write checkpoints: they do not end at once.
  bool has_graces() const { return has_graces_; }
  // Somebody has a lend limit: more victims may be needed than nodes and quotas say.
  bool has_lend_limits() const { return has_lend_limits_; }

  Company company;

 private:
  using ByModel = std::vector<std::int64_t>;  // milli-GPU
  struct NodeRoom {
    std::vector<std::int64_t> milli;
    std::int64_t cpu = 0;
    std::int64_t memory = 0;
    std::size_t model = 0;
    std::int32_t rack = -1;
  };
  // What is there when some have gone.
  struct Then {
    std::vector<NodeRoom> nodes;
    std::vector<ByModel> used;    // by queue
    std::vector<ByModel> marked;  // by depth of the owner's path
    std::set<int> own;            // depths at which the owner must be within its quota
    std::set<int> regained;       // depths at which it must get a mark
  };

  const Queue& queue(std::int32_t q) const { return company.snapshot.queues[static_cast<std::size_t>(q)]; }
  bool lies_in(std::int32_t q, std::int32_t above) const;
  bool is_legal(VictimSet set) const;
  void submit_another(const std::string& queue);
  void fill();
  void cancel_who_waits();
  void take_stock();
  std::int64_t class_of(const Job& job) const;
  bool gives_marks(const RunningJob& run) const;
  void add_steps(const RunningJob& run);
  std::vector<Allocation> tasks_of(std::int64_t job) const;
  std::int64_t milli_of(const Allocation& task) const;
  std::size_t model_of(const Allocation& task) const;
  void change(Then& then, const Allocation& task, std::int64_t sign) const;
  void unmark(Then& then, const Allocation& task, std::int32_t queue, std::uint32_t marks, std::int64_t sign) const;

  static std::int64_t copies(const NodeRoom& node, const TaskShape& shape);
  std::vector<std::vector<std::size_t>> sites(const Then& then) const;
  bool fits_alone(const Then& then) const;
  bool fits_in_groups(Then& then, std::size_t task, std::size_t from, ByModel& placed) const;
  bool is_admitted(const Then& then, const ByModel& placed) const;
  bool is_within(int depth, const ByModel& placed, const ByModel& used) const;
  bool is_owned(std::size_t resource) const;

  Random random_;
  std::int64_t now_ = 0;
  bool has_classes_ = false;
  bool has_fractions_ = false;
  bool has_graces_ = false;
  bool has_elastic_ = false;
  bool has_cpu_ = false;
  bool has_lend_limits_ = false;
  std::vector<TaskGroup> owner_;
  std::vector<const TaskShape*> owner_tasks_;  // those that it needs
  std::int64_t class_value_ = 0;
  std::vector<std::int32_t> path_;  // of q, from the root down
  Then now_there_;
  std::vector<VictimStep> steps_;
};

}  // namespace berth::test
