// What the database refuses by itself, when somebody writes with the plain sqlite3 tool: no foreign keys, no engine.

#include <cstdlib>

#include "tests/unit/store/store_fixture.h"

namespace berth::test {
namespace {

class Triggers : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    {
      Database db = open();
      fill(db);
      submit(db, job("j", {group(8, 1)}));
    }
    plain_.emplace(must_have(Database::open(path(), Access::kReadWrite)));
    ASSERT_EQ(must_have(plain_->integer("PRAGMA foreign_keys")), 0);
  }

  // Node 1 is a1: 8 A100 of 80 GiB, 128 cores, 1 TiB.
  Status allocate(int task, std::uint64_t mask, int milli, int gpu_memory = 0, int cpu = 0, int memory = 0,
                  int node = 1) {
    Statement insert =
        must_have(plain_->prepare("INSERT INTO allocations (node_id, job_id, group_index, task_index, "
                                  "device_mask, gpu_milli, gpu_memory_mib, cpu_milli, memory_mib, start_time) "
                                  "VALUES (?1, 1, 0, ?2, ?3, ?4, ?5, ?6, ?7, 0)"));
    return insert.run(node, task, mask, milli, gpu_memory, cpu, memory);
  }

  std::optional<Database> plain_;
};

TEST_F(Triggers, ADeviceHasAThousandMilli) {
  EXPECT_OK(allocate(0, 0b1, 600));
  EXPECT_OK(allocate(1, 0b1, 400));
  EXPECT_ERROR(allocate(2, 0b1, 1), Code::kConflict, "over-allocated: more than 1000 milli-GPU");
  EXPECT_ERROR(allocate(2, 0b11, 1000), Code::kConflict, "over-allocated");
  EXPECT_OK(allocate(2, 0b110, 1000));
  EXPECT_ERROR(allocate(3, 0b100, 1), Code::kConflict, "over-allocated");
  EXPECT_OK(allocate(3, 0b1, 1, 0, 0, 0, 2));  // another node
}

TEST_F(Triggers, PartsAreOfOneDevice) {
  EXPECT_ERROR(allocate(0, 0b11, 500), Code::kConflict, "CHECK constraint");
  EXPECT_ERROR(allocate(0, 0b11, 0), Code::kConflict, "CHECK constraint");
  EXPECT_ERROR(allocate(0, 0, 500), Code::kConflict, "CHECK constraint");
}

TEST_F(Triggers, DeviceMemoryCpuAndMemoryAreBounded) {
  EXPECT_OK(allocate(0, 0b1, 100, 80000, 100000, 1000000));
  EXPECT_ERROR(allocate(1, 0b1, 100, 1921), Code::kConflict, "memory of a device");
  EXPECT_ERROR(allocate(1, 0b10, 100, 0, 28001), Code::kConflict, "CPU of a node");
  EXPECT_ERROR(allocate(1, 0b10, 100, 0, 0, 48577), Code::kConflict, "memory of a node");
  EXPECT_OK(allocate(1, 0b1, 100, 1920, 28000, 48576));
}

TEST_F(Triggers, NodesAndDevicesMustExist) {
  EXPECT_ERROR(allocate(0, 0b1, 100, 0, 0, 0, 99), Code::kConflict, "a node that does not exist");
  EXPECT_ERROR(allocate(0, 0b100000000, 1000), Code::kConflict, "a device that the node does not have");
  EXPECT_ERROR(allocate(0, 0b1, 100, 0, 0, 0, 7), Code::kConflict, "a device that the node does not have");
}

TEST_F(Triggers, ATaskSitsOnOneNode) {
  EXPECT_OK(allocate(0, 0b1, 100));
  EXPECT_ERROR(allocate(0, 0b1, 100, 0, 0, 0, 2), Code::kConflict, "UNIQUE constraint");
}

TEST_F(Triggers, UpdatesAndReplacementsAreLookedAtToo) {
  EXPECT_OK(allocate(0, 0b1, 600));
  EXPECT_OK(allocate(1, 0b10, 600));
  EXPECT_ERROR(plain_->execute("UPDATE allocations SET device_mask = 1"), Code::kConflict, "over-allocated");
  EXPECT_ERROR(plain_->execute("UPDATE allocations SET gpu_milli = 1001 WHERE task_index = 0"), Code::kConflict,
               "CHECK");
  EXPECT_ERROR(plain_->execute("UPDATE allocations SET node_id = 99 WHERE task_index = 0"), Code::kConflict,
               "does not exist");
  EXPECT_ERROR(plain_->execute("REPLACE INTO allocations VALUES (1, 1, 0, 1, 1, 600, 0, 0, 0, 0, NULL)"),
               Code::kConflict, "over-allocated");
  EXPECT_OK(plain_->execute("REPLACE INTO allocations VALUES (1, 1, 0, 1, 1, 400, 0, 0, 0, 0, NULL)"));
}

