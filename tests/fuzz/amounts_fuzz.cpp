// Amounts as people write them: what is read prints, and reads back as the same amount.
#include "engine/base/text.h"
#include "tests/fuzz/fuzz.h"

using berth::test::promise;

namespace {

template <class Read, class Print>
void read_print_read(std::string_view text, std::string_view what, Read read, Print print) {
  const auto amount = read(text);
  if (!amount.ok()) return promise(!amount.status().message().empty(), "an error says what is wrong", text);
  const std::string printed = print(*amount);
  const auto again = read(printed);
  promise(again.ok(), what, printed);
  promise(*again == *amount, what, printed);
}

// A duration is printed in its two largest parts: not more than it is, and stable.
void look_at_duration(std::string_view text) {
  const berth::Result<berth::Seconds> duration = berth::read_duration(text);
  if (!duration.ok()) return promise(!duration.status().message().empty(), "an error says what is wrong", text);
  const std::string printed = berth::print_duration(*duration);
  const berth::Result<berth::Seconds> again = berth::read_duration(printed);
  promise(again.ok() && *again <= *duration, "a duration reads back", printed);
  promise(berth::print_duration(*again) == printed, "a duration prints the same again", printed);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = berth::test::as_text(data, size);
  read_print_read(text, "gpu reads back", berth::read_gpu, berth::print_gpu);
  read_print_read(text, "cpu reads back", berth::read_cpu, berth::print_cpu);
  read_print_read(text, "memory reads back", berth::read_memory, berth::print_memory);
  look_at_duration(text);
  read_print_read(text, "a time reads back", berth::read_time, berth::print_time);
  read_print_read(text, "an integer reads back", berth::read_integer,
                  [](std::int64_t value) { return std::to_string(value); });
  for (const std::int64_t scale : {1, 1000, 1024}) {
    (void)berth::read_scaled(text, scale);
    (void)berth::read_scaled(text, scale, true);
  }
  return 0;
}
