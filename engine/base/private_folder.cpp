#include "engine/base/private_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace berth {

namespace {

Status path_failure(const std::string& path) {
  return Status(Code::kUnavailable, fmt::format("{}: {}", path, std::strerror(errno)));
}

// As the database: for its user alone, whatever the umask, for logs may tell anything.
bool make_one_folder(const std::string& path) { return mkdir(path.c_str(), 0700) == 0 || errno == EEXIST; }

}  // namespace

bool make_folders(const std::string& path) {
  if (make_one_folder(path)) return true;
  const std::size_t parent = path.rfind('/');
  return errno == ENOENT && parent != std::string::npos && parent > 0 && make_folders(path.substr(0, parent)) &&
         make_one_folder(path);
}

Status check_private_folder(const std::string& path) {
  struct stat found = {};
  if (lstat(path.c_str(), &found) != 0) return path_failure(path);
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
  return make_folders(path) ? check_private_folder(path) : path_failure(path);
}

Result<std::optional<std::string>> read_private_file(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0 && errno == ENOENT) return std::optional<std::string>();
  if (file < 0) return path_failure(path);
  struct stat found = {};
  std::array<char, 4096> text;
  ssize_t size = -1;
  const bool is_file = fstat(file, &found) == 0 && S_ISREG(found.st_mode);
  if (is_file) size = read(file, text.data(), text.size());
  Status failure = is_file ? path_failure(path) : Status(Code::kUnavailable, fmt::format("{} is not a file", path));
  close(file);
  if (size < 0) return failure;
  return std::optional(std::string(text.data(), static_cast<std::size_t>(size)));
}

Result<PrivateDraft> draft_private_file(const std::string& path, std::string_view text) {
  PrivateDraft draft{path + ".XXXXXX", ""};
  const int file = mkostemp(draft.path.data(), O_CLOEXEC);
  if (file < 0) return path_failure(path);
  const bool is_written =
      write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && fsync(file) == 0;
  Status failure = path_failure(path);
  close(file);
  draft.stamp = file_stamp(draft.path);
  if (is_written) return draft;
  unlink(draft.path.c_str());
  return failure;
}

Status place_private_file(const PrivateDraft& draft, const std::string& path) {
  if (rename(draft.path.c_str(), path.c_str()) == 0) return {};
  Status failure = path_failure(path);
  unlink(draft.path.c_str());
  return failure;
}

Status replace_private_file(const std::string& path, std::string_view text) {
  BERTH_ASSIGN(const PrivateDraft draft, draft_private_file(path, text));
  return place_private_file(draft, path);
}

std::string file_stamp(const std::string& path) {
  struct statx found = {};
  if (statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_INO | STATX_BTIME, &found) != 0) return {};
  const bool has_birth = (found.stx_mask & STATX_BTIME) != 0;
  return has_birth ? fmt::format("{} {}.{:09}", found.stx_ino, found.stx_btime.tv_sec, found.stx_btime.tv_nsec)
                   : fmt::format("{}", found.stx_ino);
}

}  // namespace berth
