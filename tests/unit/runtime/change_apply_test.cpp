// Plans of changes: what they were planned on has to be the same when they are applied.
#include "engine/runtime/change_apply.h"

#include <fmt/format.h>

#include <fstream>

#include "engine/runtime/change_plan.h"
#include "engine/store/queue_records.h"
#include "tests/unit/runtime/runtime_fixture.h"

namespace berth::test {
namespace {

class ChangeApply : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    file_ = path() + ".csv";
    write("name\nvision\n");
  }

  void write(std::string_view text) const { std::ofstream(file_) << text; }
  Status make(int changes = 1) {
    for (int i = 0; i < changes; ++i) {
      BERTH_TRY(
          runtime_->change([&](Change& change) { return add_queue(change, {fmt::format("vision{}", i)}); }).status());
    }
    return {};
  }
  ChangeOutlook plan(int changes = 1) {
    const PlannedStatement statement =
        must_have(planned_statement("CREATE QUEUE vision0", "CREATE QUEUE vision0", {file_}));
    return must_have(outlook_of_change(*runtime_, statement, [&] { return make(changes); }));
  }
  Result<RoundReport> apply(std::int64_t id, int changes = 1) {
    return apply_saved_change(*runtime_, must_have(load_plan(runtime_->db(), id)), [&] { return make(changes); });
  }
  std::int64_t queues() { return must_have(runtime_->db().integer("SELECT count(*) FROM queues")); }

  std::string file_;
};

TEST_F(ChangeApply, RefusedWhenAFileItReadsHasChanged) {
  const std::int64_t before = queues();
  const std::int64_t id = plan().plan;
  EXPECT_EQ(queues(), before);
  write("name\nspeech\n");
  EXPECT_ERROR(apply(id).status(), Code::kConflict, "has changed since the plan was made");
  EXPECT_EQ(queues(), before);
  write("name\nvision\n");
  EXPECT_OK(apply(id).status());
  EXPECT_EQ(queues(), before + 1);
  EXPECT_EQ(must_have(runtime_->db().text("SELECT statement FROM events WHERE kind = 'create queue' "
                                          "ORDER BY id DESC LIMIT 1")),
            fmt::format("CREATE QUEUE vision0 (plan {})", id));
}

TEST_F(ChangeApply, OnlyAStatementOfOneChangeIsKept) {
  EXPECT_EQ(plan(0).not_kept, "the statement changes nothing");
  EXPECT_EQ(plan(2).not_kept, "the statement makes several changes");
  const std::int64_t before = queues();
  const std::int64_t id = plan(1).plan;
  EXPECT_ERROR(apply(id, 0).status(), Code::kConflict, "changes nothing any more");
  EXPECT_EQ(queues(), before);
}

TEST_F(ChangeApply, TheWholeIsTakenBackWhenTheStatementIsRefused) {
  const std::int64_t id = plan().plan;
  const std::int64_t before = queues();
  const Result<RoundReport> report = apply_saved_change(
      *runtime_, must_have(load_plan(runtime_->db(), id)),
      [&]() -> Status { return runtime_->change([](Change&) { return Status(Code::kInvalid, "no more"); }).status(); });
  EXPECT_ERROR(report.status(), Code::kInvalid, "no more");
  EXPECT_EQ(queues(), before);
  EXPECT_EQ(must_have(runtime_->db().integer("SELECT count(*) FROM rounds")), 0);
  EXPECT_OK(make());  // and changes are made again as ever
  EXPECT_EQ(queues(), before + 1);
}

TEST_F(ChangeApply, WhoWasSlowerIsToldSo) {
  const SavedPlan saved = must_have(load_plan(runtime_->db(), plan().plan));
  EXPECT_OK(apply_saved_change(*runtime_, saved, [&] { return make(); }).status());
  const Result<RoundReport> slower = apply_saved_change(*runtime_, saved, [&] { return make(); });
  EXPECT_ERROR(slower.status(), Code::kConflict, fmt::format("plan {} was applied before", saved.id));
}

TEST_F(ChangeApply, WhatOthersChangedMeanwhileIsWhyTheStatementIsRefused) {
  const SavedPlan saved = must_have(load_plan(runtime_->db(), plan().plan));
  const auto other = must_have(Runtime::open({.database = path(), .actor = "other", .env = &env_, .seed = {}}));
  const Result<RoundReport> report = apply_saved_change(*runtime_, saved, [&]() -> Status {
    BERTH_TRY(other->change([](Change& change) { return add_queue(change, {"vision0"}); }).status());
    return make();
  });
  EXPECT_ERROR(report.status(), Code::kConflict, "create queue vision0 by other");
  EXPECT_ERROR(report.status(), Code::kConflict, "the state has moved since the plan was made");
}

}  // namespace
}  // namespace berth::test
