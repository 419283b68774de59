#include "shell/progress.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/text.h"
#include "shell/unicode.h"

namespace berth {

namespace {

using namespace std::chrono_literals;
constexpr auto kFirstDraw = 500ms;
constexpr auto kBetweenDraws = 100ms;
constexpr int kBarColumns = 30;

}  // namespace

std::string progress_line(std::string_view what, std::int64_t done, std::int64_t total, double seconds_spent,
                          int width) {
  std::string text = escape_controls(what);
  if (total <= 0) {
    text += fmt::format("  {}  {:.0f}s", print_count(done), seconds_spent);
  } else {
    const double share = std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0);
    const auto filled = static_cast<std::size_t>(share * kBarColumns);
    text += fmt::format("  [{}{}] {:3.0f} %", std::string(filled, '#'), std::string(kBarColumns - filled, '-'),
                        share * 100);
    if (share > 0) {
      const double left = seconds_spent / share * (1 - share);
      text += "  " + print_duration(Seconds(static_cast<std::int64_t>(left + 0.5))) + " left";
    }
  }
  return truncate_to_width(text, std::max(10, width - 1), false);
}

void TerminalProgress::report(std::string_view what, std::int64_t done, std::int64_t total) {
  const Clock::time_point now = Clock::now();
  if (what != what_) {
    what_ = what;
    start_ = drawn_ = now;
  }
  if (now - start_ < kFirstDraw || now - drawn_ < kBetweenDraws) return;
  drawn_ = now;
  visible_ = true;
  const double spent = std::chrono::duration<double>(now - start_).count();
  std::fprintf(terminal_, "\r%s\x1b[K", progress_line(what, done, total, spent, width_).c_str());
  std::fflush(terminal_);
}

void TerminalProgress::finish() {
  what_.clear();
  if (!visible_) return;
  visible_ = false;
  std::fputs("\r\x1b[K", terminal_);
  std::fflush(terminal_);
}

}  // namespace berth
