// Statements whose n-th allocation fails, for one n after the other: each ends with an error, leaves the database as it
// was or as it says, and the next attempt works. Functions of ours that SQLite and Lua call are among those that fail.

#include <fmt/format.h>

#include <cstdlib>
#include <new>

#include "shell/commands.h"
#include "shell/session_factory.h"
#include "tests/unit/store/store_fixture.h"

namespace {

thread_local std::int64_t allocations_left = -1;  // until one fails; negative = none does

void* allocate_or_null(std::size_t size) {
  if (allocations_left >= 0 && allocations_left-- == 0) return nullptr;
  return std::malloc(size == 0 ? 1 : size);
}

void* allocate(std::size_t size) {
  void* const block = allocate_or_null(size);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate_or_null(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return allocate_or_null(size); }
void operator delete(void* block) noexcept { std::free(block); }
void operator delete[](void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
void operator delete[](void* block, std::size_t) noexcept { std::free(block); }

namespace berth::test {
namespace {

class NoMemory : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    session_ = must_have(open_session({.database = path(), .env = &env_, .seed = 7, .actor = "tester"}));
    must_run(
        "CREATE DEVICE MODEL A100 WITH (memory = 80GiB); CREATE NODE TYPE box WITH (devices = 4, device_model = A100, "
        "cpu = 32, memory = 256GiB); CREATE NODES n[1-4] TYPE box; CREATE QUEUE train; "
        "ALTER QUEUE train SET QUOTA (A100 = 16)");
  }

  void must_run(const std::string& statements) {
    std::string_view rest = statements;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find("; "), rest.size());
      const Result<Output> output = execute(*session_, rest.substr(0, end));
      EXPECT_TRUE(output.ok()) << rest.substr(0, end) << ": " << output.status().message();
      rest.remove_prefix(std::min(rest.size(), end + 2));
    }
  }

  // Fails its first allocation, then a later one, until it has enough. Returns how often it failed; "{}" is the
  // attempt's number, for what failed may have been the answer alone.
  int fail_often(const std::string& statement) {
    int attempts = 0;
    int failures = 0;
    for (std::int64_t failing = 0;; failing += 1 + failing / 16) {
      const std::string numbered = fmt::format(fmt::runtime(statement), attempts++);
      allocations_left = failing;
      const Result<Output> output = execute(*session_, numbered);
      const bool has_failed = allocations_left < 0;
      allocations_left = -1;
      if (output.ok()) {
        if (!has_failed) return failures;
        continue;  // it could do without
      }
      ++failures;
      EXPECT_TRUE(has_failed) << statement << ": " << output.status().message();
      EXPECT_NE(output.status().message().find("not enough memory"), std::string::npos)
          << statement << ", allocation " << failing << ": " << output.status().message();
      if (HasFailure()) return failures;
    }
  }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }

  ManualEnv env_{Seconds(1000)};
  std::unique_ptr<Session> session_;
};

TEST_F(NoMemory, StatementsThatChangeAndThoseThatAsk) {
  EXPECT_GT(fail_often("SUBMIT JOB j{} IN QUEUE train WITH (gpus = 2, tasks = 2, time_limit = 1h)"), 20);
  EXPECT_GT(fail_often("ALTER QUEUE train SET QUOTA (A100 = 8)"), 20);
  EXPECT_GT(fail_often("SHOW JOBS"), 20);
  EXPECT_GT(fail_often("SELECT name, state FROM as_of('jobs', 'now')"), 20);
  must_run("CHECK");
}

TEST_F(NoMemory, ARoundWithAPolicyInLua) {
  const std::string policy = write("p.lua", "function order(job) return -job.id end");
  must_run(fmt::format("CREATE POLICY mine FROM '{}'; SET order_policy = mine", policy));
  for (int i = 0; i < 3; ++i)
    must_run(fmt::format("SUBMIT JOB j{} IN QUEUE train WITH (gpus = 2, time_limit = 1h)", i));
  EXPECT_GT(fail_often("RUN SCHEDULE"), 20);
  must_run("CHECK");
}

TEST_F(NoMemory, AScriptThatAsksAndChanges) {
  const std::string script = write("s.lua",
                                   "berth.what_if(function()\n"
                                   "  berth.exec(\"CREATE QUEUE other\")\n"
                                   "  for _, row in ipairs(berth.query('SELECT name FROM queues')) do\n"
                                   "    print(row.name)\n"
                                   "  end\n"
                                   "end)\n"
                                   "local fine, said = pcall(function() return berth.qeury end)\n"
                                   "if fine or not said:find('query') then error(said, 0) end\n");
  EXPECT_GT(fail_often(fmt::format("RUN SCRIPT '{}'", script)), 20);
  must_run("CHECK");
}

}  // namespace
}  // namespace berth::test
