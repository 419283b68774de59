#include "engine/model/record_codec.h"

#include <algorithm>

#include "engine/model/archive.h"
#include "engine/model/hash.h"

namespace berth {

template <>
inline constexpr JobState kLastOf<JobState> = JobState::kCancelled;
template <>
inline constexpr Locality kLastOf<Locality> = Locality::kLinkGroup;
template <>
inline constexpr NodeState kLastOf<NodeState> = NodeState::kBooting;
template <>
inline constexpr ResourceKind kLastOf<ResourceKind> = ResourceKind::kGpu;
template <>
inline constexpr BackfillMode kLastOf<BackfillMode> = BackfillMode::kConservative;
template <>
inline constexpr Preemption kLastOf<Preemption> = Preemption::kReplan;
template <>
inline constexpr EvictionRule kLastOf<EvictionRule> = EvictionRule::kReplan;
template <>
inline constexpr VictimChoiceReason kLastOf<VictimChoiceReason> = VictimChoiceReason::kLoan;
template <>
inline constexpr ReservationKind kLastOf<ReservationKind> = ReservationKind::kEviction;
template <>
inline constexpr Reason kLastOf<Reason> = Reason::kKeptOut;

// A T, or a const T. Every member is named below, so that one that is added cannot be forgotten: it would not compile.
template <class X, class T>
concept Is = std::same_as<std::remove_const_t<X>, T>;

template <class A, Is<TaskShape> T>
void fields(A& a, T& x) {
  // `limit_class` follows from Snapshot::kept_out, as `keeps_out` and `takes_unlimited` of a node's kind do.
  auto& [cpu, memory, gpu_count, gpu_milli, gpu_memory, models, pool, within_link_group, limit_class] = x;
  a(cpu, memory, gpu_count, gpu_milli, gpu_memory, models, pool, within_link_group);
}
template <class A, Is<TaskGroup> T>
void fields(A& a, T& x) {
  auto& [shape, count, min_tasks, placed, anchor, anchor_devices, locality, locality_required] = x;
  a(shape, count, min_tasks, placed, anchor, anchor_devices, locality, locality_required);
}
template <class A, Is<DurationEstimate> T>
void fields(A& a, T& x) {
  // `longest` is of forecasts, which are not recorded.
  auto& [p50, p80, p90, is_given, p50_milli, is_rough, longest] = x;
  a(p50, p80, p90, is_given, p50_milli, is_rough);
}
template <class A, Is<EvictionTerms> T>
void fields(A& a, T& x) {
  // `evicts_from` follows from Snapshot::evict_nobody.
  auto& [preemptible, checkpoint_interval, checkpoint_grace, restart_cost, min_runtime, evictions, last_eviction,
         evicts_from, evicted_for] = x;
  a(preemptible, checkpoint_interval, checkpoint_grace, restart_cost, min_runtime, evictions, last_eviction,
    evicted_for);
}
template <class A, Is<Job> T>
void fields(A& a, T& x) {
  auto& [id, queue, priority_class, state, submit, time_limit, groups, estimate, attained, gpu_utilisation_pct,
         eviction, after] = x;
  a(id, queue, priority_class, state, submit, time_limit, groups, attained, gpu_utilisation_pct, after);
  a.sparse(estimate);
  a.sparse(eviction);
}
template <class A, Is<Holding> T>
void fields(A& a, T& x) {
  auto& [node, devices, gpu_milli, gpu_memory, cpu, memory] = x;
  a(node, devices, gpu_milli, gpu_memory, cpu, memory);
}
template <class A, Is<RunningTask> T>
void fields(A& a, T& x) {
  auto& [group, task, holding, start] = x;
  a(group, task, holding, start);
}
template <class A, Is<RunningJob> T>
void fields(A& a, T& x) {
  auto& [job, start, tasks, quota_mark, end_delay, stop_at, stops_for, stop_rule, ends_by] = x;  // see ToldToEnd
  a(job, start, tasks, quota_mark, end_delay, stop_at, stops_for, stop_rule);
}
template <class A, Is<DeviceModel> T>
void fields(A& a, T& x) {
  auto& [id, name, memory] = x;
  a(id, name, memory);
}
template <class A, Is<NodeKind> T>
void fields(A& a, T& x) {
  auto& [cpu, memory, model, device_count, device_memory, link_groups, pool, keeps_out, takes_unlimited] = x;
  a(cpu, memory, model, device_count, device_memory, link_groups, pool);
}
template <class A, Is<Node> T>
void fields(A& a, T& x) {
  auto& [id, kind, rack, state, unhealthy] = x;
  a(id, kind, rack, state, unhealthy);
}
template <class A, Is<Queue> T>
void fields(A& a, T& x) {
  auto& [id, name, parent, weight, priority_band, decayed_usage, eviction_budget, lost_this_hour] = x;
  a(id, name, parent, weight, priority_band, decayed_usage, eviction_budget, lost_this_hour);
}
template <class A, Is<PriorityClass> T>
void fields(A& a, T& x) {
  auto& [id, name, value] = x;
  a(id, name, value);
}
template <class A, Is<QuotaResource> T>
void fields(A& a, T& x) {
  auto& [name, kind, models] = x;
  a(name, kind, models);
}
template <class A, Is<QuotaTerms> T>
void fields(A& a, T& x) {
  auto& [has_quota, quota, limit, borrow_limit, lend_limit, weight] = x;
  a(has_quota, quota, limit, borrow_limit, lend_limit, weight);
}
template <class A, Is<LoanTerms> T>
void fields(A& a, T& x) {
  auto& [id, lender, borrower, resource, amount, until, return_grace] = x;
  a(id, lender, borrower, resource, amount, until, return_grace);
}
template <class A, Is<QuotaTable> T>
void fields(A& a, T& x) {
  auto& [resources, terms, loans, ended_loans, at_ends] = x;  // the last as a part of its own
  a(resources, terms, loans, ended_loans);
}
template <class A, Is<QuotaAtEnd> T>
void fields(A& a, T& x) {
  auto& [from, terms, loans] = x;
  a(from, terms, loans);
}
template <class A, Is<Allocation> T>
void fields(A& a, T& x) {
  auto& [job, group, task, node, devices, gpu_milli, gpu_memory, cpu, memory, start] = x;
  a(job, group, task, node, devices, gpu_milli, gpu_memory, cpu, memory, start);
}
template <class A, Is<ReservedTask> T>
void fields(A& a, T& x) {
  auto& [group, task, node_id, holding] = x;
  a(group, task, node_id, holding);
}
template <class A, Is<Reservation> T>
void fields(A& a, T& x) {
  auto& [job, kind, made_at, expected, expires, tasks] = x;
  a(job, kind, made_at, expected, expires, tasks);
}
template <class A, Is<WorkloadShape> T>
void fields(A& a, T& x) {
  auto& [shape, popularity] = x;
  a(shape, popularity);
}
template <class A, Is<ScriptKnobValue> T>
void fields(A& a, T& x) {
  auto& [name, value] = x;
  a(name, value);
}
template <class A, Is<ScriptPolicy> T>
void fields(A& a, T& x) {
  auto& [name, version, source, knobs] = x;
  a(name, version, source, knobs);
}
template <class A, Is<RoundRules> T>
void fields(A& a, T& x) {
  // `told` is of plans that are not recorded.
  auto& [backfill, backfill_depth, preemption, told, min_runtime, pending_delay, eviction_cooldown, eviction_budget,
         reservation_ttl, default_duration] = x;
  a(backfill, backfill_depth, preemption, min_runtime, pending_delay, eviction_cooldown, eviction_budget,
    reservation_ttl, default_duration);
}
template <class A, Is<OrderKnobs> T>
void fields(A& a, T& x) {
  auto& [usage_weight, usage_half_life, las_thresholds, las_by_gpu, wpai_low_use_penalty, wpai_wait_bonus,
         sjf_percentile] = x;
  a(usage_weight, usage_half_life, las_thresholds, las_by_gpu, wpai_low_use_penalty, wpai_wait_bonus, sjf_percentile);
}
template <class A, Is<Placement> T>
void fields(A& a, T& x) {
  auto& [job, group, task, node, node_id, devices, gpu_milli, gpu_memory, cpu, memory] = x;
  a(job, group, task, node, node_id, devices, gpu_milli, gpu_memory, cpu, memory);
}
template <class A, Is<TaskName> T>
void fields(A& a, T& x) {
  auto& [group, task] = x;
  a(group, task);
}
template <class A, Is<Waiting> T>
void fields(A& a, T& x) {
  auto& [job, reason, group, fits, needed, queue, resource, short_by, in_pieces, passed_over, behind_job, beneficiary,
         words] = x;
  a(job, reason, group, fits, needed, queue, resource, short_by, in_pieces, passed_over, behind_job, beneficiary,
    words);
}
template <class A, Is<Eviction> T>
void fields(A& a, T& x) {
  auto& [job, beneficiary, rule, whole, tasks, lost, stop_at, why, candidates] = x;
  a(job, beneficiary, rule, whole, tasks, lost, stop_at, why, candidates);
}
template <class A, Is<AssertionHold> T>
void fields(A& a, T& x) {
  auto& [job, assertion, like_job] = x;
  a(job, assertion, like_job);
}
template <class A, Is<KeptOffNodes> T>
void fields(A& a, T& x) {
  auto& [job, nodes] = x;
  a(job, nodes);
}
template <class A, Is<KeptOutNode> T>
void fields(A& a, T& x) {
  auto& [node, limit, takes_unlimited] = x;
  a(node, limit, takes_unlimited);
}
struct KeptOutBefore {  // in records of format 9
  NodeIndex node = -1;
  Seconds limit;
};
template <class A, Is<KeptOutBefore> T>
void fields(A& a, T& x) {
  auto& [node, limit] = x;
  a(node, limit);
}
template <class A, Is<EvictsNobody> T>
void fields(A& a, T& x) {
  auto& [job, until] = x;
  a(job, until);
}
template <class A, Is<AssertionRefusal> T>
void fields(A& a, T& x) {
  auto& [job, assertion, at] = x;
  a(job, assertion, at);
}
template <class A, Is<QuotaMark> T>
void fields(A& a, T& x) {
  auto& [job, mark] = x;
  a(job, mark);
}
template <class A, Is<QueueOutlook> T>
void fields(A& a, T& x) {
  auto& [queue, resource, fair_share, starves_since] = x;
  a(queue, resource, fair_share, starves_since);
}

namespace {

// What a part holds; its first byte.
enum class PartKind : std::uint8_t {
  kCluster,
  kNodes,
  kQueues,
  kQuotas,
  kAllocations,
  kRunning,
  kReservations,
  kJobs,
  kWorkload,
  kEvictions,
  kPlacements,
  kWaiting,
  kMarks,
  kOutlook,
  kScripts,
  kHolds,
  kRefused,       // from format 5 on
  kSurplusHolds,  // from format 6 on
  kKeptOff,       // from format 7 on
  kToldToEnd,     // from format 8 on
  kLoanStarts,    // from format 8 on
  kQuotasAtEnds,  // from format 8 on
  kKeptOutNodes,  // of format 9 alone
  kKeptOut,       // from format 10 on
  kEvictNobody    // from format 10 on
};

constexpr std::int64_t kIdsInAPart = 128;
constexpr std::int64_t kNodesInAPart = 64;  // of allocations
constexpr std::size_t kMostWaitingInAPart = 1024;

template <class A, Is<Snapshot> T>
void head_fields(A& a, T& x) {
  auto& [version, now, seed, cluster, queues, classes, quotas, allocations, running, reservations, jobs, workload,
         order_policy, score_policy, filter_policy, victim_policy, scripts, aging_interval, rules, order_knobs, holds,
         surplus_holds, refused, kept_off, kept_out, evict_nobody] = x;
  a(version, now, seed, order_policy, score_policy, filter_policy, victim_policy, aging_interval, rules, order_knobs);
}
template <class A, Is<Plan> T>
void head_fields(A& a, T& x) {
  auto& [version, planned_at, seed, order_policy, score_policy, evictions, reprieves, placements, waiting, reservations,
         marks, outlook, holds, surplus_holds, loan_starts] = x;
  a(version, planned_at, seed, order_policy, score_policy);
}

template <class Value>
std::string head_of(const Value& value) {
  ByteWriter writer;
  head_fields(writer, value);
  return writer.take();
}

class PartsWriter {
 public:
  template <class... Values>
  void whole(PartKind kind, const Values&... values) {
    ByteWriter writer;
    writer(static_cast<std::uint8_t>(kind), values...);
    parts_.push_back(writer.take());
  }
  // One part for each run of values for which `bucket` says the same; `bucket` gets the value's index.
  template <class Values, class Bucket>
  void cut(PartKind kind, const Values& values, Bucket bucket) {
    for (std::size_t first = 0, end = 0; first < values.size(); first = end) {
      while (end < values.size() && bucket(end) == bucket(first)) ++end;
      run(kind, values, first, end);
    }
  }
  // In no order of ids: cut after values whose hash says so, wherever they stand.
  void waiting(const std::vector<Waiting>& waiting) {
    for (std::size_t first = 0, end = 0; first < waiting.size(); first = end) {
      do {
        ++end;
      } while (end < waiting.size() && end - first < kMostWaitingInAPart &&
               hash_mix(static_cast<std::uint64_t>(waiting[end - 1].job)) % kIdsInAPart != 0);
      run(PartKind::kWaiting, waiting, first, end);
    }
  }
  std::vector<std::string> take() { return std::move(parts_); }

