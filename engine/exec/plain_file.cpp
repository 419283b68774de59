#include "engine/exec/plain_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

namespace berth {

Status file_error(const std::string& path) {
  return Status(Code::kUnavailable, fmt::format("{}: {}", path, std::strerror(errno)));
}

Result<Descriptor> open_plain_file(const std::string& path, int flags) {
  Descriptor file(open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600));
  const Status not_plain(Code::kCorrupt, fmt::format("{} is not a file", path));
  if (!file.is_open()) {
    if (errno == ENOENT || errno == ENOTDIR) return Status(Code::kNotFound, file_error(path).message());
    // A link; a folder, a pipe without reader or a socket that was to be written.
    if (errno == ELOOP || errno == EISDIR || errno == ENXIO) return not_plain;
    return file_error(path);
  }
  struct stat found = {};
  if (fstat(file.get(), &found) != 0) return file_error(path);
  if (!S_ISREG(found.st_mode)) return not_plain;
  return file;
}

Result<std::string> read_plain_file(const std::string& path, std::size_t most) {
  BERTH_ASSIGN(const Descriptor file, open_plain_file(path, O_RDONLY));
  std::string text;
  std::array<char, 4096> piece;
  for (;;) {
    const ssize_t size = read(file.get(), piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return file_error(path);
    if (size == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(size));
    if (text.size() > most) return Status(Code::kCorrupt, fmt::format("{} is larger than {} bytes", path, most));
  }
}

void reserve_block(const std::string& path) {
  constexpr off_t kBlock = 4096;
  const Result<Descriptor> file = open_plain_file(path, O_WRONLY | O_CREAT);
  if (file.ok()) static_cast<void>(fallocate(file->get(), FALLOC_FL_KEEP_SIZE, 0, kBlock));
}

void put_aside(const std::string& path) {
  if (unlink(path.c_str()) == 0) return;
  const std::string aside = fmt::format("{}.{}.{}", path, time(nullptr), getpid());
  static_cast<void>(std::rename(path.c_str(), aside.c_str()));
}

}  // namespace berth
