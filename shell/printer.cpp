#include "shell/printer.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

#include "shell/pager.h"
#include "shell/render.h"
#include "shell/unicode.h"

namespace berth {

Status Printer::show(const Output& output, const Display& display) {
  BERTH_TRY(check_shape(output));
  for (const std::string& note : output.notes) say(escape_controls_in_lines(note) + "\n");
  Display fitted = display;
  if (is_redirected()) {
    fitted.width = fitted.height = 0;
    fitted.color = fitted.is_terminal = false;
  }
  const std::string text = render(output, fitted);
  if (text.empty()) return {};
  if (needs_pager(text, fitted.width, fitted.height) && show_in_pager(text)) return {};
  return write(text);
}

Status Printer::write(std::string_view text) {
  std::FILE* target = file_ ? file_.get() : data_;
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), target) == text.size() && std::fflush(target) == 0) return {};
  reader_left_ = errno == EPIPE;
  const std::string where = file_ ? "'" + file_name_ + "'" : "standard output";
  return Status(Code::kUnavailable, "cannot write to " + where + ": " + std::strerror(errno));
}

void Printer::say(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), messages_);
  std::fflush(messages_);
}

Status Printer::redirect(const std::string& file) {
  file_.reset();
  if (file == "stdout" || file == "-") return {};
  file_name_ = file;
  // A pipe that nobody reads would be waited for, for ever.
  const int opened = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666);
  if (opened < 0 && errno == ENXIO)
    return Status(Code::kUnavailable, "cannot open '" + file + "': it is a pipe that nobody reads");
  if (opened >= 0) {
    ::fcntl(opened, F_SETFL, ::fcntl(opened, F_GETFL) & ~O_NONBLOCK);
    file_.reset(::fdopen(opened, "w"));
  }
  if (file_) return {};
  return Status(Code::kUnavailable, "cannot open '" + file + "': " + std::strerror(errno));
}

}  // namespace berth
