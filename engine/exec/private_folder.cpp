#include "engine/exec/private_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/exec/local_record.h"

namespace berth {

Status check_private_folder(const std::string& path) {
  struct stat found = {};
  if (lstat(path.c_str(), &found) != 0) return file_error(path);
  if (!S_ISDIR(found.st_mode)) return Status(Code::kUnavailable, fmt::format("{} is not a folder", path));
  if (found.st_uid != geteuid()) {
    return Status(Code::kUnavailable, fmt::format("{} belongs to another user (number {})", path, found.st_uid),
                  "remove it, or run Berth as that user");
  }
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return Status(Code::kUnavailable, fmt::format("{}: others may write to it", path),
                  fmt::format("chmod go-w {}", path));
  }
  return {};
}

Status make_private_folder(const std::string& path) {
  return make_folders(path) ? check_private_folder(path) : file_error(path);
}

}  // namespace berth
