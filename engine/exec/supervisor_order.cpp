// The order as CBOR: a command may hold bytes that are no UTF-8.
#include <nlohmann/json.hpp>

#include "engine/exec/supervisor.h"

namespace berth {

std::string print_order(const SupervisorOrder& order) {
  nlohmann::json tasks = nlohmann::json::array();
  for (const SupervisedTask& task : order.tasks) {
    tasks.push_back({task.key, task.folder, task.done_file, task.command, task.directory, task.environment,
                     task.time_limit.value(), task.cpu.value(), task.memory.value()});
  }
  std::string text;
  nlohmann::json::to_cbor(nlohmann::json::array({order.list, static_cast<int>(order.limits), order.cgroups,
                                                 order.grace.value(), std::move(tasks)}),
                          text);
  return text;
}

std::optional<SupervisorOrder> read_order(std::string_view text) {
  const nlohmann::json all = nlohmann::json::from_cbor(text, true, false);
  if (!all.is_array() || all.size() != 5) return std::nullopt;
  SupervisorOrder order;
  order.list = all[0].get<std::string>();
  order.limits = static_cast<LimitKind>(all[1].get<int>());
  order.cgroups = all[2].get<std::string>();
  order.grace = Seconds(all[3].get<std::int64_t>());
  for (const nlohmann::json& each : all[4]) {
    order.tasks.push_back({each[0].get<std::string>(), each[1].get<std::string>(), each[2].get<std::string>(),
                           each[3].get<std::string>(), each[4].get<std::string>(),
                           each[5].get<std::vector<std::string>>(), Seconds(each[6].get<std::int64_t>()),
                           MilliCpu(each[7].get<std::int64_t>()), MiB(each[8].get<std::int64_t>())});
  }
  return order;
}

}  // namespace berth
