// Golden simulations: every *.scenario here, run and compared with the table kept beside it.
//
// A scenario is a sentence or two, then sections [nodes], [jobs] or [arrivals] (Berth's own CSV) and [policies] (a
// policy a line). The golden file shows, per policy, the summary and where every task ran. BERTH_APPROVE=1 rewrites the
// golden files; read the difference.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "engine/base/text.h"
#include "engine/sim/arrivals.h"
#include "engine/sim/timed.h"
#include "engine/sim/trace_model.h"
#include "tests/builders.h"
#include "tests/unit/sim/temporary_file.h"

namespace berth {
namespace {

using test::must;

const std::filesystem::path kFolder = "tests/sim";

std::string read_whole(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
}

// Section name -> its lines.
std::map<std::string, std::string> sections_of(const std::string& text) {
  std::map<std::string, std::string> sections;
  std::string section;
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with('[') && line.ends_with(']')) {
      section = line.substr(1, line.size() - 2);
    } else if (!trim(line).empty()) {
      sections[section] += std::string(line) + "\n";
    }
  }
  return sections;
}

template <class Value>
std::string shown(const std::optional<Value>& value) {
  return value ? fmt::format("{:.1f}", static_cast<double>(*value)) : "-";
}
std::string shown(const std::optional<Seconds>& value) { return value ? fmt::format("{}", value->value()) : "-"; }

std::string tasks_text(const SimulationResult& result) {
  std::string text;
  for (const TaskResult& task : result.tasks) {
    text += fmt::format("  {:<12} {:<10} {:<4} {:<8} {:>6} {:>6}\n", task.task, task_outcome_name(task.state),
                        task.node.empty() ? "-" : task.node, task.devices == 0 ? "-" : print_device_mask(task.devices),
                        shown(task.start), shown(task.end));
  }
  return text;
}

std::string timed_text(const TimedInput& input, std::string_view policy) {
  const PolicyChoice choice = must(read_policy_choice(policy));
  const SimulationResult result = must(simulate_jobs(input, choice, {.seed = 1}));
  const SimulationRow& row = result.row;
  std::string text =
      fmt::format("{}: placed {} of {}, waits mean {} p50 {} p90 {} p99 {}, completion {}, makespan {}, used {} %\n",
                  choice.name(), row.placed, row.tasks, shown(row.wait_mean), shown(row.wait_p50), shown(row.wait_p90),
                  shown(row.wait_p99), shown(row.completion_mean), shown(row.makespan), shown(row.utilisation_pct));
  text += fmt::format("  {:<12} {:<10} {:<4} {:<8} {:>6} {:>6}\n", "task", "state", "node", "devices", "start", "end");
  text += tasks_text(result);
  for (const std::string& sentence : result.infeasible) text += "  " + sentence + "\n";
  for (const UtilisationPoint& point : result.utilisation) {
    text += fmt::format("  at {:>6}: {:>5.1f} % used, {} running, {} waiting\n", point.time.value(),
                        point.allocated_pct, point.running_jobs, point.waiting_jobs);
  }
  return text;
}

std::string arrivals_text(const ArrivalInput& input, std::string_view policy) {
  const PolicyChoice choice = must(read_score_choice(policy));
  const SimulationResult result = must(simulate_arrivals(input, choice.score, {.seed = 1}));
  const SimulationRow& row = result.row;
  std::string text = fmt::format("{}: placed {} of {}, {} % of GPU fragmented in the end\n", choice.name(), row.placed,
                                 row.tasks, shown(row.fragmented_pct));
  for (const TaskResult& task : result.tasks) {
    text += fmt::format("  {:<12} {:<10} {:<4} {}\n", task.task, task_outcome_name(task.state),
                        task.node.empty() ? "-" : task.node, task.devices == 0 ? "-" : print_device_mask(task.devices));
  }
  for (const CurvePoint& point : result.curves) {
    text += fmt::format("  at {:>3} % arrived: {:>6.2f} % allocated, {} % fragmented\n", point.arrived_pct,
                        point.allocated_pct, shown(point.fragmented_pct));
  }
  return text;
}

std::string outcome_of(const std::filesystem::path& scenario) {
  std::map<std::string, std::string> sections = sections_of(read_whole(scenario));
  const test::TemporaryFile nodes(sections["nodes"], "nodes.csv");
  const bool only_arrive = sections.contains("arrivals");
  const test::TemporaryFile jobs(sections[only_arrive ? "arrivals" : "jobs"], "jobs.csv");
  const Cluster cluster = must(cluster_from(must(read_trace_nodes("berth", nodes.path())).records));
  const std::vector<TraceJob> records = must(read_trace_jobs("berth", jobs.path())).records;
  std::string text;
  for (const std::string_view policy : split(trim(sections["policies"]), '\n')) {
    if (!text.empty()) text += "\n";
    if (only_arrive) {
      text += arrivals_text(must(arrivals_from(cluster, records)), policy);
    } else {
      text += timed_text(must(timed_from(cluster, [&] { return Result(read_from(records)); })), policy);
    }
  }
  return text;
}

class Scenario : public testing::TestWithParam<std::string> {};

TEST_P(Scenario, EndsAsItAlwaysDid) {
  const std::filesystem::path scenario = kFolder / (GetParam() + ".scenario");
  const std::filesystem::path golden = kFolder / (GetParam() + ".golden");
  const std::string outcome = outcome_of(scenario);
  EXPECT_EQ(outcome, outcome_of(scenario)) << "the same input and seed gave different bytes";
  if (std::getenv("BERTH_APPROVE") != nullptr) std::ofstream(golden, std::ios::binary) << outcome;
  EXPECT_EQ(outcome, read_whole(golden)) << "if this is right: BERTH_APPROVE=1 ctest -R sim_scenario_test";
}

std::vector<std::string> scenario_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".scenario") names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Golden, Scenario, testing::ValuesIn(scenario_names()),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace berth
