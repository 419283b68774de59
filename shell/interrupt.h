// Ctrl-C as a flag that long work looks at.
#pragma once

#include <atomic>
#include <cstdint>

namespace berth {

// Set by SIGINT once a handler is installed.
std::atomic<bool>& interrupt_flag();

enum class SecondInterrupt : std::uint8_t { kEndsProcess, kIsTheSame };

// From now on Ctrl-C sets the flag instead of ending the process. In batch mode a second one ends it after all.
void catch_interrupts(SecondInterrupt second);

}  // namespace berth
