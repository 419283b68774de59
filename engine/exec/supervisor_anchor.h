// The folder of an executor may be moved while its tasks run: what is below it is then found through the open folder.
#pragma once

#include <string>

#include "engine/exec/descriptor.h"
#include "engine/exec/supervisor.h"

namespace berth {

struct Anchor {
  Descriptor folder;
  std::string path;     // as it was called
  std::string through;  // "/proc/self/fd/5"; empty = the folder could not be opened

  // What `text` says of paths, for people.
  std::string as_called(std::string text) const;
};

// Changes the paths of `order` to go through the folder.
Anchor anchor(SupervisorOrder& order);

}  // namespace berth
