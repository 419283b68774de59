// Makes the demo's cluster and jobs: generate FOLDER writes nodes.csv and jobs.csv there.
//
// The files lie beside this program so that the demo runs without it; a test holds them equal to what it writes.
#include <cstdio>
#include <fstream>
#include <string>

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

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("usage: generate FOLDER\n", stderr);
    return 2;
  }
  const berth::GeneratorOptions options{.seed = 7, .gpus = 320, .jobs = 360};
  const std::string folder = arguments[1];
  const bool written =
      write_file(folder + "/nodes.csv", berth::berth_nodes_csv(berth::generate_nodes(options))) &&
      write_file(folder + "/jobs.csv", berth::berth_jobs_csv(berth::generate_jobs(options)));
  return written ? 0 : 1;
}
