// Folders in which executors keep what they trust: who runs what, outcomes, scripts with the environment of jobs.
// Another user who had made one, or may write to it, could have us follow links or believe ends that never were.
#pragma once

#include <string>

#include "engine/base/status.h"

namespace berth {

// Makes it when it is missing, with its parents, for this user alone. One that is there stays as it is. kUnavailable:
// it belongs to somebody else, others may write to it, or it is no folder (links are not followed).
Status make_private_folder(const std::string& path);
// The same of a folder that is there.
Status check_private_folder(const std::string& path);

}  // namespace berth
