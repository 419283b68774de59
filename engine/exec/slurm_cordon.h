// Drains nodes in Slurm, with a reason that names the database, and takes back such drains, never other ones.
//
// A drain is taken back with UNDRAIN, which leaves a node that is down as it is.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/exec/slurm_client.h"

namespace berth {

// See Executor::cordon.
Result<std::vector<Delivery>> cordon_slurm_nodes(SlurmClient& client, std::string_view database,
                                                 std::span<const std::string> nodes, bool is_cordoned,
                                                 const std::string& reason);

}  // namespace berth
