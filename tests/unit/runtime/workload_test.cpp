// The typical workload without jobs, as a counterfactual needs it, is what planning sees once they have ended.
#include <fmt/format.h>

#include "engine/runtime/round_driver.h"
#include "tests/unit/runtime/runtime_fixture.h"

namespace berth::test {
namespace {

class WorkloadWithoutJobs : public RuntimeTest {
 protected:
  Loaded load_now() { return must_have(load_for_planning(*runtime_, {.now = runtime_->now(), .also_job = {}})); }
  static std::vector<std::pair<std::int64_t, double>> milli_and_popularity(const std::vector<WorkloadShape>& workload) {
    std::vector<std::pair<std::int64_t, double>> rows;
    for (const WorkloadShape& each : workload) rows.emplace_back(each.shape.gpu_total().value(), each.popularity);
    return rows;
  }
};

TEST_F(WorkloadWithoutJobs, IsThatOfTheRoundAfterTheirEnd) {
  EXPECT_OK(runtime_
                ->change([&](Change& change) -> Status {
                  BERTH_ASSIGN(Submitter submitter, Submitter::make(change));
                  for (int gpus = 1; gpus <= 3; ++gpus) {
                    for (int i = 0; i < gpus; ++i) {
                      const JobRequest wanted = job(fmt::format("j{}-{}", gpus, i), {group(1, gpus)});
                      BERTH_TRY(submitter.submit(wanted).status());
                    }
                  }
                  return submitter.finish();
                })
                .status());
  (void)must_have(run_round(*runtime_));
  Loaded before = load_now();
  ASSERT_GE(before.snapshot.running.size(), 4u);
  std::vector<const RunningJob*> ended;
  while (ended.size() < 3) {
    ended.push_back(&before.snapshot.running[ended.size()]);
    const std::int64_t last = ended.back()->job.id;
    const std::vector<WorkloadShape> without = workload_then(before, ended, {}, {});
    EXPECT_OK(runtime_->change([&](Change& change) { return end_job(change, last, JobState::kFinished); }).status());
    EXPECT_EQ(milli_and_popularity(without), milli_and_popularity(load_now().snapshot.workload));
  }
}

}  // namespace
}  // namespace berth::test
