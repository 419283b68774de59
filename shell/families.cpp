#include "shell/families.h"

#include <array>
#include <cstdio>
#include <cstdlib>

namespace berth {

std::span<const std::span<const CommandRow>> all_families() {
  static const std::array kFamilies = {
      cluster_commands(), queue_commands(),    quota_commands(),    loan_commands(),
      job_commands(),     round_commands(),    explain_commands(),  show_commands(),
      map_commands(),     settings_commands(), simulate_commands(), data_commands(),
      sql_commands(),     shell_commands(),    job_show_commands(), predict_commands(),
  };
  return kFamilies;
}

const CommandTable& command_table() {
  static const CommandTable table = [] {
    Result<CommandTable> built = CommandTable::build(all_families());
    if (!built.ok()) {
      std::fprintf(stderr, "berth: %s\n", built.status().message().c_str());
      std::abort();
    }
    return *std::move(built);
  }();
  return table;
}

}  // namespace berth
