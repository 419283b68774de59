// The jobs that wait in a simulation, and which of them are worth trying.
//
// A live round tries every waiting job. Here nearly all of that is saved, with the same outcome:
// Jobs that ask for the same - their groups, queue and priority class are equal - are one bucket. Of a bucket an order
// policy puts the earlier job first, so only the first can be next; and when it does not fit, none of the bucket does
// in this pass.
//
// What a pass places only takes room. So what failed stays failed until something is released, and then still unless
// one task more fits on a node where that was. Except for a job of several groups that must start together: where its
// first group goes decides whether the second fits, so it is tried again in every pass before which something was
// placed.
//
// This needs of an order policy that the relative order of two jobs does not depend on the other jobs, and that of two
// jobs alike but for submit time and id the earlier goes first; and of a score policy that it neither draws nor learns
// from being asked (one that does gives a different, equally valid outcome).
//
// A job that runs with tasks missing waits too, for those.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/model/demand_key.h"
#include "engine/model/job.h"
#include "engine/model/ledger.h"

namespace berth {

class WaitingJobs {
 public:
  // The job's id must be new here.
  void add(Job job);
  Job take(std::int64_t id);
  bool has(std::int64_t id) const { return jobs_.count(id) != 0; }
  std::size_t size() const { return jobs_.size(); }
  // In id order; for what is left at the end.
  std::vector<Job> all() const;

  // `released`: nodes of `ledger` on which something was given back since the last pass; may repeat.
  void begin_pass(const Ledger& ledger, std::span<const NodeIndex> released);
  // Something was placed: jobs of several groups may fit elsewhere now.
  void note_placed() { ++placements_; }
  // All like `id` failed just now.
  void note_failed(std::int64_t id);

  // The first job of every bucket that may fit, in id order.
  std::vector<Job> worth_trying() const;
  // Whether another job like this one waits.
  bool has_another_like(std::int64_t id) const;

 private:
  struct Failure {
    std::uint64_t pass = 0;      // 0 = never failed
    std::uint64_t releases = 0;  // up to which it is known to fail
    std::uint64_t placements = 0;
  };
  struct Bucket {
    std::set<std::int64_t> jobs;
    bool only_shrinks = false;  // what failed fails until something is released
    Failure failure;
  };
  using Buckets = std::map<DemandKey, Bucket>;
  struct Entry {
    Job job;
    Buckets::iterator bucket;
  };
  static DemandKey key_of(const Job& job);
  bool may_fit(const Bucket& bucket) const;
  bool takes_one_more(const Bucket& bucket, const Ledger& ledger, std::span<const NodeIndex> nodes) const;

  Buckets buckets_;  // none is empty
  std::unordered_map<std::int64_t, Entry> jobs_;
  std::uint64_t pass_ = 1;
  std::uint64_t releases_ = 0;
  std::uint64_t placements_ = 0;
};

}  // namespace berth
