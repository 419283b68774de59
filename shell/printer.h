// Where answers go: data to standard output or the file of .output, everything for people to standard error.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "engine/base/status.h"
#include "shell/result.h"
#include "shell/session.h"

namespace berth {

class Printer {
 public:
  // The streams stay the caller's.
  Printer(std::FILE* data, std::FILE* messages) : data_(data), messages_(messages) {}

  // Notes and data. kUnavailable when the data could not be written.
  Status show(const Output& output, const Display& display);
  // For people.
  void say(std::string_view text);

  // Data to this file from now on; "stdout" or "-" goes back. kUnavailable when it cannot be opened.
  Status redirect(const std::string& file);
  bool is_redirected() const { return file_ != nullptr; }
  // The last write found the other end of the pipe closed.
  bool reader_left() const { return reader_left_; }

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  Status write(std::string_view text);

  std::FILE* data_;
  std::FILE* messages_;
  std::unique_ptr<std::FILE, CloseFile> file_;
  std::string file_name_;
  bool reader_left_ = false;
};

}  // namespace berth
