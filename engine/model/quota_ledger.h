// Who uses how much of what the departments own - the trial state of a round beside the ledger of nodes.
//
// Quota of a queue: what its row says (a parent without one: the sum over its children), plus what it borrows by loans
// now, minus what it lends. Usage of a queue: that of its own jobs and of all queues below. A resource that no queue
// has a quota, a limit or a borrow limit of is not governed and never refuses anybody; of a governed one, a queue
// without a row has quota 0 - but for what its path says nothing of beside quotas that cover it: CPU and memory beside
// quotas of GPUs, the GPUs of a model beside a quota of its family or of all GPUs. Those do not count for it
// (counts_for, where no limit does, either), and neither does what nobody has a quota of (has_quota_of). A queue with
// quotas of models and none of all GPUs (or of their family) owns as many of all as of these models, first for tasks on
// them: these are judged by the quotas of the models alone (is_left_to_models), however many others the queue uses.
// CPU, memory and all GPUs are counted also where the table does not name them: orders compare queues by them. Jobs
// without a queue (index -1) are those of one more root, without quota.
//
// A job that asks for `demand` may start when, for each governed resource,
//   1. no queue on its path (itself up to the root) exceeds its limit, nor its quota by more than its borrow limit, and
//   2. if some queue on its path exceeds its quota, what is promised to others stays free:
//      usage of all + demand + promised <= capacity.
//      An owner with a lend limit is promised that it can use quota - lend limit at any time. Still promised below a
//      queue is the larger of what it itself has not used of that, and the sum over its children: use by a child is use
//      by the parent, so a parent's promise and those of its children are not added.
//      Within all quotas, the same while somebody borrows: what he has is to be taken back, not what others keep.
//      A queue above all exceeded quotas of the path counts as such an owner: only promises below it bind in full.
//      What a queue on the path may hold (limit, quota and borrow limit) is shared out in the same way: to who exceeds
//      a quota below it, what others below it are promised stays free of that.
//   3. if some exceeds its quota, what is due at the end of a loan stays free: keep_from(), and
//   4. what a job waits for that a limit refused stays free under that limit: hold().
// It starts within its quota when no queue on its path exceeds its quota; else it borrows.
//
// Marks. What a running job takes counts against the quota of its ancestor at depth d (bit d) when all that is so
// marked, this included, fits that quota. Marks are given at the start, kept until the end, and given later to jobs
// that ran on borrowed quota once it fits: oldest first (RoundState). A parent's quota is for what is within the quotas
// below it before it is for their guests, who give their marks away. A queue can be reclaimed from only by evicting
// what has not its mark, so nothing within quota is ever evicted for another queue, and a job that was reclaimed for
// keeps what it got. Who takes back is within its quota with all that it uses, marked or not: a queue that has
// borrowed more than it is owed has got its quota already. Only less quota (a loan that ends, a row that changes) takes
// marks away, newest first.
//
// Costs: judge, take, mark and may_reclaim take time in proportion to the depth of the tree times the resources.
// Assumes amounts far below 2^61 and at most kMarkedDepths levels of queues that matter to marks: deeper ones never
// reclaim for themselves. Does not know where tasks run.
#pragma once

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "engine/model/plan.h"
#include "engine/model/quota.h"
#include "engine/model/snapshot.h"

