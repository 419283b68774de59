// Room that running jobs are leaving, though for no waiting job: they were cancelled, are out of their time limit, or
// stop for the end of a loan.
//
// Nobody is to be evicted for a job that such room will do for. What stops for a loan later than reservation_ttl from
// now is not waited for: an owner takes back at once what it has not lent. Each room does for one job: those that were
// told so keep their places in it, in the order in which they asked.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "engine/model/demand_key.h"
#include "engine/round/round_state.h"

namespace berth {

class RoomToCome {
 public:
  RoomToCome(RoundState& state, Seconds now) : state_(state), now_(now) {}

  // The job's gang, which does not fit now, would start were those gone that leave: by quota, and on the nodes. What
  // stops for a loan leaves room for its lender. `end`: of the job, see QuotaLedger::judge.
  bool serves(const Job& job, Seconds end);

 private:
  struct Place {
    std::int32_t queue = -1;
    std::vector<PlacedTask> tasks;
  };
  void find_leaving();
  bool could_suffice(const Job& gang) const;
  bool is_for(const Job& job, const RunningJob& leaving, Seconds end) const;

  RoundState& state_;
  Seconds now_;
  std::optional<std::vector<std::int64_t>> leaving_;  // found when first asked
  Amounts held_;                                      // by them
  std::vector<Place> taken_;
  std::set<std::int64_t> served_;
  std::set<DemandKey> failed_;
};

}  // namespace berth
