#include "engine/round/start_search.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "engine/policy/best_fit_score.h"
#include "engine/round/gang_room.h"
#include "engine/round/quota_placing.h"

namespace berth {

namespace {

// Best fit, where the round's policy lets tasks run.
class AllowedBestFit : public NodeScore {
 public:
  explicit AllowedBestFit(const NodeScore& policy) : policy_(policy) {}

  Score score(const NodeView& node, const TaskShape& shape) const override {
    return allows(*node.kind, shape) ? best_fit_.score(node, shape) : kInfeasibleScore;
  }
  bool allows(const NodeKind& kind, const TaskShape& shape) const override { return policy_.allows(kind, shape); }

 private:
  const NodeScore& policy_;
  BestFitScore best_fit_;
};

// Some kind of node could run each of its tasks, were it empty.
bool could_ever_run(const RoundState& state, const Job& gang) {
  return std::ranges::all_of(gang.groups, [&](const TaskGroup& group) {
    return std::ranges::any_of(state.cluster().kinds,
                               [&](const NodeKind& kind) { return state.may_ever_run(kind, group.shape); });
  });
}

// What will be free for the gang, moment by moment.
class FutureLedger {
 public:
  FutureLedger(const RoundState& state, Timeline& timeline, const Job& gang, Seconds duration,
               const StartBounds& bounds)
      : timeline_(timeline),
        ends_(timeline, bounds.before),
        gang_(gang),
        duration_(duration),
        started_by_(bounds.started_by),
        ledger_(state.ledger().twin()),
        from_(bounds.from),
        time_(std::max(timeline.now(), bounds.from)) {
    while (ends_.next() <= from_) end_tasks();
    ledger_.commit();
    for (const NodeIndex node : timeline.reserved_nodes()) {
      timeline.append_turns(node, duration, gang.id, turns_);
      renew_shade(node, time_, from_);
    }
    std::erase_if(turns_, [&](const auto& turn) { return turn.first <= from_ || turn.first >= bounds.before; });
    std::ranges::sort(turns_);
    room_.emplace(ledger_, gang, *state.setup().score);
  }
  FutureLedger(const FutureLedger&) = delete;
  FutureLedger& operator=(const FutureLedger&) = delete;

  // The next moment; kNever = there is none.
  Seconds next() {
    if (from_ > kNoneEnded) return from_;
    return std::min(ends_.next(), turn_ < turns_.size() ? turns_[turn_].first : kNever);
  }
  void advance() {
    const Seconds next = this->next();
    if (std::exchange(from_, kNoneEnded) > kNoneEnded) return;
    changed_.clear();
    while (ends_.next() == next) end_tasks();
    for (; turn_ < turns_.size() && turns_[turn_].first == next; ++turn_) changed_.push_back(turns_[turn_].second);
    time_ = std::max(next, timeline_.now());
    for (const NodeIndex node : changed_) {
      if (timeline_.is_reserved(node)) renew_shade(node, time_, time_);
      room_->recount(node);
    }
    if (mark_) {
      changed_since_.insert(changed_since_.end(), changed_.begin(), changed_.end());
    } else {
      ledger_.commit();
    }
  }

  // Remembers this moment for go_back(); an earlier one is forgotten.
  void mark() {
    ledger_.commit();
    changed_since_.clear();
    shades_since_.clear();
    mark_ = Mark{ends_.taken(), turn_, from_, time_};
  }
  void go_back() {
    ledger_.rollback(Ledger::Checkpoint{0});
    for (; !shades_since_.empty(); shades_since_.pop_back()) {
      shades_[shades_since_.back().first] = std::move(shades_since_.back().second);
    }
    for (const NodeIndex node : changed_since_) room_->recount(node);
    changed_since_.clear();
    ends_.return_to(mark_->ends);
    turn_ = mark_->turn;
    from_ = mark_->from;
    time_ = mark_->time;
  }

  Seconds time() const { return time_; }
  bool may_suffice() const { return room_->may_suffice(); }
  Ledger& ledger() { return ledger_; }

 private:
  struct Mark {
    std::size_t ends;
    std::size_t turn;
    Seconds from;
    Seconds time;
  };

  void end_tasks() {
    ends_.take([&](Seconds start, const Holding& holding) {
      if (start <= started_by_ && ledger_.release(holding).ok()) changed_.push_back(holding.node);
    });
  }

  void renew_shade(NodeIndex node, Seconds from, Seconds ended) {
    std::vector<Holding>& shade = shades_[node];
    for (const Holding& holding : shade) (void)ledger_.release(holding);
    if (mark_) shades_since_.emplace_back(node, shade);
    shade.clear();
    timeline_.append_shade(ledger_, node, from, {from + duration_}, ended, gang_.id, shade);
    for (const Holding& holding : shade) (void)ledger_.place(holding);
  }

