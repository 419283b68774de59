// One round at a time: a row that says who runs rounds and until when.
//
// A lease expires by itself, so a crashed holder blocks nobody for long; if it ran on this machine and its process is
// gone (told by boot, number and start, as numbers come again), it is taken over at once. break_leases() is for holders
// elsewhere that are gone, and for clocks that were ahead. The lease keeps two rounds from doing the same work twice;
// that no two plans are applied over one another is the state version's business.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/store/change.h"
#include "engine/store/sqlite.h"

namespace berth {

struct LeaseRequest {
  std::string name = "round";
  std::string holder = {};  // who, for the message: "alice", "cron"
  Seconds now = {};
  Seconds duration{600};
};

class Lease {
 public:
  // kBusy: "a round is being run by cron (process 812 on gpu01) until 2026-12-01 08:10:00".
  static Result<Lease> acquire(Database& db, const LeaseRequest& request);
  Lease(Lease&& other) noexcept;
  Lease& operator=(Lease&&) = delete;
  ~Lease();  // releases; a failure to do so leaves the row to expire

  // Moves the end; kConflict when the lease was lost meanwhile.
  Status renew(Seconds now);
  // The same, but before a good part of its time is over it only looks whether the lease is still held: for in between,
  // as often as one likes.
  Status keep(Seconds now);
  // Only looks. A transaction that writes for the holder begins with it: a process that was stopped and goes on must
  // not write what it saw before another took over.
  Status check() const;
  Status release();

 private:
  Lease(Database& db, LeaseRequest request, std::int64_t token)
      : db_(&db), request_(std::move(request)), token_(token) {}
  Status lost() const;

  Database* db_;
  LeaseRequest request_;
  std::int64_t token_;
};

// Nobody holds one any more: whoever did finds that out before it tells anybody anything. Who they were; kNotFound when
// there were none, kConflict while a holder on this machine lives.
Result<std::vector<std::string>> break_leases(Change& change);

// A kBusy of the database, also saying who runs a round, where somebody does; anything else as it is.
Status name_writer(Database& db, Status failed);

}  // namespace berth
