#include "engine/base/folder.h"

#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

namespace berth {

namespace {

struct Close {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

Status failed(const std::string& folder, int error) {
  return Status(Code::kUnavailable, "cannot read '" + folder + "': " + std::strerror(error));
}

}  // namespace

Result<std::vector<std::string>> names_in(const std::string& folder) {
  const std::unique_ptr<DIR, Close> opened(::opendir(folder.c_str()));
  if (opened == nullptr) return failed(folder, errno);
  std::vector<std::string> names;
  while (true) {
    errno = 0;
    const dirent* const entry = ::readdir(opened.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return failed(folder, errno);
  std::ranges::sort(names);
  return names;
}

}  // namespace berth
