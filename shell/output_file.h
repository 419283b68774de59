// Files that the shell writes for the user: EXPORT and .output.
//
// Never the open database: a path that is it or one of the files SQLite keeps beside it, by whatever name or link, is
// refused. A whole file appears at once: it is written beside and renamed, so that a full disk leaves the old one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/status.h"

namespace berth {

// kConflict when `path` is the database at `database` or its -wal, -shm or -journal.
Status check_not_database(const std::string& path, const std::string& database);

// kOwner: nobody else may read the file.
enum class FileReaders : std::uint8_t { kAsUsual, kOwner };

// gzip when the name ends in .gz. kExists when it exists and may not be replaced; kUnavailable with the system's words.
// Devices and pipes are written as they are.
Status write_whole_file(const std::string& path, std::string_view text, bool replace,
                        FileReaders readers = FileReaders::kAsUsual);

}  // namespace berth
