// Bytes that are nearly right: inputs name changes of a sound value, so that little of them is wasted on its form.
#pragma once

#include <string>
#include <string_view>

namespace berth::test {

// Every three bytes are a change: where (two bytes, in steps of the whole) and the new byte. A last byte alone cuts the
// end off.
inline std::string patched(std::string bytes, std::string_view changes) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(changes[at]); };
  for (; changes.size() >= 3 && !bytes.empty(); changes.remove_prefix(3)) {
    const std::size_t where = byte(0) * std::size_t{256} + byte(1);
    bytes[where < bytes.size() ? where : where * bytes.size() / 65536] = changes[2];
  }
  if (changes.size() == 1) bytes.resize(bytes.size() - bytes.size() * byte(0) / 256);
  return bytes;
}

}  // namespace berth::test
