// Folders of executors and files in them, in which Berth keeps what it trusts: who runs what, outcomes, scripts with
// the environment of jobs. Another user who had made one, or may write to it, could have us follow links, wait for ever
// or believe ends that never were.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/base/status.h"

namespace berth {

// With its parents, for this user alone, whatever the umask. False with errno.
bool make_folders(const std::string& path);

// Makes it when it is missing. One that is there stays as it is. kUnavailable: it belongs to somebody else, others may
// write to it, or it is no folder (links are not followed).
Status make_private_folder(const std::string& path);
// The same of a folder that is there.
Status check_private_folder(const std::string& path);

// A short file of a private folder; nothing where there is none. kUnavailable: it cannot be read, or it is no file but
// a link, a pipe or the like, which is never waited for.
Result<std::optional<std::string>> read_private_file(const std::string& path);
// Whole or not at all, through a new file beside it whose name nobody can know before.
Status replace_private_file(const std::string& path, std::string_view text);

// The same in two steps, for who must know first what the file will be told by.
struct PrivateDraft {
  std::string path;
  std::string stamp;  // as file_stamp() will say
};
Result<PrivateDraft> draft_private_file(const std::string& path, std::string_view text);
// Takes the place of `path`. The draft is gone in any case.
Status place_private_file(const PrivateDraft& draft, const std::string& path);
// What tells a file from any copy of it, and stays with it when it gets another name: its number and, where the file
// system knows that, the moment it was made. Empty = it cannot be told.
std::string file_stamp(const std::string& path);

}  // namespace berth