namespace berth {

inline constexpr int kMarkedDepths = 16;  // see RunningJob::quota_mark
// None below 0, or too deep.
constexpr std::uint32_t mark_bit(int depth) { return depth >= 0 && depth < kMarkedDepths ? 1u << depth : 0; }

// A set of depths of queues on a path: the root has depth 0. All from the last one on count as one.
inline constexpr int kTrackedDepths = 32;
constexpr std::uint32_t depth_bit(int depth) { return 1u << std::min(depth, kTrackedDepths - 1); }
// The first `levels`, from the root down.
constexpr std::uint32_t first_depths(int levels) { return levels >= kTrackedDepths ? ~0u : (1u << levels) - 1; }

struct QuotaVerdict {
  Reason reason = Reason::kNone;  // kNone = admitted; kQuota, kLimit, kLenderKeeps, kReserved
  bool is_owner = false;          // of kLenderKeeps: within its quota, which others have borrowed
  bool borrows = false;           // admitted, but not within the quota of every queue on its path
  std::uint32_t over = 0;         // bits of the depths of the queues whose quotas it exceeds; see depth_bit()
  std::int32_t queue = -1;        // where it is short
  std::int32_t resource = -1;
  std::int64_t short_by = 0;
  std::int64_t held_for = 0;  // of kReserved: the job that room under a limit is held for

  bool admitted() const { return reason == Reason::kNone; }
  // Admitted, and within the quotas of the queues of its path at these depths.
  bool within(std::uint32_t depths) const { return admitted() && (over & depths) == 0; }
};

// Room under the limit of a queue that a job waits for. Jobs of that queue and of those below it that do not end by
// `from` may take no more than `spare`. Room in what owners lend binds the jobs of other queues that borrow.
struct QuotaHold {
  std::int64_t job = 0;
  std::int32_t home = -1;  // the queue of the job
  Seconds made_at;
  std::int32_t queue = -1;  // whose limit it is; -1 = what owners lend
  std::size_t resource = 0;
  Seconds from;
  std::int64_t spare = 0;
  bool yields = false;  // to jobs of other queues that are within their quota
  // It is due and late: it is expected to end then, and who ends by then for certain passes. kNever = it is not due.
  Seconds late_until{kNoLimit};

  bool is_lent() const { return queue < 0; }
  bool is_passed_by(Seconds until, Seconds certain_end) const {
    return late_until < Seconds(kNoLimit) ? certain_end <= late_until : until <= from;
  }
  // Older holds first.
  auto age() const { return std::pair(made_at, job); }
};

class QuotaLedger {
 public:
  // Nobody uses anything yet. `cluster` and `queues` must outlive it. Capacity is that of nodes that are up, their
  // healthy devices; see add_capacity().
  // Loans that have ended at `now` are left out.
  QuotaLedger(const Cluster& cluster, std::span<const Queue> queues, const QuotaTable& table, Seconds now);

  // Whether jobs of the queue are judged by that resource: it is governed, and the path of the queue does not leave it
  // open beside a quota of GPUs.
  bool counts_for(std::int32_t queue, std::size_t resource) const {
    return governed_[resource] != 0 && open_[at(row(queue), resource)] == 0;
  }
  // Jobs of the queue are judged by its quota of it, too; else by limits alone.
  bool has_quota_of(std::int32_t queue, std::size_t resource) const {
    return governed_[resource] != 0 && unowned_[at(row(queue), resource)] == 0;
  }
  // A job of `asking` takes `demand`. `queue`, on its path, owns that resource by quotas of models in it, and the job
  // takes these models alone.
  bool is_left_to_models(std::int32_t queue, std::size_t resource, const Amounts& demand, std::int32_t asking) const {
    return is_left_to_parts(row(queue), resource, demand, asking);
  }
  // A job of the queue that takes `demand` is judged by its quota of the resource itself.
  bool is_judged_by(std::int32_t queue, std::size_t resource, const Amounts& demand) const {
    return has_quota_of(queue, resource) && !is_left_to_models(queue, resource, demand, queue);
  }
  bool has_sums_of_models() const { return !parts_.empty(); }
  // It owns that resource by quotas of models alone.
  bool sums_models(std::int32_t queue, std::size_t resource) const;
  // What counts against the quota of the queue: used() but for that of queues below that are not judged by one.
  std::int64_t counted(std::int32_t queue, std::size_t resource) const {
    return used_[at(row(queue), resource)] - uncounted_[at(row(queue), resource)];
  }

