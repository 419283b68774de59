// Waiting jobs under an order by a key of each job.
//
// Jobs whose failure means the same are one bucket: when one of them cannot start, none of the others behind it can in
// this pass. What makes two jobs alike depends on the rules (Alike). A bucket keeps its jobs sorted; a pass merges the
// buckets. Under an order that is not fixed a bucket is sorted by (Job::in_line_since, id).
//
// Where a failure depends on the nodes alone - greedy, no quotas, no evictions, one kind of job - what a pass places
// only takes room, so what failed stays failed until something is released, and then still unless one task more fits
// on a node where that was. Not so for a job of several groups that must start together: where its first group goes
// decides whether the second fits; it is tried again in every pass before which something was placed. The same holds
// where the first failure ends the pass (none), for the job that failed.
//
// This needs of a score policy that it neither draws nor learns from being asked (one that does gives a different,
// equally valid outcome).
#pragma once

#include <map>
#include <set>
#include <vector>

#include "engine/model/demand_key.h"
#include "engine/sim/waiting_jobs.h"

namespace berth {

// Jobs of one bucket.
enum class Alike : std::uint8_t {
  kAll,           // the first that fails ends the pass
  kQueue,         // ... of its queue
  kDemand,        // ask for the same
  kDemandInQueue  // and are of one queue and class
};

class WaitingBuckets : public WaitingJobs {
 public:
  // `input`: what of a pass's input never changes. `remembers`: a failure depends on the nodes alone, see above.
  WaitingBuckets(const KeyedOrder& order, const OrderInput& input, Alike alike, bool remembers)
      : order_(order), is_fixed_(order.is_fixed()), alike_(alike), remembers_(remembers), input_(input) {}

  void add(const Job& job, std::int32_t slot) override;
  void remove(const Job& job, std::int32_t slot) override;
  std::size_t size() const override { return size_; }

  void begin_pass(const OrderInput& input, const Floor& floor) override;
  std::int32_t next() override;
  void tried(Tried outcome) override;

 private:
  struct Place {
    OrderKey key;
    Seconds since;  // in line
    std::int64_t id = 0;
    std::int32_t slot = 0;
    const Job* job = nullptr;

    bool operator<(const Place& other) const {
      if (key != other.key) return key < other.key;
      return since != other.since ? since < other.since : id < other.id;
    }
  };
  struct Failure {
    std::int64_t id = 0;         // of the job; 0 = none failed
    std::uint64_t releases = 0;  // up to which it is known to fail
    std::uint64_t starts = 0;    // made until then
  };
  struct Bucket {
    std::set<Place> places;  // never empty between passes
    Failure failure;
  };
  using Buckets = std::map<DemandKey, Bucket>;
  struct Head {
    Place place;
    std::set<Place>::iterator at;
    Buckets::iterator bucket;
    bool operator<(const Head& other) const { return other.place < place; }  // the first on top of a heap
  };

  const DemandKey& key_of(const Job& job);
  Place place_of(const Job& job, std::int32_t slot) const;
  void erase(Buckets::iterator bucket, std::set<Place>::iterator at);
  bool may_start(Bucket& bucket, const Floor& floor);
  void push(Buckets::iterator bucket, std::set<Place>::iterator at);

  const KeyedOrder& order_;
  bool is_fixed_;
  Alike alike_;
  bool remembers_;
  OrderInput input_;
  Buckets buckets_;
  DemandKey key_;            // asked for last
  std::vector<Head> heads_;  // a heap
  Head current_{};           // named last
  std::size_t size_ = 0;
  std::uint64_t releases_ = 1;
  std::uint64_t starts_ = 1;
};

}  // namespace berth
