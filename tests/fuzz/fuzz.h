// What every fuzz target uses: a promise that ends the process when broken, and a file that holds the bytes.
//
// A target is one LLVMFuzzerTestOneInput. Under the preset fuzz it is linked with libFuzzer; elsewhere replay_main.cpp
// feeds it its corpus and a bounded number of mutations. It must be deterministic and keep nothing between calls that
// changes an answer.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace berth::test {

inline std::string_view as_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Ends the process, saying what was expected and of what.
inline void promise(bool kept, std::string_view what, std::string_view of = {}) {
  if (kept) return;
  std::fprintf(stderr, "broken promise: %s: %s\n", std::string(what).c_str(), std::string(of).c_str());
  std::abort();
}

// A folder of this process that goes with it.
class FuzzFolder {
 public:
  FuzzFolder() : path_(std::filesystem::temp_directory_path() / ("berth_fuzz_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~FuzzFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  FuzzFolder(const FuzzFolder&) = delete;
  FuzzFolder& operator=(const FuzzFolder&) = delete;

  std::string path(const std::string& name = "") const { return name.empty() ? path_ : path_ / name; }

 private:
  std::filesystem::path path_;
};

// The bytes as a file that readers can open by name; it lives in memory and goes with its object.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : descriptor_(memfd_create("fuzz", 0)) {
    promise(descriptor_ >= 0, "a file in memory can be made");
    while (!bytes.empty()) {
      const ssize_t written = write(descriptor_, bytes.data(), bytes.size());
      promise(written > 0, "a file in memory can be written");
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace berth::test
