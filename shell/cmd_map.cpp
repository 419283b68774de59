// SHOW MAP: the cluster as a heat map.
#include <map>

#include "shell/cmd_support.h"
#include "shell/families.h"

namespace berth {

namespace {

char node_mark(std::string_view state) {
  if (state == "draining") return 'd';
  if (state == "drained") return 'D';
  if (state == "down") return '!';
  return state == "booting" ? 'b' : '\0';
}

Result<Output> show_map(Session& session, const Arguments& arguments) {
  const std::string_view by = arguments.has_word("POOL") ? "pool" : arguments.has_word("TYPE") ? "type" : "rack";
  // How full a node is: GPUs where it has any, else CPU.
  BERTH_ASSIGN(ResultTable table,
               query_table(session, fmt::format("SELECT coalesce({}, '-') AS row, node, state, round(iif(gpu_milli > "
                                                "0, gpu_used_milli * 1.0 / gpu_milli, "
                                                "iif(cpu_milli > 0, cpu_used_milli * 1.0 / cpu_milli, 0)), 4) AS full, "
                                                "gpu_used_milli / 1000.0 AS gpus_used, devices "
                                                "FROM node_usage ORDER BY 1, node_id",
                                                by)));
  std::vector<HeatRow> rows;
  for (const std::vector<Cell>& row : table.rows) {
    const std::string& label = std::get<std::string>(row[0]);
    if (rows.empty() || rows.back().label != label) rows.push_back({.label = label, .cells = {}});
    rows.back().cells.push_back({.full = std::get<double>(row[3]), .mark = node_mark(std::get<std::string>(row[2]))});
  }
  Output output;
  const std::vector<HeatMark> marks = {{'d', "draining"}, {'D', "drained"}, {'!', "down"}, {'b', "booting"}};
  if (rows.empty()) {
    output.add_note("the cluster has no nodes; CREATE NODES adds some");
  } else {
    output.add_chart(draw_heat_map(rows, marks, chart_style(session.display)));
  }
  output.add(std::move(table), Audience::kPrograms);
  return output;
}

constexpr CommandRow kMapRows[] = {
    {.family = "show",
     .syntax = "SHOW MAP [BY {RACK | POOL | TYPE}]",
     .effect = Effect::kReads,
     .handler = show_map,
     .summary = "The cluster as a heat map: one cell a node, one row a rack, shaded by how much of its GPUs (or CPU) "
                "is allocated.",
     .example = "SHOW MAP BY POOL"},
};

}  // namespace

std::span<const CommandRow> map_commands() { return kMapRows; }

}  // namespace berth