TEST_F(Triggers, TypesAndModelsCannotShrinkBelowWhatRuns) {
  EXPECT_OK(allocate(0, 0b10000000, 500, 40000, 64000, 500000));
  for (const char* refused :
       {"UPDATE node_types SET cpu_milli = 63999 WHERE id = 1",
        "UPDATE node_types SET memory_mib = 499999 WHERE id = 1", "UPDATE node_types SET device_count = 7 WHERE id = 1",
        "UPDATE node_types SET device_model_id = 2 WHERE id = 1",
        "UPDATE device_models SET memory_mib = 39999 WHERE id = 1", "UPDATE nodes SET type_id = 2 WHERE id = 1",
        "REPLACE INTO node_types VALUES (1, 'a100x8', 1, 1048576, 1, 8, '')",
        "REPLACE INTO device_models (id, name, memory_mib, speed) VALUES (1, 'A100', 1, 1.0)",
        "REPLACE INTO nodes (id, name, type_id) VALUES (1, 'a1', 3)", "DELETE FROM nodes WHERE id = 1",
        "UPDATE nodes SET id = 50 WHERE id = 1", "UPDATE node_types SET id = 50 WHERE id = 1",
        "UPDATE device_models SET id = 50 WHERE id = 1", "DELETE FROM node_types WHERE id = 1"}) {
    EXPECT_EQ(plain_->execute(refused).code(), Code::kConflict) << refused;
  }
  for (const char* accepted :
       {"UPDATE node_types SET cpu_milli = 64000, memory_mib = 500000 WHERE id = 1",
        "UPDATE device_models SET memory_mib = 40000 WHERE id = 1", "UPDATE nodes SET type_id = 2 WHERE id = 2",
        "DELETE FROM nodes WHERE id = 4", "UPDATE node_types SET device_count = 16 WHERE id = 1"}) {
    EXPECT_OK(plain_->execute(accepted));
  }
  Database db = open();
  EXPECT_EQ(must_have(db.integer("SELECT count(*) FROM devices WHERE node_id = 1")), 16);
  EXPECT_EQ(must_have(db.integer("SELECT count(*) FROM devices WHERE node_id = 2")), 4);
  EXPECT_EQ(must_have(db.integer("SELECT count(*) FROM devices WHERE node_id = 4")), 0);
}

TEST_F(Triggers, ModelsWithoutTrackedMemoryTakeAnyAmount) {
  EXPECT_OK(plain_->execute("UPDATE device_models SET memory_mib = 0"));
  EXPECT_OK(allocate(0, 0b1, 500, 999999));
}

// What a task holds of a device's memory would be wrong.
TEST_F(Triggers, TrackingOfDeviceMemoryStaysWhileTasksRun) {
  EXPECT_OK(plain_->execute("INSERT INTO device_models (id, name, memory_mib) VALUES (3, 'M0', 0)"));
  EXPECT_OK(plain_->execute("INSERT INTO node_types VALUES (9, 'm0x8', 128000, 1048576, 3, 8, '')"));
  EXPECT_OK(plain_->execute("UPDATE device_models SET memory_mib = 0 WHERE id = 1"));
  EXPECT_OK(plain_->execute("UPDATE device_models SET memory_mib = 81920 WHERE id = 1"));
  EXPECT_OK(allocate(0, 0b1, 500, 40960));
  for (const char* refused :
       {"UPDATE device_models SET memory_mib = 0 WHERE id = 1",
        "UPDATE node_types SET device_model_id = 3 WHERE id = 1", "UPDATE nodes SET type_id = 9 WHERE id = 1",
        "REPLACE INTO device_models (id, name, memory_mib, speed) VALUES (1, 'A100', 0, 1.0)",
        "REPLACE INTO node_types VALUES (1, 'a100x8', 128000, 1048576, 3, 8, '')",
        "REPLACE INTO nodes (id, name, type_id) VALUES (1, 'a1', 9)"}) {
    EXPECT_ERROR(plain_->execute(refused), Code::kConflict, "whether their memory is tracked cannot change");
  }
  EXPECT_OK(plain_->execute("DELETE FROM allocations; UPDATE device_models SET memory_mib = 0 WHERE id = 1"));
  EXPECT_OK(allocate(0, 0b1, 500));
  EXPECT_ERROR(plain_->execute("UPDATE device_models SET memory_mib = 81920 WHERE id = 1"), Code::kConflict, "tracked");
  EXPECT_ERROR(change(*plain_, [](Change& c) { return alter_device_model(c, "A100", {.memory = MiB(81920)}); }),
               Code::kConflict, "tasks run on devices of the model");
  // Tasks without devices do not mind.
  EXPECT_OK(plain_->execute("UPDATE allocations SET device_mask = 0, gpu_milli = 0"));
  EXPECT_OK(plain_->execute("UPDATE device_models SET memory_mib = 81920 WHERE id = 1"));
}

