#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/base/text.h"
#include "engine/exec/executor.h"
#include "engine/exec/kubernetes_executor.h"
#include "engine/exec/local_executor.h"
#include "engine/exec/simulated_executor.h"
#include "engine/exec/slurm_executor.h"

namespace berth {

namespace {

constexpr std::array kExecutorTypes = {
    ExecutorType{"local", "this machine: tasks are its processes, and outlive Berth", kLocalExecutorOptions,
                 make_local_executor},
    ExecutorType{"kubernetes", "tasks are pods of a Kubernetes cluster, through kubectl", kKubernetesExecutorOptions,
                 make_kubernetes_executor},
    ExecutorType{"simulated", "nothing really runs: tasks end by themselves after a time, to try things out",
                 kSimulatedExecutorOptions, make_simulated_executor},
    ExecutorType{"slurm", "a Slurm cluster: jobs on exactly the nodes that were planned, by Slurm's own programs",
                 kSlurmExecutorOptions, make_slurm_executor},
};

Status check_option(const ExecutorOption& option, std::string_view value) {
  if (option.kind == "duration") return read_duration(value).status();
  if (option.kind == "integer") return read_integer(value).status();
  if (option.kind == "boolean" && value != "true" && value != "false")
    return Status(Code::kInvalid, fmt::format("'{}' is neither true nor false", value));
  return {};
}

}  // namespace

std::span<const ExecutorType> executor_types() { return kExecutorTypes; }

Result<const ExecutorType*> find_executor_type(std::string_view name) {
  std::vector<std::string> names;
  for (const ExecutorType& type : kExecutorTypes) {
    if (equals_ignoring_case(type.name, name)) return &type;
    names.emplace_back(type.name);
  }
  const std::string near = suggest(name, names);
  return Status(Code::kNotFound, fmt::format("no executor type '{}'", name),
                near.empty() ? "there are " + join(names, ", ") : near)
      .about("type", name);
}

Result<ExecutorOptions> read_executor_options(const ExecutorType& type, const ExecutorOptions& given) {
  ExecutorOptions options;
  std::vector<std::string> names;
  for (const ExecutorOption& option : type.options) {
    options[std::string(option.name)] = option.default_value;
    names.emplace_back(option.name);
  }
  for (const auto& [name, value] : given) {
    const auto row = std::ranges::find(type.options, name, &ExecutorOption::name);
    if (row == type.options.end()) {
      const std::string near = suggest(name, names);
      return Status(Code::kInvalid, fmt::format("executors of type {} have no option '{}'", type.name, name),
                    near.empty() ? "they have " + join(names, ", ") : near)
          .about(name);
    }
    BERTH_TRY(check_option(*row, value).in_option(name));
    options[name] = value;
  }
  return options;
}

}  // namespace berth
