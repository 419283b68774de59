// Accounts, shares and limits as `sacctmgr show assoc` prints them: what a site's queues were before.
//
// An association is an account, or a user within one. Amounts stay as Slurm counts them ("cpu", "gres/gpu", "mem" in
// MiB); which of them become quotas is decided where they are imported.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/units.h"

namespace berth {

// sacctmgr --noheader --parsable2 show assoc format=<this>
inline constexpr std::string_view kSacctmgrFormat =
    "Cluster,Account,User,ParentName,Share,GrpTRES,MaxTRESPerJob,GrpJobs,MaxJobs,MaxSubmitJobs,MaxWall,QOS";

using SlurmAmounts = std::map<std::string, std::int64_t, std::less<>>;

struct SlurmAssociation {
  std::string cluster;
  std::string account;
  std::string user;                         // empty = the account itself
  std::string parent;                       // of an account; empty = the root
  std::optional<std::int64_t> shares;       // nothing = it draws on its parent's
  SlurmAmounts group_limit;                 // of all that runs at once
  SlurmAmounts job_limit;                   // of one job
  std::optional<std::int64_t> group_jobs;   // that run at once
  std::optional<std::int64_t> max_jobs;     // of a user that run at once
  std::optional<std::int64_t> max_submits;  // of a user that wait or run
  std::optional<Seconds> max_wall;          // of a job
  std::vector<std::string> qos;
};
// Rows that cannot be read are left out.
std::vector<SlurmAssociation> read_slurm_associations(std::string_view text);

// "cpu=64,mem=500G,gres/gpu=16"; memory comes as MiB. What cannot be read is left out.
SlurmAmounts read_slurm_amounts(std::string_view text);
// "2-00:00:00", "12:00:00", "30:00" (minutes and seconds), "90" (minutes); nothing for "UNLIMITED" and "".
std::optional<Seconds> read_slurm_duration(std::string_view text);

}  // namespace berth
