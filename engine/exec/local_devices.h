// The numbers of this machine's devices, which stay what they are while tasks hold them.
//
// nvidia-smi leaves out a GPU that has fallen off the bus, and counts those behind it anew. A task that holds device 2
// would then share it with the next one that is started on device 1. So a file in the executor's folder names the UUID
// of each number: one that is gone keeps its number, and a new one takes that of one that is gone.
#pragma once

#include <string>
#include <vector>

#include "engine/exec/executor.h"

namespace berth {

class LocalDevices {
 public:
  static LocalDevices read(const std::string& folder);  // none where nothing was written
  Status write(const std::string& folder) const;
  // As they are now, by UUID.
  void renumber(const std::vector<std::string>& present);

  std::size_t count() const { return names_.size(); }
  DeviceMask gone() const;
  std::vector<std::string> gone_words() const;  // "device 1 (GPU-...) is gone"
  // For CUDA_VISIBLE_DEVICES; numbers where no names are known.
  std::string visible(DeviceMask devices) const;
  // kDone unless the launch names a device that is not there; then kUnknown.
  Delivery missing(const Launch& launch) const;

 private:
  std::vector<std::string> names_;  // of devices 0, 1, ...; behind a mark those that are gone
};

}  // namespace berth
