// Scripts: whatever the text, it ends within its budget, and an error is one line that names the script.
#include <chrono>

#include "engine/lua/host.h"
#include "tests/fuzz/fuzz.h"

using berth::test::promise;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view source = berth::test::as_text(data, size);
  constexpr berth::ScriptLimits kLimits{.memory = 1 << 20,
                                        .instructions = 50'000,
                                        .longest_text = 16 << 10,
                                        .pattern_steps = 100'000,
                                        .wall = std::chrono::milliseconds(2000)};
  auto host = berth::ScriptHost::open(kLimits);
  promise(host.ok(), "a host can be made");
  promise((*host)->add_value("berth", "version", {std::string("1")}).ok(), "a value can be given");
  const auto start = std::chrono::steady_clock::now();
  const berth::Status status = (*host)->load("fuzz.lua", source);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  promise(seconds < 20, "a script ends in time", source);
  promise((*host)->use().peak <= kLimits.memory, "a script keeps to its memory", source);
  if (!status.ok()) {
    promise(status.message().starts_with("fuzz.lua"), "an error names the script", status.message());
    promise(status.message().find('\n') == std::string::npos, "an error is one line", status.message());
  }
  for (const std::string& name : (*host)->functions()) (void)(*host)->call(name, {});
  return 0;
}