  // False: no resource is governed, nothing is ever refused.
  bool governs() const { return governs_; }
  // The resources of the table that was given, then those of CPU, memory and all GPUs that it does not have.
  std::size_t resource_count() const { return table_.resources.size(); }
  std::size_t queue_count() const { return queues_.size(); }
  const QuotaResource& resource(std::size_t index) const { return table_.resources[index]; }
  const QuotaTerms& terms(std::int32_t queue, std::size_t resource) const { return table_.terms[row(queue)][resource]; }
  const QuotaTable& table() const { return table_; }
  std::span<const Queue> queues() const { return queues_; }

  // What `tasks` tasks of `shape` count for before it is known where they run: a GPU resource counts when all models
  // the shape allows - any: all that the cluster has - belong to it.
  void add_demand(const TaskShape& shape, std::int64_t tasks, Amounts& demand) const;
  // The most that they may count for, wherever they run: any model that the shape allows belongs to the resource.
  void add_wish(const TaskShape& shape, std::int64_t tasks, Amounts& wish) const;
  // Of the tasks that a gang needs to start (min_tasks - placed), or of all that are still missing.
  Amounts demand_to_start(const Job& job) const;
  Amounts demand_in_full(const Job& job) const;
  // Quotas are of some models of the cluster and not of others: what a job that may choose counts for depends on where
  // it is placed.
  bool divides_models() const { return divides_models_; }
  // The models here between which some group of the job may choose, where quotas divide them.
  ModelSet choices_of(const Job& job) const;
  // demand_to_start() if its groups take that model wherever they may.
  Amounts demand_to_start_on(const Job& job, ModelSet model) const;
  // The models here of which the first `levels` queues on the path, from the root down, all have quota left.
  ModelSet models_within(std::int32_t queue, int levels) const;
  // What a placed task counts for.
  void add_holding(const Holding& holding, Amounts& amounts) const;
  Amounts none() const { return Amounts(resource_count(), 0); }

  // May a job of `queue` take `demand` more? `until`: when it ends at the latest as far as is known (kNoLimit = not
  // known): quota that is borrowed by a loan counts only for jobs that end before the loan does, so that it can be
  // returned in time.
  QuotaVerdict judge(std::int32_t queue, const Amounts& demand, Seconds until = Seconds(kNoLimit)) const;

  // What lenders will own at a moment, and do not use then.
  struct DueRoom {
    std::int32_t queue = -1;  // and those below it
    std::int64_t amount = 0;
  };
  // From that moment on what is free then is due to lenders, but for `spare`: who borrows and does not end before may
  // take no more of it, and the lenders what they are due besides. What is taken and given back later counts as
  // lasting.
  void keep_from(std::size_t resource, Seconds from, std::int64_t spare, std::vector<DueRoom> due = {});
  void keep_nothing() { kept_rooms_.clear(); }

  // Somebody does not lend all of it.
  bool has_promises(std::size_t resource) const { return has_promises_[resource] != 0; }
  // What may be borrowed of it beside a job of the queue that takes `demand`; below 0 = that job may not.
  std::int64_t left_to_borrow(std::int32_t queue, std::size_t resource, std::int64_t demand) const;
  // The most that the queue may hold by its limit and, for jobs that end by `until`, its quota and borrow limit.
  std::int64_t most(std::int32_t queue, std::size_t resource, Seconds until) const;
  // Of that, what it does not use; kNoLimit = nothing bounds it.
  std::int64_t left_of_most(std::int32_t queue, std::size_t resource, Seconds until) const;
  // Of its quota, what it does not use, for jobs that end by `until`.
  std::int64_t left_of_quota(std::int32_t queue, std::size_t resource, Seconds until) const {
    return quota_lasting(at(row(queue), resource), until) - counted(queue, resource);
  }
  // Of what it may hold at the most, what others below `branch` keep from a job of the queue, which lies there, that
  // takes `demand` beyond its quota; 0 where it does not go beyond.
  std::int64_t kept_from_guest(std::int32_t queue, std::int32_t branch, std::size_t resource,
                               std::int64_t demand) const;

