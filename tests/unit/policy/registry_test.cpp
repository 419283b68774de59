#include "engine/policy/registry.h"

#include <gtest/gtest.h>

#include <set>

namespace berth {
namespace {

TEST(RegistryTest, EveryRowIsCompleteAndMakes) {
  const Cluster cluster;
  const ScoreInput input{.cluster = &cluster, .workload = {}};
  std::set<std::pair<PolicyKind, std::string_view>> names;
  for (const PolicyRow& row : all_policies()) {
    EXPECT_TRUE(names.insert({row.kind, row.name}).second) << row.name << " twice";
    EXPECT_FALSE(row.summary.empty()) << row.name;
    EXPECT_EQ(row.summary.back(), '.') << row.name;
    EXPECT_FALSE(row.source.empty()) << row.name;
    switch (row.kind) {
      case PolicyKind::kOrder: EXPECT_TRUE(make_order(row.name).ok()) << row.name; break;
      case PolicyKind::kScore: EXPECT_TRUE(make_score(row.name, input).ok()) << row.name; break;
      case PolicyKind::kFilter:
      case PolicyKind::kVictim:
      case PolicyKind::kAdmit: ADD_FAILURE() << row.name << ": only scripts are of this kind"; break;
      case PolicyKind::kRightsize: EXPECT_TRUE(make_rightsize(row.name, {}).ok()) << row.name; break;
    }
    EXPECT_TRUE(check_policy_name(row.kind, row.name).ok());
  }
}

TEST(RegistryTest, UnknownNamesGetTheNearest) {
  const Status status = check_policy_name(PolicyKind::kScore, "best_fti");
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_EQ(status.message(), "no score policy named 'best_fti'");
  EXPECT_EQ(status.hint(), "did you mean 'best_fit'?");
  EXPECT_EQ(check_policy_name(PolicyKind::kOrder, "fgd").code(), Code::kNotFound);
  EXPECT_TRUE(check_policy_name(PolicyKind::kOrder, "zzzzzzzz").hint().starts_with("known: priority, fifo, "));
  EXPECT_TRUE(check_policy_name(PolicyKind::kOrder, "FIFO").ok());
}

}  // namespace
}  // namespace berth
