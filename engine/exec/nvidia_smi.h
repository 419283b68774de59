// The GPUs of this machine, as `nvidia-smi -q -x` tells them.
//
// A node of Berth has devices of one model. So of several models the most frequent counts (the first of them when two
// are); others are left out, and so is a GPU in MIG mode, whose instances are smaller devices of other sizes. `notes`
// says so of each. Devices are numbered in the order of the output without those left out, which is why tasks are
// started with UUIDs. A GPU that reports errors keeps its number; `notes` names it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/base/units.h"

namespace berth {

struct NvidiaDevices {
  std::string model;               // empty = no devices
  MiB memory;                      // of each: the least of them
  std::vector<std::string> uuids;  // of devices 0, 1, ...
  std::vector<std::string> notes;
};

// "NVIDIA A100-SXM4-80GB" is "A100", "Tesla T4" is "T4", "NVIDIA GeForce RTX 3090 Ti" is "RTX3090Ti": without maker and
// brand, up to the first word that tells a size, a connector or a kind of memory; letters and digits alone.
std::string short_model_name(std::string_view product);

// kUnavailable when it is no such output: with what the program said instead ("Unable to determine the device handle
// for GPU0000:3B:00.0: Unknown Error"). Lines before the XML become notes.
Result<NvidiaDevices> read_nvidia_smi(std::string_view output);

}  // namespace berth
