// Saved plans: what is read prints, and reads back as the same plan.
#include "engine/model/plan.h"
#include "tests/fuzz/fuzz.h"

using berth::test::promise;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = berth::test::as_text(data, size);
  const berth::Result<berth::Plan> plan = berth::plan_from_json(text);
  if (!plan.ok()) {
    promise(!plan.status().message().empty(), "an error says what is wrong", text);
    return 0;
  }
  const std::string printed = berth::plan_to_json(*plan);
  const berth::Result<berth::Plan> again = berth::plan_from_json(printed);
  promise(again.ok(), "a printed plan is a plan", printed);
  promise(*again == *plan, "a printed plan reads back equal", printed);
  promise(berth::plan_to_json(*again) == printed && berth::plan_to_text(*again) == berth::plan_to_text(*plan),
          "equal plans print the same", printed);
  return 0;
}
