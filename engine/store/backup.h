// A copy of a live database in a file of its own, complete or absent.
#pragma once

#include <string>
#include <string_view>

#include "engine/store/sqlite.h"

namespace berth {

// Copies what is committed in the database at `source` (a path) to `target`, mode 0600: written beside it under another
// name, forced to disk, then renamed over it. kUnavailable when the file system fails; the unfinished file is removed.
Status copy_database(const std::string& source, const std::string& target);

// Removes the files "<path>.<kind>-<process id>..." of processes that are gone.
void remove_stale_copies(const std::string& path, std::string_view kind);

// Forces a file, or a folder's entries, to disk.
Status sync_path(const std::string& path);
// Makes an empty file with mode 0600; an existing one stays as it is.
Status make_private_file(const std::string& path);

}  // namespace berth