  const Timeline& timeline_;
  Timeline::Ends ends_;
  const Job& gang_;
  Seconds duration_;
  Seconds started_by_;
  Ledger ledger_;
  std::optional<GangRoom> room_;
  std::vector<std::pair<Seconds, NodeIndex>> turns_;
  std::unordered_map<NodeIndex, std::vector<Holding>> shades_;  // in ledger_ now
  std::vector<NodeIndex> changed_;
  std::optional<Mark> mark_;
  std::vector<NodeIndex> changed_since_;                                  // the mark
  std::vector<std::pair<NodeIndex, std::vector<Holding>>> shades_since_;  // those replaced, oldest first
  std::size_t turn_ = 0;
  Seconds from_;  // the first moment, until it has come; kNoneEnded = the first at which something ends
  Seconds time_;
};

class StartSearch {
 public:
  StartSearch(const RoundState& state, Timeline& timeline, const Job& gang, Seconds duration, const StartBounds& bounds)
      : state_(state),
        now_(timeline.now()),
        gang_(gang),
        duration_(duration),
        bounds_(bounds),
        score_(*state.setup().score),
        future_(state, timeline, gang, duration, bounds) {}

  std::optional<StartFound> run() {
    std::size_t next_try = 1;
    std::optional<StartFound> found;
    while (advance()) {
      if (moment_ < next_try || !future_.may_suffice()) continue;
      found = try_now();
      if (found) break;
      next_try = moment_ + std::max<std::size_t>(1, failed_ == 0 ? 1 : 2 * (moment_ - failed_));
      note_failed();
    }
    if (!found && moment_ > failed_ && future_.may_suffice()) found = try_now();
    if (!found || failed_ == 0) return found;
    for (std::size_t after = moment_; after - failed_ > 1;) {
      const std::size_t middle = failed_ + (after - failed_) / 2;
      if (moment_ > failed_) go_back();
      while (moment_ < middle) advance();
      if (std::optional<StartFound> earlier = future_.may_suffice() ? try_now() : std::nullopt) {
        found = std::move(earlier);
        after = middle;
      } else {
        note_failed();
      }
    }
    return found;
  }

 private:
  void note_failed() {
    future_.mark();
    failed_ = moment_;
  }
  void go_back() {
    future_.go_back();
    moment_ = failed_;
  }

  bool advance() {
    if (future_.next() >= bounds_.before) return false;
    future_.advance();
    ++moment_;
    return true;
  }

  std::optional<StartFound> try_now() {
    if (!placer_) placer_.emplace(future_.ledger(), score_);
    Ledger& ledger = future_.ledger();
    const Ledger::Checkpoint before = ledger.checkpoint();
    const auto place_with = [&](const QuotaLedger& quotas) {
      return place_within_quota(quotas, ledger, gang_, future_.time() + duration_,
                                [&](const Job& job, bool) { return placer_->place_job(job); });
    };
    QuotaPlacing placing = place_with(state_.quotas());
    const bool lacks_room = !placing.outcome.started && !placing.narrowed && placing.verdict.admitted();
    // What uses quotas now may have ended by then, and what nodes have free then may be what owners do not lend.
    if (!lacks_room && state_.quotas().governs()) {
      ledger.rollback(before);
      placing = place_with(quotas_then());
    }
    ledger.rollback(before);
    if (!placing.outcome.started) return std::nullopt;
    return StartFound{future_.time(), std::move(placing.outcome.placed)};
  }

  QuotaLedger quotas_then() const {
    return state_.quotas_without([&](const RunningJob& run) {
      return run.start <= bounds_.started_by && expected_end_of(run, state_.rules(), now_) <= future_.time();
    });
  }

  const RoundState& state_;
  Seconds now_;
  const Job& gang_;
  Seconds duration_;
  StartBounds bounds_;
  AllowedBestFit score_;
  FutureLedger future_;
  std::optional<Placer> placer_;
  std::size_t moment_ = 0;
  std::size_t failed_ = 0;  // at this moment, the latest so far; 0 = none yet
};

}  // namespace

std::optional<StartFound> earliest_start(const RoundState& state, Timeline& timeline, const Job& gang, Seconds duration,
                                         const StartBounds& bounds) {
  if (bounds.from >= bounds.before || !could_ever_run(state, gang)) return std::nullopt;
  return StartSearch(state, timeline, gang, duration, bounds).run();
}

}  // namespace berth
