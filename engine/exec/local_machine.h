// What this machine has: cores, memory, GPUs.
#pragma once

#include <optional>
#include <string>

#include "engine/base/status.h"
#include "engine/base/units.h"
#include "engine/exec/nvidia_smi.h"

namespace berth {

// This process's cgroup in the version 2 tree, as a folder; nothing where there is none.
std::optional<std::string> own_cgroup();

// Of the machine, or of the cgroup this process is in where that allows less.
MilliCpu machine_cpu();
MiB machine_memory();
std::string machine_name();
// No devices where there is no nvidia-smi; kUnavailable where there is one that fails.
Result<NvidiaDevices> machine_devices();

}  // namespace berth
