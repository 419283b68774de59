#include "shell/interrupt.h"

#include <unistd.h>

#include <csignal>

namespace berth {

namespace {

std::atomic<bool> interrupted{false};
std::atomic<bool> second_ends{false};
static_assert(std::atomic<bool>::is_always_lock_free, "used in a signal handler");

void on_interrupt(int) {
  if (interrupted.exchange(true) && second_ends.load()) std::signal(SIGINT, SIG_DFL), std::raise(SIGINT);
}

std::atomic<bool> timed_out{false};

void on_alarm(int) { timed_out = interrupted = true; }

}  // namespace

void interrupt_after(unsigned seconds) {
  struct sigaction action = {};
  action.sa_handler = on_alarm;
  sigemptyset(&action.sa_mask);
  sigaction(SIGALRM, &action, nullptr);
  alarm(seconds);
}

bool has_timed_out() { return timed_out; }

std::atomic<bool>& interrupt_flag() { return interrupted; }

void catch_interrupts(SecondInterrupt second) {
  second_ends = second == SecondInterrupt::kEndsProcess;
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  sigemptyset(&action.sa_mask);
  action.sa_flags = 0;  // no SA_RESTART: a read that waits for input returns
  sigaction(SIGINT, &action, nullptr);
}

}  // namespace berth