  // judge() looks at holds, too, until clear_holds(); used for passes.
  void hold(const QuotaHold& hold) { holds_.push_back(hold); }
  std::span<const QuotaHold> holds() const { return holds_; }
  void drop_holds_of(std::int64_t job);
  void clear_holds() { holds_.clear(); }
  // From now on judge() is asked about this job: its own holds do not count, nor any younger than (made_at, job).
  // `certain_end`: by its time limit; kNoLimit = it has none. Rooms that are kept from after `kept_by` do not count.
  void judge_for(std::int64_t job, Seconds made_at, Seconds certain_end = Seconds(kNoLimit),
                 Seconds kept_by = Seconds(kNoLimit)) {
    asking_ = std::pair(made_at, job);
    certain_end_ = certain_end;
    kept_by_ = kept_by;
  }
  // What a job takes (already taken) that ends then is taken from the spare room beside holds.
  void take_beside_holds(std::int32_t queue, const Amounts& amounts, Seconds until, Seconds certain_end);

  // What still runs on nodes that are not up counts as capacity until it ends (`sign` 1, then -1): what ends there
  // comes back to nobody. `until`: see take().
  void add_capacity(const Amounts& amounts, std::int64_t sign, Seconds until = Seconds(kNoLimit));

  // `until`: when it ends unless somebody stops it. What is due later (keep_from) does not count who is gone by then.
  void take(std::int32_t queue, const Amounts& amounts, Seconds until = Seconds(kNoLimit));
  void give_back(std::int32_t queue, const Amounts& amounts, Seconds until = Seconds(kNoLimit));

  using Leaving = std::vector<std::pair<std::int32_t, Amounts>>;  // by queue
  // The quota that rounds keep for a job while its victims stop.
  struct Pledge {
    // A part of what the victims hold, and the marks that it has.
    struct Marked {
      std::int32_t queue = -1;
      Amounts amounts;
      std::uint32_t marks = 0;
    };
    std::int32_t queue = -1;
    Amounts amounts;
    Leaving leaving;  // what the victims hold
    std::vector<Marked> marked;
    std::uint32_t levels = 0;  // bits of the depths at which the job reclaims
  };
  // Keeps the amounts of the queue's quota (`sign` 1; -1 ends that). Other jobs get no marks for these amounts, and
  // reclaim nothing on their account. What the victims hold in the same queue is in the sums already: all of it among
  // what is used, its marked part among what is marked.
  void pledge(const Pledge& pledge, std::int64_t sign);
  // Counts as used what such a job will use beyond what its victims use now, at each level (`sign` 1; -1 ends that).
  // Rooms that are kept from `gone_by` on count its victims as gone already.
  void count_promise(std::int32_t queue, const Amounts& amounts, const Leaving& leaving, std::int64_t sign,
                     Seconds gone_by = Seconds(kNoLimit));

