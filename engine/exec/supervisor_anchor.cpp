#include "engine/exec/supervisor_anchor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "engine/base/private_folder.h"

namespace berth {

std::string Anchor::as_called(std::string text) const {
  for (std::size_t at = 0; !through.empty() && (at = text.find(through, at)) != std::string::npos; at += path.size())
    text.replace(at, through.size(), path);
  return text;
}

Anchor anchor(SupervisorOrder& order) {
  Anchor root;
  root.path = order.list.substr(0, order.list.rfind('/'));
  if (make_folders(root.path)) root.folder = Descriptor(open(root.path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const std::string through = fmt::format("/proc/self/fd/{}", root.folder.get());
  if (!root.folder.is_open() || access((through + "/.").c_str(), X_OK) != 0) return root;
  root.through = through;
  const auto go_through = [&](std::string& path) {
    if (path.starts_with(root.path + "/")) path.replace(0, root.path.size(), through);
  };
  go_through(order.list);
  for (SupervisedTask& task : order.tasks) {
    go_through(task.folder);
    go_through(task.directory);
  }
  return root;
}

}  // namespace berth
