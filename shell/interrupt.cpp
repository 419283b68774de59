#include "shell/interrupt.h"

#include <csignal>

namespace berth {

namespace {

std::atomic<bool> interrupted{false};
std::atomic<bool> second_ends{false};
static_assert(std::atomic<bool>::is_always_lock_free, "used in a signal handler");

void on_interrupt(int) {
  if (interrupted.exchange(true) && second_ends.load()) std::signal(SIGINT, SIG_DFL), std::raise(SIGINT);
}

}  // namespace

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
