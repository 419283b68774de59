#include "tests/terminal/pseudo_terminal.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>

namespace berth::test {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
constexpr auto kLongest = 20s;
constexpr auto kShortWhile = 400ms;

[[noreturn]] void run_child(const std::string& program, const std::vector<std::string>& arguments,
                            const PseudoTerminal::Environment& environment) {
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> words{const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  execv(program.c_str(), words.data());
  _exit(127);
}

// Past the escape sequence that starts at `at`.
std::size_t skip_escape(const std::string& text, std::size_t at) {
  if (at + 1 >= text.size()) return text.size();
  if (text[at + 1] == ']') {
    const std::size_t bell = text.find('\a', at);
    return bell == std::string::npos ? text.size() : bell + 1;
  }
  if (text[at + 1] != '[') return at + 2;
  std::size_t end = at + 2;
  while (end < text.size() && (text[end] < '@' || text[end] > '~')) ++end;
  return end + 1;
}

}  // namespace

std::string without_escapes(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '\x1b') {
      i = skip_escape(text, i);
    } else {
      if (text[i] != '\r' && text[i] != '\a') plain += text[i];
      ++i;
    }
  }
  return plain;
}

PseudoTerminal::PseudoTerminal(const std::string& program, const std::vector<std::string>& arguments,
                               const Environment& environment, Size size) {
  winsize window = {};
  window.ws_col = static_cast<unsigned short>(size.columns);
  window.ws_row = static_cast<unsigned short>(size.lines);
  child_ = forkpty(&terminal_, nullptr, nullptr, &window);
  if (child_ == 0) run_child(program, arguments, environment);
}

PseudoTerminal::~PseudoTerminal() {
  if (child_ > 0) {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  if (terminal_ >= 0) close(terminal_);
}

void PseudoTerminal::type(const std::string& keys) {
  EXPECT_EQ(write(terminal_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
}

bool PseudoTerminal::read_more(std::chrono::milliseconds wait) {
  pollfd input{terminal_, POLLIN, 0};
  if (poll(&input, 1, static_cast<int>(wait.count())) <= 0) return true;
  std::array<char, 4096> piece;
  const ssize_t size = read(terminal_, piece.data(), piece.size());
  if (size <= 0) return false;
  raw_.append(piece.data(), static_cast<std::size_t>(size));
  return true;
}

std::string PseudoTerminal::plain_from(std::size_t begin) const {
  const std::string plain = without_escapes(raw_);
  return plain.substr(std::min(begin, plain.size()));
}

bool PseudoTerminal::expect(const std::string& text) {
  const auto end = Clock::now() + kLongest;
  bool open = true;
  while (true) {
    const std::string plain = plain_from(seen_);
    if (const std::size_t at = plain.find(text); at != std::string::npos) {
      seen_ += at + text.size();
      return true;
    }
    if (!open || Clock::now() > end) {
      ADD_FAILURE() << "expected '" << text << "', got:\n" << plain;
      return false;
    }
    open = read_more(100ms);
  }
}

bool PseudoTerminal::stays_without(const std::string& text) {
  const auto end = Clock::now() + kShortWhile;
  while (Clock::now() < end && read_more(50ms)) {
  }
  return plain_from(seen_).find(text) == std::string::npos;
}

int PseudoTerminal::wait_for_end() {
  const auto end = Clock::now() + kLongest;
  int status = 0;
  while (Clock::now() < end) {
    read_more(20ms);
    if (waitpid(child_, &status, WNOHANG) == child_) {
      child_ = -1;
      return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
  }
  ADD_FAILURE() << "the program did not end; it wrote:\n" << plain_from(seen_);
  return -1;
}

}  // namespace berth::test
