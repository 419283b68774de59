#include "engine/round/backfill.h"

#include <algorithm>

namespace berth {

Backfill::Backfill(RoundState& state, std::span<const Reservation> kept, Seconds now)
    : state_(state),
      now_(now),
      closed_queues_(state.setup().queues.size(), 0),
      reservations_(kept.begin(), kept.end()) {}

BackfillAttempt Backfill::place(const Job& job) { return {.outcome = state_.placer().place_job(job)}; }

void Backfill::note_blocked(const Job& job) {
  switch (state_.rules().backfill) {
    case BackfillMode::kGreedy: return;
    case BackfillMode::kNone:
      if (closed_by_ == 0) closed_by_ = job.id;
      return;
    case BackfillMode::kNonePerQueue:
      if (job.queue < 0) {
        closed_by_ = job.id;
      } else if (std::int64_t& closed = closed_queues_[static_cast<std::size_t>(job.queue)]; closed == 0) {
        closed = job.id;
      }
      return;
    case BackfillMode::kEasy:
    case BackfillMode::kConservative: return;
  }
}

std::int64_t Backfill::closed_by(std::int32_t queue) const {
  if (closed_by_ != 0 || queue < 0) return closed_by_;
  return closed_queues_[static_cast<std::size_t>(queue)];
}

std::optional<Seconds> Backfill::expected_start(std::int64_t job) const {
  for (const Reservation& reservation : reservations_) {
    if (reservation.job == job) return reservation.expected;
  }
  return std::nullopt;
}

std::vector<Reservation> Backfill::reservations() const {
  std::vector<Reservation> sorted = reservations_;
  std::ranges::sort(sorted, {}, &Reservation::job);
  return sorted;
}

void Backfill::hold(Reservation reservation) { reservations_.push_back(std::move(reservation)); }

}  // namespace berth
