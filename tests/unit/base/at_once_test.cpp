#include "engine/base/at_once.h"

#include <gtest/gtest.h>

#include <new>

namespace berth {
namespace {

TEST(AtOnce, EveryItemIsWorkedOnOnce) {
  for (const std::size_t most : std::initializer_list<std::size_t>{0, 1, 3, 200}) {
    std::vector<std::atomic<int>> times(100);
    for_each_at_once(times.size(), most, [&](std::size_t i) { ++times[i]; });
    for (const std::atomic<int>& each : times) EXPECT_EQ(each, 1);
  }
  for_each_at_once(0, 4, [](std::size_t) { FAIL(); });
}

TEST(AtOnce, WhatAThreadThrowsIsThrownToTheCaller) {
  std::atomic<int> begun = 0;
  const auto body = [&](std::size_t i) {
    ++begun;
    if (i == 3) throw std::bad_alloc();
  };
  EXPECT_THROW(for_each_at_once(100, 4, body), std::bad_alloc);
  EXPECT_GE(begun, 4);
}

}  // namespace
}  // namespace berth
