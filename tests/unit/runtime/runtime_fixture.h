// A runtime on the small cluster of the store's tests, with a clock that stands still.
#pragma once

#include <memory>

#include "engine/runtime/runtime.h"
#include "tests/unit/store/store_fixture.h"

namespace berth::test {

class RuntimeTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    Database db = open();
    fill(db);
    runtime_ = must_have(Runtime::open({.database = path(), .actor = "tester", .env = &env_, .seed = {}}));
  }

  ManualEnv env_{Seconds(1800000000)};
  std::unique_ptr<Runtime> runtime_;
};

}  // namespace berth::test
