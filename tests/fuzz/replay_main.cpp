// Feeds a fuzz target its corpus without libFuzzer: every file as it is, then seeded mutations of it.
//
//   statement_fuzz CORPUS-FOLDER [mutations of each file, default 100]
//
// What is running is told when the process dies, so that the same command shows it again.
#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "engine/base/env.h"
#include "tests/fuzz/fuzz.h"

namespace {

namespace fs = std::filesystem;

std::array<char, 4096> running_now{};

extern "C" void tell_what_ran(int number) {
  const ssize_t ignored = write(STDERR_FILENO, running_now.data(), std::char_traits<char>::length(running_now.data()));
  (void)ignored;
  std::signal(number, SIG_DFL);
  std::raise(number);
}

void run(const std::string& bytes, const std::string& name) {
  std::snprintf(running_now.data(), running_now.size(), "died on %s\n", name.c_str());
  // A copy of the exact size, so that a sanitizer sees reads past the end.
  const std::vector<std::uint8_t> copy(bytes.begin(), bytes.end());
  LLVMFuzzerTestOneInput(copy.data(), copy.size());
}

// One to four changes: a bit, a byte, a piece cut, doubled or taken from another file.
std::string mutated(std::string bytes, const std::vector<std::string>& all, berth::Random& random) {
  static constexpr std::string_view kLikely = "0123456789,;:.'\"()[]{}=-+/ \n\r\t\\aAeEmGgiI\x7f\xc3";
  for (std::uint64_t changes = 1 + random.below(4); changes > 0; --changes) {
    const std::size_t at = random.below(bytes.size() + 1);
    const std::size_t length = std::min<std::size_t>(bytes.size() - at, 1 + random.below(12));
    switch (random.below(6)) {
      case 0: bytes.insert(at, 1, kLikely[random.below(kLikely.size())]); break;
      case 1: bytes.erase(at, length); break;
      case 2: bytes.insert(at, bytes.substr(at, length)); break;
      case 3: bytes.resize(at); break;
      case 4:
        if (at < bytes.size()) bytes[at] = static_cast<char>(random.below(256));
        break;
      default: {
        const std::string& other = all[random.below(all.size())];
        bytes.insert(at, other.substr(random.below(other.size() + 1), 1 + random.below(40)));
      }
    }
  }
  return bytes;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) return std::fprintf(stderr, "usage: %s CORPUS-FOLDER [MUTATIONS]\n", arguments[0]), 2;
  const std::uint64_t mutations = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 100;
  for (const int number : {SIGABRT, SIGSEGV, SIGFPE, SIGBUS, SIGILL}) std::signal(number, tell_what_ran);

  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(arguments[1])) names.push_back(entry.path().string());
  std::sort(names.begin(), names.end());
  std::vector<std::string> seeds;
  for (const std::string& name : names) {
    std::ifstream file(name, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  run("", "no bytes");
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    run(seeds[i], names[i]);
    berth::Random random(i);
    for (std::uint64_t m = 0; m < mutations; ++m) {
      run(mutated(seeds[i], seeds, random), names[i] + ", mutation " + std::to_string(m));
    }
  }
  std::printf("%zu files, %llu mutations of each\n", seeds.size(), static_cast<unsigned long long>(mutations));
  return seeds.empty() ? 2 : 0;
}