  // Marks what takes `amounts` (already taken) wherever `wanted` says and it fits, beyond `already`; returns all its
  // marks.
  std::uint32_t mark(std::int32_t queue, const Amounts& amounts, std::uint32_t already = 0, std::uint32_t wanted = ~0u);
  void unmark(std::int32_t queue, const Amounts& amounts, std::uint32_t marks) {
    count_marks(queue, amounts, marks, -1);
  }
  // `sign` 1: whether or not that fits, as to undo -1.
  void count_marks(std::int32_t queue, const Amounts& amounts, std::uint32_t marks, std::int64_t sign);
  void clear_marks();
  // At some depth without a mark of it, `amounts` are within quotas of models whose sum other models use.
  bool is_owed_a_mark(std::int32_t queue, const Amounts& amounts, std::uint32_t marks) const;
  // At that depth, some of `amounts` is on other models than the quotas of which the queue has as many of all.
  bool is_beside_models(std::int32_t queue, int depth, const Amounts& amounts) const;
  // The marks that a job of `queue` could have.
  std::uint32_t all_marks(std::int32_t queue) const;
  // The depth of the queues below the lowest common ancestor of two queues, one on each side; -1 when one of the two
  // lies above the other, or they are one.
  int fork_depth(std::int32_t queue, std::int32_t other) const;
  // May `amounts` be reclaimed for `queue` from a job of `victim_queue` with `victim_marks`? At the two queues below
  // their lowest common ancestor: the usage of the first plus `amounts` is within its quota, as far as that lasts
  // `until` then and not by what it promises to others (marks_on_promises), and the victim has not the mark of the
  // second. False when there are no two such queues.
  // kMarked: of what was decided before; the first may have borrowed since.
  enum class Beside : std::uint8_t { kUsed, kMarked };
  bool may_reclaim(std::int32_t queue, const Amounts& amounts, std::int32_t victim_queue, std::uint32_t victim_marks,
                   Seconds until = {}, Beside beside = Beside::kUsed) const;

  // The marks of queues on the path whose quotas hold that only by what others below them are promised: it exceeds a
  // quota further down, and what is idle elsewhere stands in for those promises.
  std::uint32_t marks_on_promises(std::int32_t queue, const Amounts& amounts, Seconds until = {}) const;

  // Some queue on the path has quota for that beside what is marked, as far as it lasts.
  bool has_quota_for(std::int32_t queue, const Amounts& amounts, Seconds until = {}) const;
  // The quotas of all queues above both have that left, as far as it lasts; true when there is none.
  bool fits_above_both(std::int32_t queue, std::int32_t other, const Amounts& amounts, Seconds until) const;
  // Some quota holds until a moment only, or is due to somebody then: judge() looks at `until`.
  bool looks_at_end() const { return !dated_.empty() || !kept_rooms_.empty() || !holds_.empty(); }

  // Who has what a refused job lacks: of a lend limit the queue that keeps most idle, else the leaf at or below the
  // queue that refuses which uses most. -1 = nobody.
  std::int32_t in_the_way(const QuotaVerdict& refusal) const;
  // What a queue does not lend and does not use.
  std::int64_t kept_idle(std::int32_t queue, std::size_t resource) const;

  std::int64_t capacity(std::size_t resource) const { return capacity_[resource]; }
  bool is_governed(std::size_t resource) const { return governed_[resource] != 0; }
  std::int64_t quota(std::int32_t queue, std::size_t resource) const;  // loans counted
  std::int64_t used(std::int32_t queue, std::size_t resource) const;
  std::int64_t used_by_all(std::size_t resource) const { return used_by_all_[resource]; }
  std::int64_t marked(std::int32_t queue, std::size_t resource) const;
  // `queue` is `branch`, or lies below it.
  bool lies_in(std::int32_t queue, std::int32_t branch) const;
  int depth(std::int32_t queue) const { return depth_[row(queue)]; }
  // Equal where use is equal, of anybody and of the queue and those below it, also after something was tried and
  // undone: who keeps an answer that depends on use compares. That of anybody knows what is pledged, too. Different use
  // has the same print in one case of 2^34 or more: a sum with random weights (Zobrist 1970).
  std::uint64_t usage_print() const { return print_; }
  std::uint64_t usage_print(std::int32_t queue) const { return prints_[row(queue)]; }

 private:
  using Parts = boost::container::small_vector<std::size_t, 2>;  // resources
  struct KeptRoom {
    std::size_t resource = 0;
    Seconds from;
    std::int64_t spare = 0;
    std::vector<DueRoom> due = {};  // an amount below 0: so much more than that was taken
  };
  DueRoom* due_to(std::int32_t queue, KeptRoom& kept) const;  // nullptr = nothing
  std::int64_t left_of(const KeptRoom& kept, std::int32_t queue) const;
  // What a loan that ends adds to the quota of one queue until then.
  struct DatedQuota {
    std::size_t at = 0;
    Seconds until;
    std::int64_t amount = 0;
    std::size_t borrower = 0;  // its row: that of the queue, or one below
  };

