// Where the lines typed earlier are kept: $XDG_STATE_HOME/berth/history, else ~/.local/state/berth/history, readable by
// the user alone. A place that cannot be written costs the history, nothing else.
#pragma once

#include <string>
#include <string_view>

namespace berth {

// The file, its folder and itself created when missing; empty when there is no such place.
std::string history_file();

// What was typed as one entry: on one line, except that strings and comments keep their lines.
std::string history_entry(std::string_view typed);

// One line of the file each: a line end within an entry is written as a carriage return, which nobody types.
void append_to_history(const std::string& file, std::string_view entry);
std::string entry_of_line(std::string_view line);

}  // namespace berth
