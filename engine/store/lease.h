// One round at a time: a row that says who runs rounds and until when.
//
// A lease expires by itself, so a crashed holder blocks nobody for long; if it ran on this machine and its process is
// gone, it is taken over at once. The lease keeps two rounds from doing the same work twice; that no two plans are
// applied over one another is the state version's business.
#pragma once

#include <string>
#include <string_view>

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
  // The same, but only once a good part of its time is over: for in between, as often as one likes.
  Status keep(Seconds now);
  Status release();

 private:
  Lease(Database& db, LeaseRequest request, std::int64_t token)
      : db_(&db), request_(std::move(request)), token_(token) {}
  Database* db_;
  LeaseRequest request_;
  std::int64_t token_;
};

// A kBusy of the database, also saying who runs a round, where somebody does; anything else as it is.
Status name_writer(Database& db, Status failed);

}  // namespace berth
