#include <gtest/gtest.h>

#include "engine/base/env.h"
#include "engine/policy/fifo_order.h"
#include "engine/policy/priority_order.h"
#include "engine/policy/smallest_first_order.h"
#include "tests/builders.h"

namespace berth::test {
namespace {

// Job ids in the order of the policy.
std::vector<std::int64_t> ids_in_order(const QueueOrder& policy, const OrderInput& input) {
  std::vector<std::int64_t> ids;
  for (const std::int32_t index : policy.order(input)) ids.push_back(input.jobs[static_cast<std::size_t>(index)].id);
  return ids;
}

OrderInput input_at(std::int64_t now, std::span<const Job> jobs, std::span<const PriorityClass> classes = {},
                    std::int64_t aging_interval = 0) {
  OrderInput input;
  input.now = Seconds(now);
  input.jobs = jobs;
  input.priority_classes = classes;
  input.aging_interval = Seconds(aging_interval);
  return input;
}

std::vector<Job> jobs_from(std::initializer_list<std::string_view> texts) {
  Cluster cluster;
  std::vector<Job> jobs;
  for (const std::string_view text : texts) {
    jobs.push_back(job_from(text, static_cast<std::int64_t>(jobs.size() + 1), cluster));
  }
  return jobs;
}

using Ids = std::vector<std::int64_t>;

TEST(OrdersTest, FifoBySubmitThenId) {
  const std::vector<Job> jobs = jobs_from({"submit=20", "submit=10", "submit=20", "submit=5"});
  EXPECT_EQ(ids_in_order(FifoOrder(), input_at(100, jobs)), (Ids{4, 2, 1, 3}));
  EXPECT_EQ(ids_in_order(FifoOrder(), {}), Ids{});
}

TEST(OrdersTest, SmallestFirstByGpuThenCpu) {
  const std::vector<Job> jobs =
      jobs_from({"gpus=2 tasks=4", "gpus=0.5 cpu=8", "gpus=0.5 cpu=4", "cpu=64", "gpus=1 / gpus=1", "gpus=0.5 cpu=4"});
  EXPECT_EQ(ids_in_order(SmallestFirstOrder(), input_at(0, jobs)), (Ids{4, 3, 6, 2, 5, 1}));
}

TEST(OrdersTest, PriorityByClassThenAge) {
  const std::vector<PriorityClass> classes{{.id = 1, .name = "low", .value = 1}, {.id = 2, .name = "high", .value = 3}};
  const std::vector<Job> jobs = jobs_from({"class=0 submit=0", "class=1 submit=150", "class=1 submit=250", "submit=0"});
  OrderInput input = input_at(300, jobs, classes, 100);
  EXPECT_EQ(ids_in_order(PriorityOrder(), input), (Ids{2, 1, 3, 4})) << "4.5, 4, 3.5, 3";
  input.aging_interval = Seconds(0);
  EXPECT_EQ(ids_in_order(PriorityOrder(), input), (Ids{2, 3, 1, 4})) << "no aging";
}

// The bound that priority_order.h states, on random queues.
TEST(OrdersTest, PriorityNeverStarves) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    std::vector<PriorityClass> classes(4);
    for (PriorityClass& one : classes) one.value = static_cast<std::int64_t>(random.below(10));
    std::vector<Job> jobs(60);
    const std::int64_t interval = 1 + static_cast<std::int64_t>(random.below(500));
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      jobs[i].id = static_cast<std::int64_t>(i);
      jobs[i].submit = Seconds(static_cast<std::int64_t>(random.below(5000)));
      jobs[i].priority_class = static_cast<std::int32_t>(random.below(classes.size()));
    }
    const std::vector<std::int32_t> order = PriorityOrder().order(input_at(5000, jobs, classes, interval));
    const auto value = [&](const Job& job) { return classes[static_cast<std::size_t>(job.priority_class)].value; };
    for (std::size_t behind = 1; behind < order.size(); ++behind) {
      const Job& job = jobs[static_cast<std::size_t>(order[behind])];
      for (std::size_t ahead = 0; ahead < behind; ++ahead) {
        const Job& other = jobs[static_cast<std::size_t>(order[ahead])];
        if (value(other) <= value(job) || other.submit <= job.submit) continue;
        ASSERT_LT((other.submit - job.submit).value(), (value(other) - value(job)) * interval) << "seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace berth::test
