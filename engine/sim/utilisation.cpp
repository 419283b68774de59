#include "engine/sim/utilisation.h"

#include <algorithm>
#include <cmath>

namespace berth {

double UtilisationLog::percent(double used) const {
  return capacity_ > MilliGpu(0) ? used * 100.0 / static_cast<double>(capacity_.value()) : 0;
}

namespace {

constexpr std::size_t kMostChangesKept = 1 << 16;

}  // namespace

void UtilisationLog::record(Seconds time, MilliGpu used, std::int64_t running_jobs, std::int64_t waiting_jobs) {
  const UtilisationPoint point{time, used, percent(static_cast<double>(used.value())), running_jobs, waiting_jobs};
  if (!changes_.empty() && changes_.back().time == time) changes_.pop_back();
  if (!changes_.empty() && changes_.back().has_state_of(point)) return;
  if (changes_.size() == kMostChangesKept) changes_ = points(kMostChangesKept / 4);
  changes_.push_back(point);
}

// `at` is the change in force at `begin`, and is moved to the one in force at `end`.
UtilisationPoint UtilisationLog::mean_between(Seconds begin, Seconds end, std::size_t& at) const {
  double used = 0;
  double running = 0;
  double waiting = 0;
  for (Seconds from = begin; from < end;) {
    const bool is_last = at + 1 == changes_.size();
    const Seconds to = is_last ? end : std::min(changes_[at + 1].time, end);
    const double weight = static_cast<double>((to - from).value());
    used += weight * static_cast<double>(changes_[at].used.value());
    running += weight * static_cast<double>(changes_[at].running_jobs);
    waiting += weight * static_cast<double>(changes_[at].waiting_jobs);
    from = to;
    if (!is_last && changes_[at + 1].time <= to) ++at;
  }
  const double length = static_cast<double>((end - begin).value());
  return {begin, MilliGpu(std::llround(used / length)), percent(used / length), std::llround(running / length),
          std::llround(waiting / length)};
}

std::vector<UtilisationPoint> UtilisationLog::points(std::int32_t most) const {
  if (most <= 0 || changes_.size() <= static_cast<std::size_t>(most)) return changes_;
  const Seconds first = changes_.front().time;
  const Seconds last = changes_.back().time;
  const Seconds step(std::max<std::int64_t>(divide_up((last - first).value(), most), 1));
  std::vector<UtilisationPoint> points;
  std::size_t at = 0;
  for (Seconds begin = first; begin < last; begin += step) {
    points.push_back(mean_between(begin, std::min(begin + step, last), at));
  }
  points.push_back(changes_.back());
  return points;
}

std::optional<double> UtilisationLog::mean_pct(Seconds begin, Seconds end) const {
  if (changes_.empty() || capacity_ <= MilliGpu(0) || begin >= end) return std::nullopt;
  const Seconds from = std::max(begin, changes_.front().time);
  if (from >= end) return 0;
  const auto after = std::ranges::upper_bound(changes_, from, {}, &UtilisationPoint::time);
  auto at = static_cast<std::size_t>(after - changes_.begin()) - 1;
  const double part = static_cast<double>((end - from).value()) / static_cast<double>((end - begin).value());
  return mean_between(from, end, at).allocated_pct * part;
}

std::optional<double> UtilisationLog::mean_pct() const {
  if (changes_.size() < 2 || capacity_ <= MilliGpu(0)) return std::nullopt;
  std::size_t at = 0;
  return mean_between(changes_.front().time, changes_.back().time, at).allocated_pct;
}

}  // namespace berth
