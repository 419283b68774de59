#include "engine/sim/waiting_buckets.h"

#include <algorithm>

namespace berth {

namespace {

// What failed stays failed until something is released.
bool only_shrinks(const Job& job) { return job.groups.size() == 1 || has_its_gang(job); }

bool takes_one_more(const Job& job, const Floor& floor) {
  return std::ranges::any_of(job.groups, [&](const TaskGroup& group) {
    return group.placed < group.count && floor.takes_one_more(group, floor.released());
  });
}

}  // namespace

const DemandKey& WaitingBuckets::key_of(const Job& job) {
  key_.clear();
  if (alike_ == Alike::kAll) return key_;
  if (alike_ == Alike::kQueue) {
    key_.push_back(job.queue);
    return key_;
  }
  if (alike_ == Alike::kDemandInQueue || !is_fixed_) key_ = {job.queue, job.priority_class};
  key_.push_back(static_cast<std::int64_t>(job.state));
  for (const TaskGroup& group : job.groups) append_demand(group, key_);
  return key_;
}

WaitingBuckets::Place WaitingBuckets::place_of(const Job& job, std::int32_t slot) const {
  return {is_fixed_ ? order_.key(job, input_) : OrderKey{}, job.in_line_since(), job.id, slot, &job};
}

void WaitingBuckets::add(const Job& job, std::int32_t slot) {
  std::set<Place>& places = buckets_[key_of(job)].places;
  places.emplace_hint(places.end(), place_of(job, slot));
  ++size_;
}

void WaitingBuckets::remove(const Job& job, std::int32_t slot) {
  const auto bucket = buckets_.find(key_of(job));
  erase(bucket, bucket->second.places.find(place_of(job, slot)));
}

void WaitingBuckets::erase(Buckets::iterator bucket, std::set<Place>::iterator at) {
  bucket->second.places.erase(at);
  --size_;
  if (bucket->second.places.empty()) buckets_.erase(bucket);
}

// Also carries what is known of a failure over the releases before this pass.
bool WaitingBuckets::may_start(Bucket& bucket, const Floor& floor) {
  if (!remembers_ || bucket.failure.id == 0) return true;
  const Place& first = *bucket.places.begin();
  const bool speaks_of_it =
      alike_ == Alike::kDemand || alike_ == Alike::kDemandInQueue || bucket.failure.id == first.id;
  if (!speaks_of_it) return true;
  if (!only_shrinks(*first.job)) return bucket.failure.releases != releases_ || bucket.failure.starts != starts_;
  if (bucket.failure.releases == releases_) return false;
  if (bucket.failure.releases + 1 != releases_ || takes_one_more(*first.job, floor)) return true;
  bucket.failure.releases = releases_;
  return false;
}

void WaitingBuckets::begin_pass(const OrderInput& input, const Floor& floor) {
  input_.now = input.now;
  if (!floor.released().empty()) ++releases_;
  heads_.clear();
  for (auto bucket = buckets_.begin(); bucket != buckets_.end(); ++bucket) {
    if (may_start(bucket->second, floor)) push(bucket, bucket->second.places.begin());
  }
}

void WaitingBuckets::push(Buckets::iterator bucket, std::set<Place>::iterator at) {
  heads_.push_back({*at, at, bucket});
  if (!is_fixed_) heads_.back().place.key = order_.key(*at->job, input_);
  std::push_heap(heads_.begin(), heads_.end());
}

std::int32_t WaitingBuckets::next() {
  if (heads_.empty()) return -1;
  std::pop_heap(heads_.begin(), heads_.end());
  current_ = heads_.back();
  heads_.pop_back();
  return current_.place.slot;
}

void WaitingBuckets::tried(Tried outcome) {
  Bucket& bucket = current_.bucket->second;
  if (outcome == Tried::kFailed) {
    bucket.failure = {current_.place.id, releases_, starts_};
    return;
  }
  const auto behind = std::next(current_.at);
  if (behind != bucket.places.end()) push(current_.bucket, behind);
  if (outcome == Tried::kFailedAlone) return;
  ++starts_;
  erase(current_.bucket, current_.at);
}

}  // namespace berth
