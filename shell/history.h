// Where the lines typed earlier are kept: $XDG_STATE_HOME/berth/history, else ~/.local/state/berth/history, readable by
// the user alone. A place that cannot be written costs the history, nothing else.
#pragma once

#include <string>

namespace berth {

// The file, its folder and itself created when missing; empty when there is no such place.
std::string history_file();

// A statement as one line of history; one with a comment keeps its lines apart and is not joined (empty result).
std::string history_line(const std::string& statement);

}  // namespace berth
