// Lines of a text file, plain or gzip, in constant memory.
//
// zlib tells the two apart by the first bytes, so a .gz without the suffix works too. "-" is standard input. A line may
// end in LF or CRLF, the last one in nothing; a UTF-8 byte order mark before the first is dropped. A line longer than
// kMaxLine is an error, not a crash: it is what a binary file looks like. Reading is sequential; there is no going
// back.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"

namespace berth {

class TextFile {
 public:
  static constexpr std::size_t kMaxLine = std::size_t{1} << 20;

  // kUnavailable with the system's reason when it cannot be opened.
  static Result<TextFile> open(const std::string& path);
  // Whether the last line ended in CRLF.
  bool had_return() const { return had_return_; }

  // The next line without its end, valid until the next call; false at the end of the file. kUnavailable when reading
  // fails, kCorrupt for a damaged or truncated gzip file or a line too long: nothing more can be read then.
  Result<bool> next(std::string_view& line);

  const std::string& path() const { return path_; }
  // 1-based number of the line last returned.
  std::int64_t line() const { return line_; }
  // "jobs.csv:12:8"; column 1-based in bytes, 0 = the whole line.
  std::string place(std::int64_t line, std::size_t column) const;

 private:
  struct Closer {
    void operator()(void* file) const;
  };
  explicit TextFile(std::string path) : path_(std::move(path)) {}
  Status fill();

  std::string path_;
  std::unique_ptr<void, Closer> file_;  // gzFile
  std::vector<char> buffer_;
  std::size_t begin_ = 0;  // unread part of buffer_
  std::size_t end_ = 0;
  bool at_end_ = false;
  bool had_return_ = false;
  std::int64_t line_ = 0;
};

}  // namespace berth
