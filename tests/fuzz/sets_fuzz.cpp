// Link groups, device sets and name ranges: bounded, and what is printed reads back equal.
#include "engine/base/text.h"
#include "engine/model/cluster.h"
#include "tests/fuzz/fuzz.h"

using berth::test::promise;

namespace {

void look_at_link_groups(std::string_view text, int devices) {
  const berth::Result<std::vector<berth::DeviceMask>> groups = berth::read_link_groups(text, devices);
  if (!groups.ok()) return promise(!groups.status().message().empty(), "an error says what is wrong", text);
  for (const berth::DeviceMask group : *groups) {
    promise(group != 0 && (group >> devices) == 0, "a link group has devices of the node", text);
    for (const berth::DeviceMask other : *groups) {
      const berth::DeviceMask shared = group & other;
      promise(shared == 0 || shared == group || shared == other, "link groups are nested or disjoint", text);
    }
  }
  const std::string printed = berth::print_link_groups(*groups);
  const berth::Result<std::vector<berth::DeviceMask>> again = berth::read_link_groups(printed, devices);
  promise(again.ok() && *again == *groups, "link groups read back", printed);
}

void look_at_device_set(std::string_view text) {
  const berth::Result<std::uint64_t> mask = berth::read_device_mask(text);
  if (!mask.ok()) return promise(!mask.status().message().empty(), "an error says what is wrong", text);
  const std::string printed = berth::print_device_mask(*mask);
  const berth::Result<std::uint64_t> again = berth::read_device_mask(printed);
  promise(again.ok() && *again == *mask, "a device set reads back", printed);
}

void look_at_range(std::string_view text) {
  constexpr std::size_t kMost = 500;
  const berth::Result<std::vector<std::string>> names = berth::expand_range(text, kMost);
  if (!names.ok()) return promise(!names.status().message().empty(), "an error says what is wrong", text);
  promise(!names->empty() && names->size() <= kMost, "a range has names, and not too many", text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = berth::test::as_text(data, size);
  for (const int devices : {0, 4, 8, berth::kMaxDevices}) look_at_link_groups(text, devices);
  look_at_device_set(text);
  look_at_range(text);
  return 0;
}
