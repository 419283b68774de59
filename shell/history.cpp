#include "shell/history.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
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

std::string history_entry(std::string_view typed) {
  std::string entry;
  for (std::size_t i = 0; i < typed.size();) {
    std::string_view end;  // of a string or comment that begins here
    if (typed[i] == '\'' || typed[i] == '"') end = typed.substr(i, 1);
    if (typed.substr(i, 2) == "--") end = "\n";
    if (typed.substr(i, 2) == "/*") end = "*/";
    if (end.empty()) {
      entry += typed[i] == '\n' ? ' ' : typed[i];
      ++i;
      continue;
    }
    // A doubled quote ends one string and begins the next.
    const std::size_t found = typed.find(end, i + std::min<std::size_t>(end.size(), 2));
    const std::size_t past = found == std::string_view::npos ? typed.size() : found + end.size();
    entry += typed.substr(i, past - i);
    i = past;
  }
  return entry;
}

void append_to_history(const std::string& file, std::string_view entry) {
  std::string line(entry);
  std::ranges::replace(line, '\n', '\r');
  std::ofstream(file, std::ios::app) << line << '\n';
}

std::string entry_of_line(std::string_view line) {
  std::string entry(line);
  std::ranges::replace(entry, '\r', '\n');
  return entry;
}

}  // namespace berth
