#include "engine/exec/done_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "engine/base/text.h"
#include "engine/exec/descriptor.h"

namespace berth {

bool says_done(std::string_view content) {
  const std::string_view words = trim(content);
  return words.substr(0, words.find_first_of(" \t\r\n")) == "done";
}

bool reads_done(const std::string& path) {
  // A pipe is not waited for.
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat found = {};
  if (!file.is_open() || fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode)) return false;
  std::array<char, 64> text;
  const ssize_t size = read(file.get(), text.data(), text.size());
  return size > 0 && says_done({text.data(), static_cast<std::size_t>(size)});
}

}  // namespace berth
