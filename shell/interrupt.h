// Ctrl-C as a flag that long work looks at.
#pragma once

#include <atomic>
#include <cstdint>

namespace berth {

// Set by SIGINT once a handler is installed.
std::atomic<bool>& interrupt_flag();

enum class SecondInterrupt : std::uint8_t { kEndsProcess, kIsTheSame };

// Sets the flag after so many seconds, as Ctrl-C would; has_timed_out() tells them apart.
void interrupt_after(unsigned seconds);
bool has_timed_out();

// From now on Ctrl-C sets the flag instead of ending the process. In batch mode a second one ends it after all.
void catch_interrupts(SecondInterrupt second);

}  // namespace berth