  ModelSet allowed_here(const TaskShape& shape) const {
    return shape.models == 0 ? models_here_ : shape.models & models_here_;
  }
  std::size_t row(std::int32_t queue) const { return queue < 0 ? queues_.size() : static_cast<std::size_t>(queue); }
  std::int32_t index_of(std::size_t row) const { return row < queues_.size() ? static_cast<std::int32_t>(row) : -1; }
  std::size_t at(std::size_t row, std::size_t resource) const { return row * resource_count() + resource; }
  // The row above; row_count() above a root.
  std::size_t above(std::size_t row) const { return above_[row]; }
  std::size_t row_count() const { return queues_.size() + 1; }

  std::vector<std::size_t> rows_children_first() const;
  void complete_resources();
  void add_up_quotas();
  // Where a queue has quotas of models and none of all GPUs, or of a family and its models.
  void count_parts();
  void count_parts_of(std::size_t whole);
  // A queue's quota of gpu or of a family is its quota of each model in it that only a queue above has terms for.
  void cover_models();
  void count_loans(Seconds now);
  void count_promises();
  void find_owned();
  void find_unowned();
  // Its quotas of other GPUs say all there is to say.
  bool leaves_open(std::size_t row, std::size_t resource) const;
  bool says_nothing_of(std::size_t row, std::size_t resource) const;
  // Without that of which the queue has no quota to be judged by.
  Amounts counting(std::int32_t queue, const Amounts& amounts) const;
  // Of `amounts`, what goes beyond what leaves from the queues of which `counts` is true.
  template <class Counts>
  static std::int64_t beyond(std::size_t resource, const Amounts& amounts, const Leaving& leaving,
                             const Counts& counts);
  void change_usage(std::int32_t queue, const Amounts& amounts, std::int64_t sign, Seconds until);
  enum class Counter : std::uint8_t { kUsed, kUncounted, kPledged, kPromises };
  // `more(q)`: of what is used, or of that what does not count, at each row of the path.
  template <class More>
  void count_on_path(Counter counter, std::int32_t queue, std::size_t resource, const More& more);
  template <class More>
  void change_use_of(std::int32_t queue, std::size_t resource, const More& more);
  // What stays promised to all after `row` has taken `demand` more.
  std::int64_t promised_after(std::size_t row, std::size_t resource, std::int64_t demand) const;
  // What the whole cluster has left once that takes `demand`; negative: it lacks so much.
  std::int64_t free_after(std::size_t resource, std::int64_t demand) const {
    return capacity_[resource] - used_by_all_[resource] - demand;
  }
  // What is promised to others and would not be free beside the demand.
  std::int64_t short_for_others(std::size_t row, std::size_t resource, std::int64_t demand) const;
  // The same for who is within the quota of `owner`, a queue on the path of the row: only while somebody borrows of
  // whom that one may take back.
  std::int64_t short_for_others_as_owner(std::size_t row, std::size_t owner, std::size_t resource,
                                         std::int64_t demand) const;
  // The same for who exceeds a quota below `owner`, and from there on none (row_count(): it exceeds that of a root):
  // the promises below that queue bind it as a borrower, those beside it as an owner.
  std::int64_t short_for_lenders(std::int32_t queue, std::size_t owner, std::size_t resource, std::int64_t demand,
                                 Seconds until) const;
  // A queue outside of the path exceeds its quota, and it is a root or its parent lies on the path above `owner`.
  bool somebody_borrows_beside(std::size_t owner, std::size_t resource) const;
  // What queues below the branch, an ancestor of the row, are promised once that takes `demand`.
  std::int64_t kept_below(std::size_t row, std::size_t branch, std::size_t resource, std::int64_t demand) const;
  bool asks_for_governed(const Amounts& amounts) const;
  // The resources whose quotas that quota is the sum of; empty = of none.
  std::span<const std::size_t> parts_of(std::size_t row, std::size_t resource) const {
    if (parts_.empty()) return {};
    const Parts& parts = parts_[at(row, resource)];
    return {parts.data(), parts.size()};
  }
  bool is_left_to_parts(std::size_t row, std::size_t resource, const Amounts& amounts, std::int32_t asking) const;
  // Of the row's quota, beside what is used or marked, and pledged.
  std::int64_t left_beside(std::size_t row, std::size_t resource, Seconds until, Beside beside,
                           std::int32_t asking) const;
  // What is used and the demand leave of it.
  std::int64_t left_after(std::size_t row, std::size_t resource, std::int64_t demand, Seconds until,
                          std::int32_t asking) const;
  bool fits_marks(std::size_t row, const Amounts& amounts, std::int32_t asking) const;
  // `asking`: the queue for whose job that is asked, which lies in the row's.
  bool fits_quota(std::size_t row, const Amounts& amounts, Seconds until, Beside beside, std::int32_t asking) const;
  std::int64_t quota_lasting(std::size_t at, Seconds until) const;
  // The same for a job of that queue: what others below the row hold on loans that end by then is not held of it.
  std::int64_t quota_lasting_for(std::int32_t asking, std::size_t row, std::size_t resource, Seconds until,
                                 Beside beside = Beside::kUsed) const;
  void look_at_holds(std::int32_t queue, const Amounts& demand, Seconds until, QuotaVerdict& verdict) const;

