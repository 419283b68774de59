// A line that tells how far long work has come and when it will be done: on standard error, on terminals only.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>

#include "shell/session.h"

namespace berth {

// "simulate fgd  [######------]  52 %  14s left". Pure: the text at a moment.
std::string progress_line(std::string_view what, std::int64_t done, std::int64_t total, double seconds_spent,
                          int width);

// Draws at most ten times a second, and nothing in the first half second.
class TerminalProgress : public Progress {
 public:
  TerminalProgress(std::FILE* terminal, int width) : terminal_(terminal), width_(width) {}

  void report(std::string_view what, std::int64_t done, std::int64_t total) override;
  void finish() override;

 private:
  using Clock = std::chrono::steady_clock;

  std::FILE* terminal_;
  int width_;
  std::string what_;  // a new one starts a new clock
  Clock::time_point start_;
  Clock::time_point drawn_;
  bool visible_ = false;
};

}  // namespace berth