// INSERT OR REPLACE deletes the row of the same name without telling any trigger of deletion.
TEST_F(Triggers, NamesAreNotTakenFromUnderRunningTasks) {
  EXPECT_OK(allocate(0, 0b1, 500));
  for (const char* refused :
       {"REPLACE INTO nodes (id, name, type_id) VALUES (70, 'a1', 1)",
        "REPLACE INTO nodes (name, type_id) VALUES ('a1', 1)", "UPDATE OR REPLACE nodes SET name = 'a1' WHERE id = 2",
        "REPLACE INTO node_types VALUES (70, 'a100x8', 1, 1, 1, 8, '')",
        "UPDATE OR REPLACE node_types SET name = 'a100x8' WHERE id = 2",
        "REPLACE INTO device_models (id, name, memory_mib, speed) VALUES (70, 'A100', 1, 1.0)",
        "REPLACE INTO device_models (name, memory_mib) VALUES ('A100', 1)",
        "UPDATE OR REPLACE device_models SET name = 'A100' WHERE id = 2"}) {
    EXPECT_ERROR(plain_->execute(refused), Code::kConflict, "of that name");
  }
  EXPECT_ERROR(plain_->execute("DELETE FROM device_models WHERE id = 1"), Code::kConflict,
               "node types have the device");
  EXPECT_OK(plain_->execute("UPDATE nodes SET name = 'renamed' WHERE id = 1"));
  EXPECT_OK(plain_->execute("REPLACE INTO nodes (id, name, type_id) VALUES (71, 'a2', 1)"));
}

TEST_F(Triggers, AmountsAreBoundedWithoutTheChecksToo) {
  EXPECT_OK(plain_->execute("PRAGMA ignore_check_constraints = ON"));
  EXPECT_OK(allocate(0, 0b1, 1000, 0, 100000));
  EXPECT_ERROR(allocate(1, 0b1, -500), Code::kConflict, "an amount that cannot be");
  EXPECT_ERROR(allocate(1, 0b10, 1001), Code::kConflict, "an amount that cannot be");
  EXPECT_ERROR(allocate(1, 0b10, 1, -1), Code::kConflict, "an amount that cannot be");
  EXPECT_ERROR(allocate(1, 0, 0, 0, -1), Code::kConflict, "an amount that cannot be");
  EXPECT_ERROR(allocate(1, 0, 0, 0, 0, -1), Code::kConflict, "an amount that cannot be");
  EXPECT_ERROR(plain_->execute("UPDATE allocations SET cpu_milli = -1"), Code::kConflict, "an amount that cannot be");
}

// The tool itself, where it is installed: 600 and 400 milli of one device fit, one more does not.
TEST_F(Triggers, TheSqlite3ToolIsRefused) {
  if (std::system("command -v sqlite3 >/dev/null 2>&1") != 0) GTEST_SKIP() << "the sqlite3 tool is not installed";
  const auto insert_by_tool = [&](int task, int milli) {
    const std::string sql = "INSERT INTO allocations VALUES (1, 1, 0, " + std::to_string(task) + ", 1, " +
                            std::to_string(milli) + ", 0, 0, 0, 0, NULL)";
    const std::string command = "sqlite3 '" + path() + "' \"" + sql + "\" >'" + path("said") + "' 2>&1";
    return std::system(command.c_str());
  };
  EXPECT_EQ(insert_by_tool(0, 600), 0) << file_content(path("said"));
  EXPECT_EQ(insert_by_tool(1, 400), 0) << file_content(path("said"));
  EXPECT_NE(insert_by_tool(2, 1), 0);
  EXPECT_NE(file_content(path("said")).find("over-allocated"), std::string::npos) << file_content(path("said"));
  EXPECT_EQ(must_have(plain_->integer("SELECT count(*) FROM allocations")), 2);
}

}  // namespace
}  // namespace berth::test
