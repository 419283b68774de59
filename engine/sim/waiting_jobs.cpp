#include "engine/sim/waiting_jobs.h"

#include <algorithm>

#include "engine/policy/feasibility.h"

namespace berth {

DemandKey WaitingJobs::key_of(const Job& job) {
  DemandKey key = {job.queue, job.priority_class, static_cast<std::int64_t>(job.state), job.time_limit.value()};
  for (const TaskGroup& group : job.groups) append_demand(group, key);
  return key;
}

void WaitingJobs::add(Job job) {
  const auto [bucket, is_new] = buckets_.try_emplace(key_of(job));
  if (is_new) {
    const bool is_gang = std::ranges::any_of(job.groups, [](const TaskGroup& g) { return g.placed < g.min_tasks; });
    bucket->second.only_shrinks = job.groups.size() == 1 || !is_gang;
  }
  bucket->second.jobs.insert(job.id);
  const std::int64_t id = job.id;
  jobs_.emplace(id, Entry{std::move(job), bucket});
}

Job WaitingJobs::take(std::int64_t id) {
  const auto found = jobs_.find(id);
  Job job = std::move(found->second.job);
  const Buckets::iterator bucket = found->second.bucket;
  jobs_.erase(found);
  bucket->second.jobs.erase(id);
  if (bucket->second.jobs.empty()) buckets_.erase(bucket);
  return job;
}

std::vector<Job> WaitingJobs::all() const {
  std::vector<Job> jobs;
  for (const auto& [id, entry] : jobs_) jobs.push_back(entry.job);
  std::ranges::sort(jobs, {}, &Job::id);
  return jobs;
}

void WaitingJobs::begin_pass(const Ledger& ledger, std::span<const NodeIndex> released) {
  ++pass_;
  if (released.empty()) return;
  ++releases_;
  for (auto& [key, bucket] : buckets_) {
    const bool failed_until_now = bucket.failure.pass != 0 && bucket.failure.releases + 1 == releases_;
    if (!bucket.only_shrinks || !failed_until_now || takes_one_more(bucket, ledger, released)) continue;
    bucket.failure.releases = releases_;
  }
}

bool WaitingJobs::takes_one_more(const Bucket& bucket, const Ledger& ledger, std::span<const NodeIndex> nodes) const {
  for (const TaskGroup& group : jobs_.at(*bucket.jobs.begin()).job.groups) {
    if (group.placed == group.count) continue;
    for (const NodeIndex node : nodes) {
      if (ledger.accepts_tasks(node) && is_feasible(ledger.view(node), group.shape)) return true;
    }
  }
  return false;
}

void WaitingJobs::note_failed(std::int64_t id) {
  jobs_.at(id).bucket->second.failure = Failure{pass_, releases_, placements_};
}

bool WaitingJobs::may_fit(const Bucket& bucket) const {
  const Failure& failure = bucket.failure;
  if (failure.pass == 0 || failure.releases != releases_) return true;
  if (bucket.only_shrinks || failure.pass == pass_) return false;
  return failure.placements != placements_;
}

std::vector<Job> WaitingJobs::worth_trying() const {
  std::vector<Job> jobs;
  for (const auto& [key, bucket] : buckets_) {
    if (may_fit(bucket)) jobs.push_back(jobs_.at(*bucket.jobs.begin()).job);
  }
  std::ranges::sort(jobs, {}, &Job::id);
  return jobs;
}

bool WaitingJobs::has_another_like(std::int64_t id) const { return jobs_.at(id).bucket->second.jobs.size() > 1; }

}  // namespace berth
