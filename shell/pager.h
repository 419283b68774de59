// Long answers go through the user's pager.
#pragma once

#include <string_view>

namespace berth {

// Whether `text` has more lines than fit on a screen of `height` lines (wrapped lines counted, `width` columns).
bool needs_pager(std::string_view text, int width, int height);

// Shows `text` through $PAGER, else `less`, and waits until it is left. False when there is no pager that runs, or it
// is set to nothing or "cat": then the caller prints.
bool show_in_pager(std::string_view text);

}  // namespace berth
