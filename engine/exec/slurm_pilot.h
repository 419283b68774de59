// Starts in well under a second: launches as steps of jobs that hold the nodes already.
//
// Slurm starts batch jobs from a loop that turns about once a second. With option `pilot` one job for each node, named
// "berth-<database>-pilot-<node>", holds all of it and sleeps; a launch is then one srun for each of its nodes, which
// the launch's script starts beside this process and which goes on when this process ends. The claim, the notes and the
// control file are those of any launch. A pilot is submitted when a launch wants its node; until it runs the launch is
// kUnknown, to be delivered again. Pilots stay until somebody cancels them.
//
// What it costs: the sruns run on this machine, so when it goes down its tasks go too, and are seen as vanished.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/exec/executor.h"
#include "engine/exec/slurm_client.h"
#include "engine/exec/slurm_records.h"
#include "engine/exec/slurm_script.h"

namespace berth {

std::string slurm_pilot_name(const std::string& database, const std::string& node);

class SlurmPilots {
 public:
  SlurmPilots(SlurmClient& client, const SlurmSubmitOptions& options) : client_(client), options_(options) {}

  // Starts a launch whose folder is made and written. kDone, or kUnknown with what is missing.
  Delivery start(const std::vector<SlurmComponent>& components, const SlurmLaunchFolder& folder);

 private:
  Status read();
  std::string pilot_name(const std::string& node) const { return slurm_pilot_name(options_.database, node); }
  Status submit_pilot(const std::string& node);

  SlurmClient& client_;
  const SlurmSubmitOptions& options_;
  bool is_read_ = false;
  std::map<std::string, std::int64_t> running_;  // node to pilot
  std::map<std::string, std::int64_t> waiting_;
};

}  // namespace berth
