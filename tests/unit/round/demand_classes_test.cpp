#include "engine/round/demand_classes.h"

#include <gtest/gtest.h>

#include "tests/builders.h"

namespace berth::test {
namespace {

TEST(DemandClasses, JobsThatAskForTheSameShareOne) {
  Cluster cluster = cluster_from("1x8:A100");
  Job job = job_from("gpus=2", 1, cluster);
  DemandClasses classes;
  const std::size_t first = classes.of(job, MayEvict::kNobody);
  job.id = 2;
  EXPECT_EQ(classes.of(job, MayEvict::kNobody), first);
  EXPECT_NE(classes.of(job, MayEvict::kAll), first);
  EXPECT_NE(classes.of(job, MayEvict::kOfItsQueue), classes.of(job, MayEvict::kAll));
  job.groups[0].shape.gpu_count = 3;
  EXPECT_NE(classes.of(job, MayEvict::kNobody), first);
}

TEST(DemandClasses, WhomItWasEvictedForIsAJobsOwnMatter) {
  Cluster cluster = cluster_from("1x8:A100");
  Job first = job_from("gpus=2", 1, cluster);
  first.eviction.evicted_for = {9};
  Job second = first;
  second.id = 2;
  DemandClasses classes;
  EXPECT_NE(classes.of(first, MayEvict::kAll), classes.of(second, MayEvict::kAll));
  EXPECT_EQ(classes.of(first, MayEvict::kNobody), classes.of(second, MayEvict::kNobody));
}

TEST(DemandClasses, KindsOutliveClasses) {
  Cluster cluster = cluster_from("1x8:A100");
  const Job small = job_from("gpus=2", 1, cluster);
  Job large = job_from("gpus=3", 2, cluster);
  DemandClasses classes;
  const std::size_t kind = classes.kind_of(small);
  const std::size_t of_large = classes.of(large, MayEvict::kNobody);
  EXPECT_NE(classes.of(kind, small, MayEvict::kNobody), of_large);
  classes.forget_classes();
  EXPECT_EQ(classes.of(large, MayEvict::kNobody), 0u);
  EXPECT_EQ(classes.kind_of(small), kind);
  large.after = {1};
  EXPECT_NE(classes.of(large, MayEvict::kNobody), 0u);
}

TEST(FailedDemands, CountUntilTheNextEviction) {
  FailedDemands failed;
  EXPECT_FALSE(failed.find(3, 0).has_value());
  failed.note(3, 0, 17);
  EXPECT_EQ(failed.find(3, 0), 17u);
  EXPECT_FALSE(failed.find(2, 0).has_value());
  EXPECT_FALSE(failed.find(3, 1).has_value());
}

}  // namespace
}  // namespace berth::test
