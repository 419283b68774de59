#include "engine/round/reclaim.h"

#include <algorithm>
#include <utility>

#include "engine/round/own_models.h"
#include "engine/round/quota_placing.h"
#include "engine/round/reserved_room.h"

namespace berth {

namespace {

// Without what is kept of a quota for the job itself.
class WithoutItsPledge {
 public:
  WithoutItsPledge(RoundState& state, const RoundState::Pledge* pledge) : quotas_(state.quotas()) {
    if (pledge == nullptr) return;
    pledge_ = *pledge;
    count(-1);
  }
  ~WithoutItsPledge() {
    if (pledge_) count(1);
  }
  WithoutItsPledge(const WithoutItsPledge&) = delete;
  WithoutItsPledge& operator=(const WithoutItsPledge&) = delete;

 private:
  void count(std::int64_t sign) { quotas_.pledge(*pledge_, sign); }

  QuotaLedger& quotas_;
  std::optional<RoundState::Pledge> pledge_;
};

DemandKey reclaim_demand(const Job& job, std::span<const TaskGroup> groups, const Amounts& demand, Seconds end,
                         const QuotaLedger& quotas) {
  DemandKey key = {job.queue, job.priority_class, quotas.looks_at_end() ? end.value() : 0};
  key.insert(key.end(), demand.begin(), demand.end());
  for (const TaskGroup& group : groups) append_demand(group, key);
  return key;
}

constexpr int kMostLevels = 4;  // of a path of which all sets are tried

// Sets of depths of a path; those come first that lie near its end.
std::vector<std::uint32_t> depth_sets(int levels) {
  std::vector<std::uint32_t> sets;
  if (levels > kMostLevels) {
    for (int first = levels; first >= 0; --first) sets.push_back(first_depths(std::min(first, kMarkedDepths)));
    return sets;
  }
  for (std::uint32_t from_end = 0; from_end < 1u << levels; ++from_end) {
    std::uint32_t set = 0;
    for (int depth = 0; depth < levels; ++depth) {
      if ((from_end >> (levels - 1 - depth) & 1) != 0) set |= depth_bit(depth);
    }
    sets.push_back(set);
  }
  return sets;
}

}  // namespace

Seconds evicts_from(const Job& job, const RoundRules& rules) {
  return std::max(std::max(job.submit, job.eviction.last_eviction) + rules.pending_delay, job.eviction.evicts_from);
}

bool may_evict_others(const Job& job, const RoundRules& rules, Seconds now) { return now >= evicts_from(job, rules); }

Reclaim::Reclaim(RoundState& state, Seconds now, const QueueOrder* order, const OrderInput* input)
    : state_(state), now_(now), order_(order), input_(input), room_to_come_(state, now) {
  for (const Queue& queue : state.setup().queues) lost_.push_back(queue.lost_this_hour);
  lost_.push_back(0);
}

void Reclaim::settle(std::int64_t job) {
  settled_.push_back(job);
  if (index_) index_->retire(job);
}

void Reclaim::keep_for(std::int64_t job, Seconds then, std::span<const TaskPlace> surplus) {
  std::map<std::int64_t, KeptSurplus> kept;
  for (const TaskPlace& each : surplus) {
    const RunningTask& task = each.run->tasks[each.task];
    KeptSurplus& its = kept.try_emplace(each.run->job.id, KeptSurplus{job, 0}).first->second;
    its.lost += lost_work(*each.run, task, then, Stops::kAlone);
  }
  for (const auto& [victim, its] : kept) keep(victim, its);
}

void Reclaim::keep(std::int64_t victim, const KeptSurplus& surplus) {
  if (kept_for_.try_emplace(victim, surplus).second) lost_of(state_.running().find(victim)->job.queue) += surplus.lost;
}

bool Reclaim::has_a_cause() const {
  if (state_.quotas().governs()) return true;
  const auto other = [](const PriorityClass& priority_class) { return priority_class.value != 0; };
  return std::ranges::any_of(state_.setup().priority_classes, other);
}

const VictimIndex& Reclaim::index() {
  if (!index_ || state_.may_renew_marks()) {
    state_.renew_marks();
    index_ = std::make_unique<VictimIndex>(state_, now_);
    for (const std::int64_t job : settled_) index_->retire(job);
  }
  return *index_;
}

std::optional<RoomMade> Reclaim::make_room(const Job& job, Seconds end, const std::function<void()>& before_search,
                                           const Search& search, Price* price) {
  if (!may_evict_others(job, state_.rules(), now_) || room_to_come_.serves(job, end)) return std::nullopt;
  const QuotaLedger& quotas = state_.quotas();
  if (search.is_promised) (void)index();  // marks are given beside what is promised
  beside_ = search.is_promised ? QuotaLedger::Beside::kMarked : QuotaLedger::Beside::kUsed;
  const WithoutItsPledge lifted(state_, search.is_promised ? state_.pledge_of(job.id) : nullptr);
  const auto try_it = [&](const Job& wanted, bool of_all, Price* its_price) {
    const Job gang = gang_of(wanted);
    const Amounts demand = quotas.demand_to_start(wanted);
    return make_room_for({job, gang_of(job), gang.groups, demand, end, of_all, 0, search.as_owner}, before_search,
                         search, its_price);
  };
  if (search.as_owner) return try_it(job, true, price);
  const std::vector<Job> narrowed = on_each_own_model(quotas, job, end);
  const Job* cheapest = &job;
  Price least;
  for (std::size_t i = 0; !narrowed.empty() && i <= narrowed.size(); ++i) {
    const Job& way = i == 0 ? job : narrowed[i - 1];
    Price its_price;
    (void)try_it(way, false, &its_price);
    if (!its_price || (least && *least <= *its_price)) continue;
    cheapest = &way;
    least = its_price;
  }
  if (narrowed.empty() || least) {
    std::optional<RoomMade> room = try_it(*cheapest, false, price);
    if (room || (price != nullptr && *price)) return room;
  }
  return search.is_promised ? std::nullopt : try_it(job, true, price);
}

std::optional<RoomMade> Reclaim::take_surplus_left(const Job& job, const Reservation& promise, Seconds end) {
  (void)index();  // marks are given beside what is promised
  for (auto& [victim, kept] : kept_for_) {
    const RunningJob* const run = kept.job == job.id ? state_.running().find(victim) : nullptr;
    if (run != nullptr) lost_of(run->job.queue) -= std::exchange(kept.lost, 0);
  }
  const WithoutItsPledge lifted(state_, state_.pledge_of(job.id));
  const Amounts amounts = state_.held_by(promise.tasks);
  struct Surplus {
    const RunningJob* run;
    std::size_t task;
    bool is_in_the_way;
    bool is_taken;
  };
  const QuotaLedger marked = marked_without_leaving(state_, job);
  const auto may_take = [&](const RunningJob& run) { return may_take_surplus(state_, marked, job, amounts, run, end); };
  const std::optional<std::vector<TaskPlace>> ways = surplus_in_the_way(state_, promise, may_take);
  if (!ways) return std::nullopt;
  std::vector<Surplus> all;
  for (const RunningJob& run : state_.running().all()) {
    if (!may_take(run)) continue;
    for (const std::size_t task : surplus_tasks(run)) {
      const bool is_in_the_way =
          std::ranges::any_of(*ways, [&](const TaskPlace& each) { return each.run == &run && each.task == task; });
      all.push_back({&run, task, is_in_the_way, is_in_the_way});
    }
  }
  // Judged together: one that goes may be what allows another.
  const auto is_allowed = [&] {
    QuotaLedger used = state_.quotas();
    QuotaLedger marks = state_.quotas();
    for (const Surplus& each : all) {
      if (!each.is_taken) continue;
      Amounts held = used.none();
      used.add_holding(each.run->tasks[each.task].holding, held);
      used.give_back(each.run->job.queue, held);
      marks.unmark(each.run->job.queue, held, each.run->quota_mark >> kMarkedDepths);
    }
    return used.judge(job.queue, amounts, end).admitted() && std::ranges::all_of(all, [&](const Surplus& each) {
             return !each.is_taken || may_take_surplus(state_, marks, job, amounts, *each.run, end);
           });
  };
  // Not in the way, but their quota may be.
  bool allowed = is_allowed();
  for (std::size_t i = 0; i < all.size() && !allowed; ++i) {
    if (std::exchange(all[i].is_taken, true)) continue;
    allowed = is_allowed();
  }
  for (std::size_t i = all.size(); allowed && i-- > 0;) {
    if (all[i].is_in_the_way || !std::exchange(all[i].is_taken, false)) continue;
    all[i].is_taken = !is_allowed();
  }
  RoomMade room;
  Ledger& ledger = state_.ledger();
  const Ledger::Checkpoint before = ledger.checkpoint();
  for (const Surplus& each : all) {
    if (!each.is_taken) continue;
    const RunningJob& run = *each.run;
    const RunningTask& gone = run.tasks[each.task];
    if (room.evictions.empty() || room.evictions.back().job != run.job.id) {
      room.evictions.push_back({.job = run.job.id,
                                .beneficiary = job.id,
                                .rule = run.job.queue == job.queue ? EvictionRule::kPriority : EvictionRule::kReclaim,
                                .whole = false,
                                .stop_at = now_,
                                .why = VictimChoiceReason::kLeastForRoom,
                                .candidates = 1});
    }
    room.evictions.back().tasks.push_back({gone.group, gone.task});
    room.evictions.back().lost += lost_work(run, gone, now_, Stops::kAlone);
    (void)ledger.release(gone.holding);
  }
  bool fits = allowed && !room.evictions.empty();
  for (const ReservedTask& task : promise.tasks) fits = fits && ledger.place(task.holding).ok();
  ledger.rollback(before);
  if (!fits) return std::nullopt;
  for (const Eviction& eviction : room.evictions) {
    lost_of(state_.running().find(eviction.job)->job.queue) += eviction.lost;
    (void)state_.shrink(eviction.job, eviction.tasks);
    settle(eviction.job);
  }
  room.outcome.started = true;
  for (const ReservedTask& task : promise.tasks) {
    (void)ledger.place(task.holding);
    room.outcome.placed.push_back({task.group, task.task, task.holding});
  }
  failed_.clear();
  return room;
}

Served Reclaim::served_without(const Job& gang, Seconds end, std::span<const RunningJob* const> ended,
                               Seconds then_at) {
  (void)index();  // marks are given
  VictimIndex guests(state_, then_at);
  for (const std::int64_t job : settled_) guests.retire(job);
  QuotaLedger& quotas = state_.quotas();
  Ledger& ledger = state_.ledger();
  const Ledger::Checkpoint before = ledger.checkpoint();
  const auto is_in = [](std::span<const RunningJob* const> runs, std::int64_t job) {
    return std::ranges::find(runs, job, [](const RunningJob* run) { return run->job.id; }) != runs.end();
  };
  std::vector<const RunningJob*> gone(ended.begin(), ended.end());
  for (const RunningJob& run : state_.running().all()) {
    if (run.is_told_to_stop() && !is_in(ended, run.job.id)) gone.push_back(&run);
  }
  for (const RunningJob* const run : gone) {
    quotas.give_back(run->job.queue, state_.held_by(*run).all, state_.lasts_until(*run));
    for (const RunningTask& task : run->tasks) (void)ledger.release(task.holding);
  }
  const Amounts demand = quotas.demand_to_start(gang);
  const Reaches reaches = reaches_for(guests, gang, demand, end);
  QuotaLedger then = quotas;
  then.clear_holds();
  bool came_back = false;
  for (std::size_t i = 0; i < guests.size(); ++i) {
    if (is_in(gone, guests[i].job)) continue;
    std::size_t level = guests[i].in_reach(reaches.of[i]);
    const std::int64_t budget = eviction_budget_of(state_, guests[i].queue);
    if (budget >= 0 && guests[i].lost(level) > budget) level = 0;
    came_back = came_back || (level > 0 && state_.running().find(guests[i].job)->job.eviction.evictions > 0);
    Amounts given = then.none();
    for (std::size_t task = 0; task < level; ++task) {
      (void)ledger.release(guests[i].tasks[task].holding);
      then.add_holding(guests[i].tasks[task].holding, given);
    }
    then.give_back(guests[i].queue, given, guests[i].lasts_until);
  }
  const bool fits = then.judge(gang.queue, demand, end).admitted() && state_.placer().place_job(gang).started;
  ledger.rollback(before);
  for (const RunningJob* const run : gone)
    quotas.take(run->job.queue, state_.held_by(*run).all, state_.lasts_until(*run));
  if (!fits) return Served::kNo;
  return came_back ? Served::kByEvictingAgain : reaches.any ? Served::kByEvictions : Served::kByIdleRoom;
}

std::optional<RoomMade> Reclaim::make_room_for(Wanted wanted, const std::function<void()>& before_search,
                                               const Search& how, Price* price) {
  const Job& job = wanted.job;
  if (!has_a_chance(wanted)) return std::nullopt;
  // Whom it may evict depends on the job itself when it has been evicted before.
  const bool fails_alike = job.eviction.evicted_for.empty();
  DemandKey key = reclaim_demand(job, wanted.groups, wanted.demand, wanted.end, state_.quotas());
  key.push_back(how.kind * 32 + (how.as_owner ? 16 : 0) + (wanted.of_all ? 8 : 0) + (how.takes_back ? 4 : 0) +
                (how.takes_of_own_queue ? 2 : 0) + (how.is_promised ? 1 : 0));
  for (const std::vector<std::int64_t>* const jobs : {&how.spared, &how.left_in_time}) {
    key.push_back(static_cast<std::int64_t>(jobs->size()));
    key.insert(key.end(), jobs->begin(), jobs->end());
  }
  if (fails_alike && failed_.contains(key)) return std::nullopt;
  const QuotaLedger& quotas = state_.quotas();
  const bool is_owner = wanted.of_all && quotas.governs() && job.queue >= 0;
  const std::uint32_t sufficing = is_owner ? depths_that_suffice(quotas, job.queue, wanted.demand) : 0;
  const int levels = is_owner ? quotas.depth(job.queue) + 1 : 0;
  const std::uint32_t least = how.as_owner ? first_depths(std::min(levels, kMarkedDepths)) : 0;
  bool is_declined = false;
  bool is_prepared = false;
  if (index().size() > 0) {
    for (const std::uint32_t own : depth_sets(levels)) {
      if ((own & ~sufficing) != 0 || (least & ~own) != 0) continue;
      wanted.own = own;
      const Reaches reaches = reaches_of(wanted, how);
      if (!reaches.any || !could_suffice(wanted.demand, reaches)) continue;
      if (!std::exchange(is_prepared, true)) before_search();
      VictimChoice choice(state_, *index_, lost_);
      std::optional<JobOutcome> outcome =
          wanted.of_all ? search_among_all(wanted, reaches, choice) : search(wanted, reaches, choice);
      if (!outcome) continue;
      spare_out_of_place(wanted, *outcome, choice);
      if (!holds_until_then(wanted, state_.held_by(outcome->placed), choice)) continue;
      is_declined = how.declines && how.declines(jobs_of(choice));
      if (is_declined) break;
      if (how.at_most && choice.cost() > *how.at_most) {
        is_declined = true;
        continue;
      }
      if (price != nullptr) {
        *price = choice.cost();
        return std::nullopt;
      }
      failed_.clear();
      return carry_out(job, *std::move(outcome), reaches, choice);
    }
  }
  if (fails_alike && !is_declined) failed_.insert(std::move(key));
  return std::nullopt;
}

// But for those that the asker spares.
Reclaim::Reaches Reclaim::reaches_of(const Wanted& wanted, const Search& how) const {
  Reaches reaches =
      wanted.of_all ? reaches_within(wanted) : reaches_for(*index_, wanted.job, wanted.demand, wanted.end);
  reaches.any = false;
  for (std::size_t i = 0; i < index_->size(); ++i) {
    const Victim& victim = (*index_)[i];
    const bool is_barred = victim.queue == wanted.job.queue ? !how.takes_of_own_queue : !how.takes_back;
    if (is_barred || std::ranges::find(how.spared, victim.job) != how.spared.end()) reaches.of[i] = VictimReach::kNone;
    reaches.any = reaches.any || reaches.of[i] != VictimReach::kNone;
  }
  return reaches;
}

std::vector<const RunningJob*> Reclaim::jobs_of(const VictimChoice& choice) const {
  std::vector<const RunningJob*> jobs;
  for (const std::size_t v : choice.chosen()) jobs.push_back(state_.running().find((*index_)[v].job));
  return jobs;
}

// Some queue on the path has quota left for the gang, or somebody could be of a lower class.
bool Reclaim::has_a_chance(const Wanted& wanted) const {
  const QuotaLedger& quotas = state_.quotas();
  const std::int64_t value = state_.class_value(wanted.job);
  const bool has_lower_class = value > 0 || std::ranges::any_of(state_.setup().priority_classes,
                                                                [&](const auto& other) { return other.value < value; });
  if (has_lower_class) return true;
  if (wanted.of_all && quotas.choices_of(wanted.gang) != 0) return true;  // it counts for no model yet
  return quotas.governs() && quotas.has_quota_for(wanted.job.queue, wanted.demand, wanted.end);
}

bool Reclaim::was_put_first(const RunningJob& run, const Job& job) const {
  if (run.start <= std::max(job.submit, job.eviction.last_eviction)) return false;
  if (order_ == nullptr || input_ == nullptr)
    return std::pair(run.job.in_line_since(), run.job.id) < std::pair(job.in_line_since(), job.id);
  const bool do_ranks_move = order_->keyed() == nullptr;
  if (do_ranks_move && state_.rules().goes_by_age(run.job.in_line_since(), job.in_line_since())) return true;
  OrderInput then = *input_;
  then.now = run.start;
  return order_->goes_first(run.job, job, then);
}

// By priority, in its own queue.
bool Reclaim::may_go_by_class(const Victim& victim, const Job& job) const {
  if (victim.class_value >= state_.class_value(job)) return false;
  if (std::ranges::find(job.eviction.evicted_for, victim.job) != job.eviction.evicted_for.end()) return false;
  const RunningJob& run = *state_.running().find(victim.job);
  return !was_put_first(run, job) && now_ >= rests_until(run, state_.rules());
}

bool Reclaim::is_out_of_reach(const Victim& victim, const Job& job) const {
  const auto kept = kept_for_.find(victim.job);
  return victim.is_retired || (kept != kept_for_.end() && kept->second.job != job.id);
}

VictimReach Reclaim::reach_beyond(const Victim& victim, int fork) {
  if ((victim.gang_marks() >> fork & 1) == 0) return VictimReach::kAll;
  return victim.surplus > 0 && (victim.surplus_marks() >> fork & 1) == 0 ? VictimReach::kSurplus : VictimReach::kNone;
}

Reclaim::Reaches Reclaim::reaches_for(const VictimIndex& victims, const Job& job, const Amounts& demand,
                                      Seconds end) const {
  const QuotaLedger& quotas = state_.quotas();
  // By queue of a victim: may its jobs be reclaimed from, marks aside; asked once.
  enum class Known : std::uint8_t { kNot, kNo, kYes };
  std::vector<Known> known(lost_.size(), Known::kNot);
  Reaches reaches;
  reaches.of.assign(victims.size(), VictimReach::kNone);
  for (std::size_t i = 0; i < victims.size(); ++i) {
    const Victim& victim = victims[i];
    if (is_out_of_reach(victim, job)) continue;
    if (victim.queue == job.queue) {
      if (may_go_by_class(victim, job)) reaches.of[i] = VictimReach::kAll;
    } else {
      Known& may = known[victim.queue < 0 ? known.size() - 1 : static_cast<std::size_t>(victim.queue)];
      if (may == Known::kNot)
        may = quotas.may_reclaim(job.queue, demand, victim.queue, 0, end, beside_) ? Known::kYes : Known::kNo;
      if (may == Known::kYes) reaches.of[i] = reach_beyond(victim, quotas.fork_depth(job.queue, victim.queue));
    }
    reaches.any = reaches.any || reaches.of[i] != VictimReach::kNone;
  }
  return reaches;
}

Reclaim::Reaches Reclaim::reaches_within(const Wanted& wanted) const {
  const Job& job = wanted.job;
  Reaches reaches;
  reaches.of.assign(index_->size(), VictimReach::kNone);
  std::vector<std::size_t> lower;
  for (std::size_t i = 0; i < index_->size(); ++i) {
    const Victim& victim = (*index_)[i];
    if (is_out_of_reach(victim, job)) continue;
    if (victim.queue == job.queue) {
      if (may_go_by_class(victim, job)) lower.push_back(i);
      continue;
    }
    const int fork = state_.quotas().fork_depth(job.queue, victim.queue);
    if ((wanted.own & mark_bit(fork)) != 0) reaches.of[i] = reach_beyond(victim, fork);
  }
  if (!lower.empty()) {
    const std::uint32_t has = wanted.own | state_.marks_before_lower(job, wanted.demand);
    for (const std::size_t i : lower) {
      const Victim& victim = (*index_)[i];
      const VictimReach at_least = victim.surplus > 0 ? VictimReach::kSurplus : VictimReach::kNone;
      reaches.of[i] = (victim.gang_marks() & ~has) == 0 ? VictimReach::kAll : at_least;
    }
  }
  return reaches;
}

std::uint32_t Reclaim::marks_without(const VictimChoice& choice, const Job& job, const Amounts& taken) const {
  const auto count = [&](std::int64_t sign) {
    for (const std::size_t v : choice.chosen()) {
      const Victim& victim = (*index_)[v];
      if (victim.queue == job.queue) continue;  // of a lower class, and gives its marks whether it goes or not
      const std::size_t surplus = std::min(choice.level(v), victim.surplus);
      const auto count_marks = [&](std::size_t from, std::size_t to, std::uint32_t marks) {
        state_.quotas().count_marks(victim.queue, index_->amounts(state_, v, from, to), marks, sign);
      };
      count_marks(0, surplus, victim.surplus_marks());
      count_marks(surplus, choice.level(v), victim.gang_marks());
    }
  };
  count(-1);
  const std::uint32_t gained = state_.marks_before_lower(job, taken);
  count(1);
  return gained;
}

void Reclaim::add_in_reach(const Reaches& reaches, Amounts& amounts) const {
  for (std::size_t i = 0; i < index_->size(); ++i) {
    const Victim& victim = (*index_)[i];
    const std::size_t level = victim.in_reach(reaches.of[i]);
    for (std::size_t task = 0; task < level; ++task) state_.quotas().add_holding(victim.tasks[task].holding, amounts);
  }
}

// Would it fit by count of the whole cluster, if all of them went?
bool Reclaim::could_suffice(const Amounts& demand, const Reaches& reaches) const {
  const QuotaLedger& quotas = state_.quotas();
  Amounts room = quotas.none();
  for (std::size_t r = 0; r < room.size(); ++r) room[r] = quotas.capacity(r) - quotas.used_by_all(r);
  add_in_reach(reaches, room);
  for (std::size_t r = 0; r < room.size(); ++r) {
    if (demand[r] > room[r]) return false;
  }
  return true;
}

// Compared with those in reach that were not chosen.
VictimChoiceReason Reclaim::why_chosen(const Victim& victim, const Reaches& reaches, const VictimChoice& choice) const {
  bool is_only = true;
  bool is_lowest = true;
  bool loses_least = true;
  for (std::size_t i = 0; i < reaches.of.size(); ++i) {
    if (reaches.of[i] == VictimReach::kNone || choice.level(i) > 0) continue;
    const Victim& other = (*index_)[i];
    is_only = false;
    is_lowest = is_lowest && victim.class_value < other.class_value;
    const bool comes_first = victim.class_value < other.class_value;
    const bool is_alike = victim.class_value == other.class_value || (!victim.is_within_quota && other.is_within_quota);
    loses_least = loses_least && (comes_first || (is_alike && victim.lost_seconds <= other.lost_seconds));
  }
  if (is_only) return VictimChoiceReason::kOnly;
  if (state_.setup().victim_cost != nullptr) return VictimChoiceReason::kPolicy;
  if (is_lowest) return VictimChoiceReason::kLowestClass;
  return loses_least ? VictimChoiceReason::kLeastLost : VictimChoiceReason::kLeastForRoom;
}

RoomMade Reclaim::carry_out(const Job& job, JobOutcome outcome, const Reaches& reaches, VictimChoice& choice) {
  struct Step {
    std::size_t victim;
    std::size_t level;
    VictimChoiceReason why;
    std::int64_t lost_then;  // when the last one stops
  };
  // Nobody stops before the last one does: until then the job cannot start, and may find room elsewhere. Surplus tasks
  // are left for then: they cannot be told to stop, and the job asks for room again.
  const Seconds last_stop = choice.last_stop();
  std::vector<Step> steps;  // in the order of victims
  for (const std::size_t v : choice.chosen())
    steps.push_back({v, choice.level(v), why_chosen((*index_)[v], reaches, choice), choice.lost_at(v, last_stop)});
  std::ranges::sort(steps, {}, &Step::victim);
  const auto candidates =
      std::ranges::count_if(reaches.of, [](VictimReach reach) { return reach != VictimReach::kNone; });
  choice.clear();
  RoomMade room;
  const auto is_left_for_then = [&](const Step& step) {
    return step.level < (*index_)[step.victim].all() && last_stop > now_;
  };
  for (const Step& step : steps) {
    const Victim& victim = (*index_)[step.victim];
    if (!is_left_for_then(step)) lost_of(victim.queue) += victim.lost(step.level);
  }
  for (const Step& step : steps) {
    const auto& [v, level, why, lost_then] = step;
    const Victim& victim = (*index_)[v];
    Eviction eviction{.job = victim.job,
                      .beneficiary = job.id,
                      .rule = victim.queue == job.queue ? EvictionRule::kPriority : EvictionRule::kReclaim,
                      .whole = level == victim.all(),
                      .lost = victim.lost(level),
                      .stop_at = now_,
                      .why = why,
                      .candidates = static_cast<std::int32_t>(candidates)};
    if (is_left_for_then(step)) {
      keep(victim.job, {job.id, lost_then});
      continue;
    }
    RunningJob& run = *state_.running().change(victim.job);
    Seconds stop = victim.stop;
    if (eviction.whole && stop < last_stop) {
      // What it works on is lost, too, as far as the budget lets it.
      const std::int64_t budget = eviction_budget_of(state_, victim.queue);
      std::int64_t& lost = lost_of(victim.queue);
      if (budget < 0 || lost + lost_then - eviction.lost <= budget) {
        stop = last_stop;
        lost += lost_then - eviction.lost;
        eviction.lost = lost_then;
      }
    }
    run.job.eviction.evicted_for.push_back(job.id);
    if (!eviction.whole) {
      for (std::size_t i = 0; i < level; ++i) eviction.tasks.push_back({victim.tasks[i].group, victim.tasks[i].task});
      const auto key = [](const TaskName& task) { return std::pair(task.group, task.task); };
      std::ranges::sort(eviction.tasks, std::greater<>(), key);
      (void)state_.shrink(victim.job, eviction.tasks);
    } else if (stop > now_) {
      eviction.stop_at = run.stop_at = stop;
      run.stops_for = job.id;
      run.stop_rule = eviction.rule;
    } else {
      (void)state_.end(victim.job);
    }
    settle(victim.job);
    room.evictions.push_back(std::move(eviction));
  }
  if (last_stop > now_) {
    room.reservation = {.job = job.id,
                        .kind = ReservationKind::kEviction,
                        .made_at = now_,
                        .expected = last_stop,
                        .expires = last_stop + state_.rules().reservation_ttl,
                        .tasks = reserved_tasks(outcome.placed, state_.cluster())};
  } else {
    for (const PlacedTask& task : outcome.placed) (void)state_.ledger().place(task.holding);
  }
  room.outcome = std::move(outcome);
  return room;
}

}  // namespace berth
