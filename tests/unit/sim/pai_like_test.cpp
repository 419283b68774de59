// The generated workload has the published figures, whatever the seed.
#include "engine/sim/pai_like.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "engine/model/hash.h"
#include "engine/sim/berth_trace.h"
#include "engine/sim/pai_like_cluster.h"

namespace berth {
namespace {

// Values with weights, for quantiles and shares.
class Weighed {
 public:
  void add(double value, std::int64_t weight) {
    values_[value] += weight;
    total_ += weight;
  }
  double quantile(double p) const {
    std::int64_t below = 0;
    for (const auto& [value, weight] : values_) {
      below += weight;
      if (static_cast<double>(below) >= p * static_cast<double>(total_)) return value;
    }
    return NAN;
  }
  double percent_above(double limit) const {
    std::int64_t above = 0;
    for (auto at = values_.upper_bound(limit); at != values_.end(); ++at) above += at->second;
    return 100 * static_cast<double>(above) / static_cast<double>(total_);
  }

 private:
  std::map<double, std::int64_t> values_;
  std::int64_t total_ = 0;
};

// What the published statistics speak of, over the instances of a workload.
struct Figures {
  Weighed gpus, cores, memory, duration, gang, gang_gpus;
  Weighed gpu_use, core_use, memory_use;     // amounts
  Weighed gpu_part, core_part, memory_part;  // of the request
  std::map<std::string, std::int64_t> of_user;
  std::map<std::string, std::vector<double>> of_tag;  // durations in order of submission
  std::map<std::string, std::int64_t> gang_of_tag;
  std::int64_t instances = 0;
};

double gib(MiB amount) { return static_cast<double>(amount.value()) / 1024; }

Figures figures_of(const PaiLikeTrace& trace) {
  Figures made;
  for (std::int64_t j = 0; j < trace.jobs(); ++j) {
    const TraceJob job = trace.job(j);
    const TraceTaskGroup& task = job.groups.at(0);
    const std::int64_t n = task.tasks;
    const double devices = static_cast<double>(task.gpu_count * task.gpu_milli.value()) / 1000;
    const double cores = static_cast<double>(task.cpu.value()) / 1000;
    const double used_cores = static_cast<double>(task.usage.cpu_mean->value()) / 1000;
    made.instances += n;
    made.gang.add(static_cast<double>(n), n);
    made.gang_gpus.add(static_cast<double>(n) * devices, n);
    made.gpus.add(devices, n);
    made.cores.add(cores, n);
    made.memory.add(gib(task.memory), n);
    made.duration.add(static_cast<double>(job.duration->value()), n);
    made.core_use.add(used_cores, n);
    made.core_part.add(used_cores / cores, n);
    made.memory_use.add(gib(*task.usage.memory_peak), n);
    made.memory_part.add(gib(*task.usage.memory_peak) / gib(task.memory), n);
    if (task.gpu_count > 0) {
      const double used = static_cast<double>(task.usage.gpu_mean->value() * task.gpu_count) / 1000;
      made.gpu_use.add(used, n);
      made.gpu_part.add(used / devices, n);
    }
    made.of_user[job.user] += n;
    made.of_tag[job.tag].push_back(static_cast<double>(job.duration->value()));
    made.gang_of_tag[job.tag] = n;
  }
  return made;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

// Percent of the instances of recurring jobs that a predictor meets within 25 % of what they took: by the median of all
// runs of the group, or of the earlier ones (three at least).
struct Predicted {
  double knowing = 0;
  double learning = 0;
};
Predicted predicted(const Figures& figures) {
  double all = 0;
  double learnt = 0;
  Predicted hit;
  for (const auto& [tag, durations] : figures.of_tag) {
    if (durations.size() < 5) continue;
    const auto weight = static_cast<double>(figures.gang_of_tag.at(tag));
    const double known = median(durations);
    std::vector<double> before;
    for (const double took : durations) {
      all += weight;
      if (std::abs(known - took) < 0.25 * took) hit.knowing += weight;
      if (before.size() >= 3) {
        learnt += weight;
        const std::size_t from = before.size() > 20 ? before.size() - 20 : 0;
        const double guess = median({before.begin() + static_cast<std::ptrdiff_t>(from), before.end()});
        if (std::abs(guess - took) < 0.25 * took) hit.learning += weight;
      }
      before.push_back(took);
    }
  }
  hit.knowing *= 100 / all;
  hit.learning *= 100 / learnt;
  return hit;
}

class PaiLikeFigures : public testing::TestWithParam<std::uint64_t> {};

TEST_P(PaiLikeFigures, AreThePublishedOnes) {
  const PaiLikeTrace trace({.seed = GetParam(), .jobs = 50000, .gpus = kPaiPublishedGpus});
  const Figures figures = figures_of(trace);
  const PaiLikeSummary summary = trace.summary();
  EXPECT_EQ(summary.instances, figures.instances);
  // 7.5 million instances of 1.2 million tasks.
  EXPECT_NEAR(static_cast<double>(figures.instances) / 50000, 6.25, 0.8);
  EXPECT_NEAR(summary.recurring_jobs, 65, 1);
  EXPECT_NEAR(summary.gang_instances, 85, 1);
  EXPECT_NEAR(summary.top_user_instances, 77, 1);
  EXPECT_NEAR(figures.gang.percent_above(1), 85, 1);
  EXPECT_NEAR(figures.gang_gpus.percent_above(100), 20, 5);
  // Requests.
  EXPECT_EQ(figures.gpus.quantile(0.5), 0.5);
  EXPECT_EQ(figures.gpus.quantile(0.95), 1);
  EXPECT_GT(figures.gpus.percent_above(1), 0.5);
  EXPECT_EQ(figures.cores.quantile(0.5), 6);
  EXPECT_EQ(figures.cores.quantile(0.95), 12);
  EXPECT_EQ(figures.memory.quantile(0.5), 29);
  EXPECT_EQ(figures.memory.quantile(0.95), 59);
  // Use, and how many need more than they asked for (memory and GPU: stand at their limit).
  EXPECT_NEAR(figures.core_use.quantile(0.5), 1.4, 0.2);
  EXPECT_NEAR(figures.memory_use.quantile(0.5), 3.5, 0.5);
  EXPECT_NEAR(figures.gpu_use.quantile(0.5), 0.042, 0.007);
  EXPECT_NEAR(figures.core_part.percent_above(1), 15.5, 1);
  EXPECT_NEAR(figures.memory_part.percent_above(0.999), 4.1, 1.1);  // a group is up to 1 % of the instances
  EXPECT_NEAR(figures.gpu_part.percent_above(0.999), 2.0, 0.5);
  // Durations.
  EXPECT_NEAR(figures.duration.quantile(0.5) / 60, 23, 2);
  EXPECT_NEAR(figures.duration.quantile(0.9) / 3600, 4.5, 0.5);
  EXPECT_GT(figures.duration.quantile(0.999), 2 * 86400);
  const Predicted hits = predicted(figures);
  EXPECT_NEAR(hits.learning, 82, 3);
  EXPECT_GT(hits.knowing, hits.learning);
}

INSTANTIATE_TEST_SUITE_P(Seeds, PaiLikeFigures, testing::Values(1, 7));

TEST(PaiLikeTrace, IsTheSameEverywhere) {
  // Bytes of the files, summed up: the same on every machine and with every compiler.
  const PaiLikeOptions options{.seed = 7, .jobs = 2000};
  const std::string text = berth_nodes_csv(pai_like_nodes(options)) + berth_jobs_csv(pai_like_jobs(options));
  std::uint64_t sum = 0;
  for (const char letter : text) hash_add(sum, static_cast<unsigned char>(letter));
  EXPECT_EQ(sum, 296751648536722774U);
  EXPECT_NE(berth_jobs_csv(pai_like_jobs({.seed = 8, .jobs = 2000})), berth_jobs_csv(pai_like_jobs(options)));
}

TEST(PaiLikeTrace, JobsFitTheirCluster) {
  for (const PaiLikeOptions& options : {PaiLikeOptions{.jobs = 1}, PaiLikeOptions{.seed = 3, .jobs = 3000},
                                        PaiLikeOptions{.jobs = 1000, .gpus = 64, .days = 2}}) {
    const auto counts = pai_machine_counts(pai_like_gpus(options));
    Seconds before;
    for (const TraceJob& job : pai_like_jobs(options)) {
      const TraceTaskGroup& task = job.groups.at(0);
      EXPECT_EQ(pai_room_for(counts, task, task.tasks), task.tasks) << job.name;
      EXPECT_LE(before, job.submit);
      EXPECT_LE(*task.usage.memory_peak, task.memory);
      EXPECT_LE(task.usage.gpu_mean.value_or(MilliGpu(0)), task.gpu_milli);
      EXPECT_LE(*task.usage.cpu_mean, *task.usage.cpu_peak);
      before = job.submit;
    }
  }
}

TEST(PaiLikeNodes, AreThePublishedMachines) {
  const std::vector<TraceNode> nodes = pai_like_nodes({.gpus = kPaiPublishedGpus});
  EXPECT_EQ(nodes.size(), 1897U);
  std::int64_t devices = 0;
  for (const TraceNode& node : nodes) devices += node.devices;
  EXPECT_EQ(devices, kPaiPublishedGpus);
  std::int64_t some = 0;
  for (const TraceNode& node : pai_like_nodes({.gpus = 500})) some += node.devices;
  EXPECT_GE(some, 500);
  EXPECT_LT(some, 508);
}

TEST(PaiLikeOptions, OutOfRangeAreNamed) {
  EXPECT_EQ(check_pai_like({.jobs = 0}).message(), "jobs = 0: expected 1 to 20000000");
  EXPECT_EQ(check_pai_like({.gpus = 8}).message(), "gpus = 8: expected 64 to 1000000");
  EXPECT_TRUE(check_pai_like({}).ok());
}

}  // namespace
}  // namespace berth
