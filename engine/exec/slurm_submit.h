// Delivers launches to Slurm: one sbatch each, several at once, none of them twice.
//
// sbatch may say "Socket timed out" of a job that runs. So a folder is made before the first submission, and a launch
// whose folder is there without an id may have been submitted: Slurm is asked for jobs of that name before it is
// submitted again, and after every failure; when it does not say, nothing is submitted. Should two jobs of one name
// come to be all the same, only the one with the claim runs the command (see slurm_script.h). A launch that is refused
// has its claim taken first, so that it cannot start behind the back of whoever was told so.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/exec/executor.h"
#include "engine/exec/slurm_client.h"
#include "engine/exec/slurm_records.h"
#include "engine/exec/slurm_script.h"

namespace berth {

class SlurmSubmitter {
 public:
  // `parallel`: sbatch processes at a time. After `timeout` what is left is not tried and kUnknown.
  SlurmSubmitter(SlurmClient& client, const SlurmSubmitOptions& options, std::int64_t parallel, Seconds timeout)
      : client_(client), options_(options), parallel_(parallel), timeout_(timeout) {}

  // Fails as a whole when Slurm does not answer and so nothing came of it.
  Result<std::vector<Delivery>> deliver(std::span<const Launch> launches);

 private:
  struct Item {
    const Launch* launch = nullptr;
    SlurmLaunchFolder folder{""};
    std::vector<SlurmComponent> components;
    bool is_settled = false;
    bool is_repetition = false;  // it may have reached Slurm before
    std::string complaint;       // of an sbatch that failed
    Delivery delivery;
  };

  Item prepare(const Launch& launch) const;
  void settle(Item& item, Delivery delivery) const;
  bool settle_by_claim(Item& item) const;
  void settle_by_listing(std::vector<Item>& items, bool after_failure);
  void start_in_pilots(std::vector<Item>& items);
  void submit(Item& item) const;
  void submit_all(std::vector<Item>& items) const;
  void give_up(Item& item) const;

  SlurmClient& client_;
  const SlurmSubmitOptions& options_;
  std::int64_t parallel_;
  Seconds timeout_;
  Status listed_;  // what came of asking for jobs
};

}  // namespace berth
