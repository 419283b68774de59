#include "shell/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace berth {

namespace {

namespace fs = std::filesystem;

Status cannot_write(const std::string& path, int error) {
  return Status(Code::kUnavailable, fmt::format("cannot write {}: {}", path, std::strerror(error == 0 ? EIO : error)));
}

// The file that a path leads to, also when it is not there yet.
fs::path file_behind(const std::string& path) {
  std::error_code error;
  const fs::path found = fs::weakly_canonical(fs::absolute(path, error), error);
  return error ? fs::path(path) : found;
}

bool is_same_file(const std::string& a, const std::string& b) {
  struct stat about_a = {};
  struct stat about_b = {};
  if (stat(a.c_str(), &about_a) == 0 && stat(b.c_str(), &about_b) == 0)
    return about_a.st_dev == about_b.st_dev && about_a.st_ino == about_b.st_ino;
  return file_behind(a) == file_behind(b);
}

Result<std::string> gzip(std::string_view text) {
  constexpr int kGzipWindow = 15 + 16;
  constexpr int kMemoryLevel = 8;
  z_stream stream = {};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, kMemoryLevel, Z_DEFAULT_STRATEGY) != Z_OK)
    return Status(Code::kInternal, "zlib does not start");
  std::string packed(deflateBound(&stream, text.size()), '\0');
  std::string input(text);
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int end = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  if (end != Z_STREAM_END) return Status(Code::kInternal, "zlib did not reach the end");
  return packed;
}

// 0, or the errno of what failed. Closes the descriptor.
int write_and_close(int descriptor, std::string_view text) {
  int error = 0;
  while (!text.empty() && error == 0) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  return ::close(descriptor) != 0 && error == 0 ? errno : error;
}

Status write_in_place(const std::string& path, std::string_view text) {
  // A pipe that nobody reads would be waited for, for ever.
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0 && errno == ENXIO && fs::is_fifo(path))
    return Status(Code::kUnavailable, fmt::format("cannot write {}: it is a pipe that nobody reads", path));
  if (descriptor >= 0) ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
  const int error = descriptor < 0 ? errno : write_and_close(descriptor, text);
  return error == 0 ? Status() : cannot_write(path, error);
}

Status write_and_rename(const std::string& path, std::string_view text, FileReaders readers) {
  const std::string target = file_behind(path).string();
  std::string beside = target + ".XXXXXX";
  const int descriptor = ::mkstemp(beside.data());
  if (descriptor < 0) return cannot_write(path, errno);
  struct stat about = {};
  const mode_t mask = ::umask(0);
  ::umask(mask);
  mode_t mode = ::stat(target.c_str(), &about) == 0 ? about.st_mode & 0777 : 0666 & ~mask;
  if (readers == FileReaders::kOwner) mode &= 0700;
  int error = ::fchmod(descriptor, mode) == 0 ? 0 : errno;
  if (const int failed = write_and_close(descriptor, text); error == 0) error = failed;
  if (error == 0 && std::rename(beside.c_str(), target.c_str()) != 0) error = errno;
  if (error == 0) return {};
  ::unlink(beside.c_str());
  return cannot_write(path, error);
}

}  // namespace

Status check_not_database(const std::string& path, const std::string& database) {
  for (const std::string_view suffix : {"", "-wal", "-shm", "-journal"}) {
    if (!is_same_file(path, fmt::format("{}{}", database, suffix))) continue;
    return Status(Code::kConflict,
                  suffix.empty() ? fmt::format("{} is the open database", path)
                                 : fmt::format("{} belongs to the open database", path),
                  "name another file");
  }
  const fs::path folder = file_behind(file_behind(database).string() + ".executors");
  const fs::path file = file_behind(path);
  if (std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first != folder.end()) return {};
  return Status(Code::kConflict, fmt::format("{} is within the folder of the open database's executors", path),
                "name another file");
}

Status check_is_commented(const std::string& path, std::string_view kind) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return {};
  std::ifstream file(path, std::ios::binary);
  const int first = file.get();
  if (!file.is_open() || (file && first != '#'))
    return Status(Code::kExists, fmt::format("{} exists and is no {}", path, kind), "name another file");
  return {};
}

Status write_whole_file(const std::string& path, std::string_view text, bool replace, FileReaders readers) {
  std::error_code ignored;
  const fs::file_status about = fs::status(path, ignored);
  if (fs::is_directory(about)) return cannot_write(path, EISDIR);
  if (fs::is_regular_file(about) && !replace)
    return Status(Code::kExists, fmt::format("{} exists", path), "WITH (replace = true) overwrites it");
  std::string packed;
  if (path.ends_with(".gz")) {
    BERTH_ASSIGN(packed, gzip(text));
    text = packed;
  }
  const bool in_place = fs::exists(about) && !fs::is_regular_file(about);
  return in_place ? write_in_place(path, text) : write_and_rename(path, text, readers);
}

}  // namespace berth
