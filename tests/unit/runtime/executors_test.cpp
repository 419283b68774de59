#include "engine/runtime/executors.h"

#include <filesystem>

#include "engine/exec/cluster_identity.h"
#include "engine/store/database_home.h"
#include "tests/unit/runtime/runtime_fixture.h"

namespace berth::test {
namespace {

class ExecutorsTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    EXPECT_OK(change(db(), [](Change& c) {
      ExecutorRecord executor;
      executor.name = "cloud";
      executor.type = "kubernetes";
      executor.options = {{"image", "train"}};
      return create_executor(c, executor);
    }));
  }
  Database& db() { return runtime_->db(); }
  void launch_something() {
    JobRequest request = job("work", {group(1, 1)});
    request.command.command = "true";
    (void)submit(db(), request);
    EXPECT_OK(apply(db(), plan_on(db(), {placement(db(), 1, 0, 0, "a1", 1, group(1, 1), MiB(81920))})));
  }
  Status alter(const std::string& option, const std::string& value) {
    ExecutorRecord executor = must_have(find_executor(db(), "cloud"));
    executor.options[option] = value;
    return change(db(), [&](Change& c) { return change_executor(c, executor); });
  }
  void learn_its_cluster() {
    const std::filesystem::path folder = executors_folder(db()) + "/cloud";
    std::filesystem::create_directories(folder);
    for (const std::filesystem::path& each : {folder.parent_path(), folder})
      std::filesystem::permissions(each, std::filesystem::perms::owner_all);
    EXPECT_OK(check_cluster_identity(folder, {.who = "Kubernetes", .name = "8f6a", .runs = "pods", .hint = ""}));
  }
};

// They are kept as JSON.
TEST_F(ExecutorsTest, TextsThatAreNotUtf8AreRefused) {
  ExecutorRecord executor;
  executor.name = "other";
  executor.type = "local";
  executor.options["folder"] = "/tmp/\xff";
  EXPECT_ERROR(change(db(), [&](Change& c) { return create_executor(c, executor); }), Code::kInvalid, "UTF-8");
  JobCommand command;
  command.command = "true";
  command.environment = {{"NAME", "Ren\xe9"}};
  EXPECT_ERROR(check_command(command), Code::kInvalid, "NAME must be UTF-8");
  command.environment = {{"NAME", std::string("a\0b", 3)}};
  EXPECT_ERROR(check_command(command), Code::kInvalid, "zero byte");
}

TEST_F(ExecutorsTest, AnotherConfigurationIsTakenWhereTheClusterIsKnown) {
  launch_something();
  EXPECT_EQ(alter("kubeconfig", "/etc/hosts").code(), Code::kConflict);
  learn_its_cluster();
  EXPECT_OK(alter("kubeconfig", "/etc/hosts"));
  EXPECT_OK(alter("kubeconfig", ""));  // a wrong one is taken back, though tasks live
  EXPECT_EQ(alter("namespace", "research").code(), Code::kConflict);
}

}  // namespace
}  // namespace berth::test
