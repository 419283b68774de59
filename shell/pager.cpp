#include "shell/pager.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "shell/unicode.h"

namespace berth {

namespace {

std::string pager_command() {
  for (const char* name : {"BERTH_PAGER", "PAGER"}) {
    if (const char* command = std::getenv(name); command != nullptr) return command;
  }
  return "less";
}

// Columns that a line takes on the screen: colour codes take none.
int visible_width(std::string_view line) {
  std::string plain;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b') {
      i = std::min(line.find('m', i), line.size());
    } else {
      plain += line[i];
    }
  }
  return display_width(plain);
}

}  // namespace

bool needs_pager(std::string_view text, int width, int height) {
  if (height <= 0) return false;
  int lines = 0;
  while (!text.empty() && lines < height) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines += width > 0 ? std::max(1, (visible_width(text.substr(0, end)) + width - 1) / width) : 1;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines >= height;
}

bool show_in_pager(std::string_view text) {
  const std::string command = pager_command();
  if (command.empty() || command == "cat") return false;
  setenv("LESS", "-R -F -X", 0);  // does not replace the user's own
  setenv("LESSCHARSET", "utf-8", 0);
  std::fflush(nullptr);
  // Ctrl-C in the pager is the pager's.
  void (*const before)(int) = std::signal(SIGINT, SIG_IGN);
  std::FILE* pipe = popen(command.c_str(), "w");
  bool shown = pipe != nullptr;
  if (shown) {
    std::fwrite(text.data(), 1, text.size(), pipe);
    const int status = pclose(pipe);
    shown = status == 0 || (WIFEXITED(status) && WEXITSTATUS(status) != 127);
  }
  std::signal(SIGINT, before);
  return shown;
}

}  // namespace berth
