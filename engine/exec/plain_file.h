// Files in folders that a job can write to: it may have made a pipe, a folder, a link or something huge of any of them.
#pragma once

#include <string>

#include "engine/base/status.h"
#include "engine/exec/descriptor.h"

namespace berth {

// Records, requests and lists of tasks are far smaller.
inline constexpr std::size_t kMostOfFile = std::size_t{1} << 20;

// `flags` as of open(). Nothing is waited for and no link followed. kNotFound: there is none. kCorrupt: something else
// than a file has its place. kUnavailable: it cannot be opened now.
Result<Descriptor> open_plain_file(const std::string& path, int flags);
// The whole of it. kCorrupt also: it is larger than `most`.
Result<std::string> read_plain_file(const std::string& path, std::size_t most = kMostOfFile);
// Makes it, where it is not there, and reserves a block for it: a line can then be added when the disk is full. Where
// the file system cannot, nothing is lost but that.
void reserve_block(const std::string& path);
// Frees the name, whatever has it: removed, or renamed where that cannot be.
void put_aside(const std::string& path);

// "/tmp/x: No space left on device", of errno.
Status file_error(const std::string& path);

}  // namespace berth
