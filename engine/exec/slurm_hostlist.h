// Slurm's short form of many node names: "n[1-3,7],rack[0-1]n[00-01],login" and back to names.
//
// Any name may hold several bracketed lists; they vary like digits, the last one fastest. Numbers keep the width in
// which their first one is written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"

namespace berth {

// kInvalid: a bracket without its end, an empty list, a range that runs backwards, more than `most` names.
// "" and what Slurm prints for none ("(null)", "None assigned") are no names.
Result<std::vector<std::string>> expand_slurm_hostlist(std::string_view text, std::size_t most = 200000);

}  // namespace berth
