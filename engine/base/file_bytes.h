// A file's bytes: all of them or an error, or piece by piece.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "engine/base/status.h"

namespace berth {

// More than anything that is read at once should be: a device never ends.
constexpr std::size_t kMostFileBytes = std::size_t{256} << 20;

// kUnavailable when it cannot be read; kInvalid when there are more than `most`; kInterrupted as below.
Result<std::string> read_file_bytes(const std::string& file, std::size_t most = kMostFileBytes,
                                    const std::atomic<bool>* interrupt = nullptr);

// This process's descriptors of a file. kUnavailable where the system does not say.
Result<std::vector<int>> descriptors_of(const struct stat& file);

// kInvalid: a connection of this process has the file open as a database. SQLite's locks are those of a process on a
// file: to open and close it once more lets go of them, and what others commit then is lost.
Status check_is_no_open_database(const std::string& file);

// A file that may never end, or never begin. kInterrupted when `interrupt` is set: a signal ends the wait for bytes.
class FileReader {
 public:
  static Result<FileReader> open(const std::string& file, const std::atomic<bool>* interrupt);
  FileReader(FileReader&& other) noexcept;
  FileReader& operator=(FileReader&&) = delete;
  ~FileReader();

  // How many there were; 0 at the end.
  Result<std::size_t> read(std::span<char> into);

 private:
  FileReader(const std::string& file, const std::atomic<bool>* interrupt, int descriptor)
      : file_(file), interrupt_(interrupt), descriptor_(descriptor) {}

  std::string file_;
  const std::atomic<bool>* interrupt_;
  int descriptor_;
};

}  // namespace berth
