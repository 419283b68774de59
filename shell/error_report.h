// An error as people see it: what is wrong, where, and what to do.
//
//   error: unknown node type 'a100x9' (line 3)
//     CREATE NODES a[1-4] TYPE a100x9;
//                              ^~~~~~
//     did you mean 'a100x8'?
#pragma once

#include <string>
#include <string_view>

#include "engine/base/status.h"

namespace berth {

// The text a statement came from.
struct Source {
  std::string name;            // of the file; empty for what was typed or -c
  std::string_view text;       // all of it
  std::size_t first_line = 1;  // number of its first line
  bool show_line = false;      // tell the line number
};

// `offset`: where the statement starts in source.text; the status' span counts from there. Ends in a newline.
std::string describe_error(const Status& status, const Source& source, std::size_t offset, bool color);

}  // namespace berth
