// A file's bytes, all of them or an error.
#pragma once

#include <string>

#include "engine/base/status.h"

namespace berth {

// kUnavailable when it cannot be read.
Result<std::string> read_file_bytes(const std::string& file);

}  // namespace berth
