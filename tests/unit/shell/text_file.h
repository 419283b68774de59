// A stream that remembers what was written to it.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace berth::test {

class TextFile {
 public:
  TextFile() : stream_(open_memstream(&text_, &size_)) {}
  ~TextFile() {
    std::fclose(stream_);
    std::free(text_);
  }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;

  std::FILE* stream() { return stream_; }
  std::string text() {
    std::fflush(stream_);
    return std::string(text_, size_);
  }

 private:
  char* text_ = nullptr;
  std::size_t size_ = 0;
  std::FILE* stream_;
};

}  // namespace berth::test
