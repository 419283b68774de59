#include "engine/base/file_bytes.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

namespace berth {

Result<std::string> read_file_bytes(const std::string& file) {
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  // Not through another stream: those take a lack of memory for the end of the file.
  std::string text;
  std::array<char, 16384> part;
  while (stream && (stream.read(part.data(), part.size()) || stream.gcount() > 0))
    text.append(part.data(), static_cast<std::size_t>(stream.gcount()));
  if (!stream.is_open() || stream.bad()) {
    return Status(Code::kUnavailable, "cannot read '" + file + "': " + std::strerror(errno != 0 ? errno : EIO));
  }
  return text;
}

}  // namespace berth
