// What is in a folder. std::filesystem's iterator ends the program where memory runs out; this throws std::bad_alloc as
// everything else does.
#pragma once

#include <string>
#include <vector>

#include "engine/base/status.h"

namespace berth {

// Names of all that is in it, sorted, without "." and "..". kUnavailable: it cannot be read.
Result<std::vector<std::string>> names_in(const std::string& folder);

}  // namespace berth
