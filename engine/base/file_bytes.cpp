#include "engine/base/file_bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "engine/base/folder.h"

namespace berth {

namespace {

// Of a call that errno tells of; ok when it is to be tried again.
Status reading_failed(const std::string& file, const std::atomic<bool>* interrupt) {
  if (errno != EINTR) return Status(Code::kUnavailable, "cannot read '" + file + "': " + std::strerror(errno));
  if (interrupt == nullptr || !interrupt->load()) return {};
  return Status(Code::kInterrupted, "interrupted while reading '" + file + "'");
}

}  // namespace

Result<std::vector<int>> descriptors_of(const struct stat& file) {
  BERTH_ASSIGN(const std::vector<std::string> all, names_in("/proc/self/fd"));
  std::vector<int> found;
  for (const std::string& name : all) {
    const int descriptor = std::atoi(name.c_str());
    struct stat each = {};
    if (::fstat(descriptor, &each) == 0 && each.st_dev == file.st_dev && each.st_ino == file.st_ino)
      found.push_back(descriptor);
  }
  return found;
}

Status check_is_no_open_database(const std::string& file) {
  constexpr std::string_view kHead = "SQLite format 3";
  struct stat asked = {};
  if (::stat(file.c_str(), &asked) != 0 || !S_ISREG(asked.st_mode)) return {};
  const Result<std::vector<int>> open = descriptors_of(asked);
  if (!open.ok()) return {};
  // What connections share lies in another file, whose locks are let go of in the same way.
  if (file.ends_with("-shm") && !open->empty())
    return Status(Code::kInvalid, "'" + file + "' belongs to the database that is open");
  for (const int descriptor : *open) {
    std::array<char, kHead.size()> head = {};
    const bool is_read = ::pread(descriptor, head.data(), head.size(), 0) == static_cast<ssize_t>(head.size());
    if (is_read && std::string_view(head.data(), head.size()) == kHead)
      return Status(Code::kInvalid, "'" + file + "' is the database that is open");
  }
  return {};
}

Result<FileReader> FileReader::open(const std::string& file, const std::atomic<bool>* interrupt) {
  BERTH_TRY(check_is_no_open_database(file));
  while (true) {
    const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor >= 0) return FileReader(file, interrupt, descriptor);
    BERTH_TRY(reading_failed(file, interrupt));
  }
}

FileReader::FileReader(FileReader&& other) noexcept
    : file_(std::move(other.file_)), interrupt_(other.interrupt_), descriptor_(std::exchange(other.descriptor_, -1)) {}

FileReader::~FileReader() {
  if (descriptor_ >= 0) close(descriptor_);
}

Result<std::size_t> FileReader::read(std::span<char> into) {
  while (true) {
    if (interrupt_ != nullptr && interrupt_->load())
      return Status(Code::kInterrupted, "interrupted while reading '" + file_ + "'");
    const ssize_t size = ::read(descriptor_, into.data(), into.size());
    if (size >= 0) return static_cast<std::size_t>(size);
    BERTH_TRY(reading_failed(file_, interrupt_));
  }
}

Result<std::string> read_file_bytes(const std::string& file, std::size_t most, const std::atomic<bool>* interrupt) {
  BERTH_ASSIGN(FileReader reader, FileReader::open(file, interrupt));
  std::string text;
  std::array<char, 65536> piece;
  while (true) {
    BERTH_ASSIGN(const std::size_t size, reader.read(piece));
    if (size == 0) return text;
    if (text.size() + size > most)
      return Status(Code::kInvalid, "'" + file + "' has more than " + std::to_string(most) + " bytes");
    text.append(piece.data(), size);
  }
}

}  // namespace berth
