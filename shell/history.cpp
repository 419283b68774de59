#include "shell/history.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace berth {

namespace {

std::filesystem::path state_folder() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && state[0] == '/') return std::filesystem::path(state) / "berth";
  const char* home = std::getenv("HOME");
  if (home == nullptr || home[0] != '/') return {};
  return std::filesystem::path(home) / ".local" / "state" / "berth";
}

}  // namespace

std::string history_file() {
  const std::filesystem::path folder = state_folder();
  if (folder.empty()) return {};
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return {};
  const std::string file = (folder / "history").string();
  const int descriptor = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (descriptor < 0) return {};
  const bool is_private = fchmod(descriptor, S_IRUSR | S_IWUSR) == 0;
  close(descriptor);
  return is_private ? file : std::string();
}

std::string history_line(const std::string& statement) {
  if (statement.find("--") != std::string::npos) return {};
  std::string line = statement;
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

}  // namespace berth
