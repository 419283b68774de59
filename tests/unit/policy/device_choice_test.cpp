#include "engine/policy/device_choice.h"

#include <gtest/gtest.h>

#include <bit>
#include <tuple>

#include "engine/base/env.h"
#include "engine/policy/best_fit_score.h"
#include "tests/builders.h"

namespace berth::test {
namespace {

NodeKind kind_with(std::string_view links, int devices) {
  NodeKind kind;
  kind.device_count = devices;
  kind.link_groups = must(read_link_groups(links, devices));
  return kind;
}

std::string chosen(std::string_view links, int devices, std::string_view free, int count) {
  return print_device_mask(choose_linked_devices(kind_with(links, devices), must(read_device_mask(free)), count));
}

TEST(DeviceChoiceTest, LowestDevicesWithoutLinkGroups) {
  EXPECT_EQ(chosen("", 8, "0-7", 3), "0-2");
  EXPECT_EQ(chosen("", 8, "1,4,6-7", 2), "1,4");
}

TEST(DeviceChoiceTest, TakesTheTightestGroup) {
  const char* quads = "[0 1 2 3][4 5 6 7]";
  EXPECT_EQ(chosen(quads, 8, "0-7", 2), "0-1");
  EXPECT_EQ(chosen(quads, 8, "0-6", 2), "4-5") << "the quad that is broken already";
  EXPECT_EQ(chosen(quads, 8, "0-6", 4), "0-3");
  EXPECT_EQ(chosen(quads, 8, "0-7", 8), "0-7");
  const char* nested = "[[0 1][2 3]][[4 5][6 7]]";
  EXPECT_EQ(chosen(nested, 8, "0-7", 1), "0");
  EXPECT_EQ(chosen(nested, 8, "0-5,7", 1), "7") << "the pair that is broken already";
  EXPECT_EQ(chosen(nested, 8, "1-7", 2), "2-3") << "a whole pair of the broken quad";
  EXPECT_EQ(chosen(nested, 8, "1-7", 3), "1-3");
  EXPECT_EQ(chosen(nested, 8, "0-7", 6), "0-5") << "a quad, then a pair";
  EXPECT_EQ(chosen(nested, 8, "0-5,7", 5), "0-3,7") << "a quad, then the lone device";
}

TEST(DeviceChoiceTest, DevicesOutsideAllGroupsGoFirst) {
  EXPECT_EQ(chosen("[0 1][2 3]", 5, "0-4", 1), "4");
  EXPECT_EQ(chosen("[0 1][2 3]", 5, "0-4", 3), "0-1,4");
}

TEST(DeviceChoiceTest, OfAWholeNode) {
  Cluster cluster = cluster_from("1x4:H100 links=[0 1][2 3]; 1x0");
  Ledger ledger(cluster);
  const BestFitScore policy;
  const auto choose = [&](const char* task, NodeIndex node = 0, bool within = false) {
    TaskShape shape = group_from(task, cluster).shape;
    shape.within_link_group = within;
    return choose_devices(ledger.view(node), shape, policy);
  };
  EXPECT_EQ(choose("cpu=1", 1), DeviceMask{0});
  EXPECT_EQ(choose("gpus=1", 1), std::nullopt);
  EXPECT_EQ(choose("gpus=2"), DeviceMask{0b11});
  ASSERT_TRUE(ledger.place(holding_for(group_from("gpus=0.6", cluster).shape, cluster.kinds[0], 0, 0b0100)).ok());
  EXPECT_EQ(choose("gpus=0.3"), DeviceMask{0b0100}) << "best fit";
  EXPECT_EQ(choose("gpus=0.5"), DeviceMask{0b0001});
  EXPECT_EQ(choose("gpus=1"), DeviceMask{0b1000});
  ASSERT_TRUE(ledger.place(holding_for(group_from("gpus=1", cluster).shape, cluster.kinds[0], 0, 0b0001)).ok());
  EXPECT_EQ(choose("gpus=2", 0, true), std::nullopt) << "two are free, in two groups";
  EXPECT_EQ(choose("gpus=2"), DeviceMask{0b1010});
}

// What the rule promises, by enumeration: the choice lies inside the tightest of all groups that have enough.
void check_choice(const NodeKind& kind, DeviceMask free, int count) {
  const DeviceMask chosen = choose_linked_devices(kind, free, count);
  ASSERT_EQ(chosen & ~free, 0U);
  ASSERT_EQ(std::popcount(chosen), count);
  DeviceMask tightest = 0;
  for (const DeviceMask group : kind.link_groups) {
    const auto measure = [&](DeviceMask g) {
      return std::tuple(std::popcount(g & free), std::popcount(g), std::countr_zero(g));
    };
    if (std::popcount(group & free) < count) continue;
    if (tightest == 0 || measure(group) < measure(tightest)) tightest = group;
  }
  DeviceMask grouped = 0;
  for (const DeviceMask group : kind.link_groups) grouped |= group;
  if (count == 1 && (free & ~grouped) != 0) {
    ASSERT_EQ(chosen & grouped, 0U) << "a device outside all groups is free";
  } else if (tightest != 0) {
    ASSERT_EQ(chosen & ~tightest, 0U);
  } else if (kind.link_groups.empty()) {
    ASSERT_EQ(chosen & ~((chosen & -chosen) - 1) & 0, 0U);
    for (DeviceMask rest = free & ~chosen; rest != 0; rest &= rest - 1) {
      ASSERT_GT(std::countr_zero(rest), static_cast<int>(std::bit_width(chosen)) - 1);
    }
  }
}

TEST(DeviceChoiceTest, AgreesWithEnumerationOnEveryFreeSet) {
  for (const char* links : {"", "[0 1][2 3][4 5][6 7]", "[0 1 2 3][4 5 6 7]", "[[0 1][2 3]][[4 5][6 7]]",
                            "[[0 1] 2 3][4 5 6]", "[[[0 1] 2] 3 4][5 6]"}) {
    const NodeKind kind = kind_with(links, 8);
    for (DeviceMask free = 1; free < 256; ++free) {
      for (int count = 1; count <= std::popcount(free); ++count) {
        SCOPED_TRACE(std::string(links) + " free " + print_device_mask(free) + " count " + std::to_string(count));
        check_choice(kind, free, count);
        if (HasFatalFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace berth::test
