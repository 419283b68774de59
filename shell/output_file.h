// Files that the shell writes for the user: EXPORT and .output.
//
// Never the open database: a path that is it or one of the files SQLite keeps beside it, by whatever name or link, is
// refused, and so is what lies in the folder of its executors. A whole file appears at once: it is written beside and
// renamed, so that a full disk leaves the old one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/status.h"

namespace berth {

// kConflict when `path` is the database at `database` or its -wal, -shm or -journal, or lies in its executors' folder.
Status check_not_database(const std::string& path, const std::string& database);

// kOwner: nobody else may read the file.
enum class FileReaders : std::uint8_t { kAsUsual, kOwner };

// gzip when the name ends in .gz. kExists when it exists and may not be replaced; kUnavailable with the system's words.
// Devices and pipes are written as they are; kUnavailable for a pipe that nobody reads.
Status write_whole_file(const std::string& path, std::string_view text, bool replace,
                        FileReaders readers = FileReaders::kAsUsual);

// kExists when a file is there that is not of the kind whose lines begin with `#`: its first one does not, and it is
// not empty.
Status check_is_commented(const std::string& path, std::string_view kind);

}  // namespace berth