 private:
  // As read_more reads it.
  template <class Values>
  void run(PartKind kind, const Values& values, std::size_t first, std::size_t end) {
    ByteWriter writer;
    writer.reserve(8192);
    writer(static_cast<std::uint8_t>(kind));
    writer.put_varint(end - first);
    for (std::size_t i = first; i < end; ++i) writer(values[i]);
    parts_.push_back(writer.take());
  }

  std::vector<std::string> parts_;
};

// Appends what `reader` holds.
template <class Value>
void read_more(ByteReader& reader, std::vector<Value>& values) {
  std::vector<Value> more;
  reader(more);
  std::ranges::move(more, std::back_inserter(values));
}

Status damaged(std::string_view what) {
  return Status(Code::kCorrupt, std::string("a recorded ") + std::string(what) + " cannot be read");
}

// A node with its name.
struct NamedNode {
  Node node;
  std::string name;
};
template <class A, Is<NamedNode> T>
void fields(A& a, T& x) {
  auto& [node, name] = x;
  a(node, name);
}

// RunningJob::ends_by of one that has it, beside the job for the sake of older records.
struct ToldToEnd {
  std::int64_t job = 0;
  Seconds ends_by;
};
template <class A, Is<ToldToEnd> T>
void fields(A& a, T& x) {
  auto& [job, ends_by] = x;
  a(job, ends_by);
}

std::vector<ToldToEnd> told_to_end(const Snapshot& snapshot) {
  std::vector<ToldToEnd> told;
  for (const RunningJob& run : snapshot.running) {
    if (run.is_told_to_end()) told.push_back({run.job.id, run.ends_by});
  }
  return told;
}

void read_told_to_end(ByteReader& reader, Snapshot& snapshot) {
  std::vector<ToldToEnd> told;
  reader(told);
  for (const ToldToEnd& each : told) {
    const auto id_of = [](const RunningJob& run) { return run.job.id; };
    const auto run = std::ranges::lower_bound(snapshot.running, each.job, {}, id_of);
    if (run != snapshot.running.end() && run->job.id == each.job) run->ends_by = each.ends_by;
  }
}

void read_kept_out_nodes(ByteReader& reader, Snapshot& snapshot) {
  std::vector<KeptOutBefore> rows;
  reader(rows);
  for (const KeptOutBefore& row : rows) snapshot.kept_out.push_back({row.node, row.limit});
}

void read_part(ByteReader& reader, Snapshot& snapshot, bool& is_known) {
  std::uint8_t kind = 0;
  reader(kind);
  switch (static_cast<PartKind>(kind)) {
    case PartKind::kCluster:
      return reader(snapshot.cluster.models, snapshot.cluster.pools, snapshot.cluster.racks, snapshot.cluster.kinds);
    case PartKind::kNodes: {
      std::vector<NamedNode> nodes;
      reader(nodes);
      for (NamedNode& each : nodes) {
        snapshot.cluster.nodes.push_back(each.node);
        snapshot.cluster.node_names.push_back(std::move(each.name));
      }
      return;
    }
    case PartKind::kQueues: return reader(snapshot.queues, snapshot.priority_classes);
    case PartKind::kQuotas: return reader(snapshot.quotas);
    case PartKind::kAllocations: return read_more(reader, snapshot.allocations);
    case PartKind::kRunning: return read_more(reader, snapshot.running);
    case PartKind::kReservations: return reader(snapshot.reservations);
    case PartKind::kJobs: return read_more(reader, snapshot.jobs);
    case PartKind::kWorkload: return reader(snapshot.workload);
    case PartKind::kScripts: return reader(snapshot.scripts.policies);
    case PartKind::kHolds: return reader(snapshot.holds);
    case PartKind::kRefused: return reader(snapshot.refused);
    case PartKind::kSurplusHolds: return reader(snapshot.surplus_holds);
    case PartKind::kKeptOff: return reader(snapshot.kept_off);
    case PartKind::kKeptOutNodes: return read_kept_out_nodes(reader, snapshot);
    case PartKind::kKeptOut: return reader(snapshot.kept_out);
    case PartKind::kEvictNobody: return reader(snapshot.evict_nobody);
    case PartKind::kQuotasAtEnds: return reader(snapshot.quotas.at_ends);
    case PartKind::kToldToEnd: return read_told_to_end(reader, snapshot);
    default: is_known = false;
  }
}

void read_part(ByteReader& reader, Plan& plan, bool& is_known) {
  std::uint8_t kind = 0;
  reader(kind);
  switch (static_cast<PartKind>(kind)) {
    case PartKind::kEvictions: return reader(plan.evictions, plan.reprieves);
    case PartKind::kPlacements: return reader(plan.placements);
    case PartKind::kWaiting: return read_more(reader, plan.waiting);
    case PartKind::kReservations: return reader(plan.reservations);
    case PartKind::kMarks: return reader(plan.marks);
    case PartKind::kOutlook: return reader(plan.outlook);
    case PartKind::kHolds: return reader(plan.holds);
    case PartKind::kSurplusHolds: return reader(plan.surplus_holds);
    case PartKind::kLoanStarts: return reader(plan.loan_starts);
    default: is_known = false;
  }
}

template <class Value>
Result<Value> decode(std::string_view what, std::string_view head, std::span<const std::string> parts) {
  Value value;
  ByteReader reader(head);
  head_fields(reader, value);
  if (!reader.ok() || !reader.at_end()) return damaged(what);
  for (const std::string& part : parts) {
    ByteReader of_part(part);
    bool is_known = true;
    read_part(of_part, value, is_known);
    if (!is_known || !of_part.ok() || !of_part.at_end()) return damaged(what);
  }
  return value;
}

std::vector<NamedNode> named(const Cluster& cluster) {
  std::vector<NamedNode> nodes;
  nodes.reserve(cluster.nodes.size());
  for (std::size_t i = 0; i < cluster.nodes.size(); ++i)
    nodes.push_back({cluster.nodes[i], i < cluster.node_names.size() ? cluster.node_names[i] : std::string()});
  return nodes;
}

}  // namespace

EncodedRecord encode_snapshot(const Snapshot& snapshot) {
  PartsWriter parts;
  const Cluster& cluster = snapshot.cluster;
  parts.whole(PartKind::kCluster, cluster.models, cluster.pools, cluster.racks, cluster.kinds);
  const std::vector<NamedNode> nodes = named(cluster);
  parts.cut(PartKind::kNodes, nodes, [&](std::size_t i) { return nodes[i].node.id / kIdsInAPart; });
  parts.whole(PartKind::kQueues, snapshot.queues, snapshot.priority_classes);
  parts.whole(PartKind::kQuotas, snapshot.quotas);
  parts.cut(PartKind::kAllocations, snapshot.allocations,
            [&](std::size_t i) { return snapshot.allocations[i].node / kNodesInAPart; });
  parts.cut(PartKind::kRunning, snapshot.running,
            [&](std::size_t i) { return snapshot.running[i].job.id / kIdsInAPart; });
  parts.whole(PartKind::kReservations, snapshot.reservations);
  parts.cut(PartKind::kJobs, snapshot.jobs, [&](std::size_t i) { return snapshot.jobs[i].id / kIdsInAPart; });
  parts.whole(PartKind::kWorkload, snapshot.workload);
  if (!snapshot.scripts.policies.empty()) parts.whole(PartKind::kScripts, snapshot.scripts.policies);
  if (!snapshot.holds.empty()) parts.whole(PartKind::kHolds, snapshot.holds);
  if (!snapshot.refused.empty()) parts.whole(PartKind::kRefused, snapshot.refused);
  if (!snapshot.surplus_holds.empty()) parts.whole(PartKind::kSurplusHolds, snapshot.surplus_holds);
  if (!snapshot.kept_off.empty()) parts.whole(PartKind::kKeptOff, snapshot.kept_off);
  if (!snapshot.kept_out.empty()) parts.whole(PartKind::kKeptOut, snapshot.kept_out);
  if (!snapshot.evict_nobody.empty()) parts.whole(PartKind::kEvictNobody, snapshot.evict_nobody);
  if (!snapshot.quotas.at_ends.empty()) parts.whole(PartKind::kQuotasAtEnds, snapshot.quotas.at_ends);
  if (const std::vector<ToldToEnd> told = told_to_end(snapshot); !told.empty()) parts.whole(PartKind::kToldToEnd, told);
  return {head_of(snapshot), parts.take()};
}

EncodedRecord encode_plan(const Plan& plan) {
  PartsWriter parts;
  parts.whole(PartKind::kEvictions, plan.evictions, plan.reprieves);
  parts.whole(PartKind::kPlacements, plan.placements);
  parts.waiting(plan.waiting);
  parts.whole(PartKind::kReservations, plan.reservations);
  parts.whole(PartKind::kMarks, plan.marks);
  parts.whole(PartKind::kOutlook, plan.outlook);
  if (!plan.holds.empty()) parts.whole(PartKind::kHolds, plan.holds);
  if (!plan.surplus_holds.empty()) parts.whole(PartKind::kSurplusHolds, plan.surplus_holds);
  if (!plan.loan_starts.empty()) parts.whole(PartKind::kLoanStarts, plan.loan_starts);
  return {head_of(plan), parts.take()};
}

Result<Snapshot> decode_snapshot(std::string_view head, std::span<const std::string> parts) {
  BERTH_ASSIGN(Snapshot snapshot, decode<Snapshot>("snapshot", head, parts));
  apply_kept_out(snapshot);
  return snapshot;
}
Result<Plan> decode_plan(std::string_view head, std::span<const std::string> parts) {
  return decode<Plan>("plan", head, parts);
}

}  // namespace berth