  std::span<const Queue> queues_;
  const Cluster* cluster_;
  QuotaTable table_;  // with the resources that are always counted, and a row for jobs without a queue
  bool governs_ = false;
  bool divides_models_ = false;
  ModelSet models_here_ = 0;  // of the cluster's nodes
  std::vector<std::int64_t> capacity_;
  std::vector<std::uint8_t> governed_;
  std::vector<std::uint8_t> owned_;         // by resource: somebody has a quota of it
  std::vector<std::uint8_t> has_promises_;  // by resource: somebody has a lend limit
  std::vector<int> depth_;
  std::vector<std::size_t> above_;
  std::vector<std::int64_t> quota_;          // by at()
  std::vector<Parts> parts_;                 // by at(), see parts_of(); empty = no queue has any
  std::vector<std::int64_t> used_;           // by at()
  std::vector<std::int64_t> uncounted_;      // by at(): of used_, that of queues for which it does not count
  std::vector<std::uint8_t> unowned_;        // by at(): no quota is to be judged by
  std::vector<std::uint8_t> open_;           // by at(): of these, those without a limit on the path beside other quotas
  std::vector<std::int64_t> marked_;         // by at()
  std::vector<std::int64_t> pledged_;        // by at(): beyond what is used
  std::vector<std::int64_t> pledged_marks_;  // by at(): beyond what is marked
  std::int64_t counted_promises_ = 0;        // by count_promise(), now
  std::vector<std::int64_t> kept_;           // by at(): quota that is not lent
  std::vector<std::int64_t> promised_;       // by at(): of that, and of what queues below keep, not in use
  std::vector<std::int64_t> promised_below_;  // by at(): sum of promised_ over the children
  std::vector<std::int64_t> promised_to_all_;
  std::vector<std::int64_t> used_by_all_;
  std::vector<DatedQuota> dated_;  // by (at, until)
  std::vector<KeptRoom> kept_rooms_;
  std::vector<QuotaHold> holds_;
  std::pair<Seconds, std::int64_t> asking_{Seconds(kNoLimit), 0};
  Seconds certain_end_{kNoLimit};      // of the job that is asked about
  Seconds kept_by_{kNoLimit};          // see judge_for()
  std::vector<std::uint64_t> prints_;  // by row
  std::uint64_t print_ = 0;
};

}  // namespace berth
