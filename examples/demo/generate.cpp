// Makes a cluster and jobs: writes nodes.csv and jobs.csv into a folder.
//
//   generate_demo FOLDER GPUS JOBS SEED
//
// The files of examples/demo and examples/simulate were made so; check_generated.sh holds them equal to what it writes.
#include <charconv>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "engine/sim/berth_trace.h"
#include "engine/sim/generator.h"

namespace {

bool write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) std::fprintf(stderr, "error: cannot write %s\n", path.c_str());
  return static_cast<bool>(file);
}

// Negative when it is not a number.
std::int64_t read_number(const std::string& text) {
  std::int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : -1;
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> given(arguments + 1, arguments + count);
  const bool usable =
      given.size() == 4 && read_number(given[1]) > 0 && read_number(given[2]) > 0 && read_number(given[3]) >= 0;
  if (!usable) {
    std::fputs("usage: generate_demo FOLDER GPUS JOBS SEED\n", stderr);
    return 2;
  }
  const berth::GeneratorOptions options{.seed = static_cast<std::uint64_t>(read_number(given[3])),
                                        .gpus = read_number(given[1]),
                                        .jobs = read_number(given[2])};
  const std::string& folder = given[0];
  const bool written = write_file(folder + "/nodes.csv", berth::berth_nodes_csv(berth::generate_nodes(options))) &&
                       write_file(folder + "/jobs.csv", berth::berth_jobs_csv(berth::generate_jobs(options)));
  return written ? 0 : 1;
}
