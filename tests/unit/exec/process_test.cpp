#include "engine/exec/process.h"

#include <gtest/gtest.h>

#include <csignal>

#include "engine/exec/executor.h"
#include "tests/builders.h"

namespace berth {
namespace {

using test::must;

TEST(Process, ASignalIsToldFromAnExitCodeLikeIt) {
  const auto run = [](const std::string& script) { return must(run_process({.command = {"sh", "-c", script}})); };
  EXPECT_EQ(run("kill -KILL $$").exit_code, 137);
  EXPECT_TRUE(run("kill -KILL $$").was_killed);
  EXPECT_EQ(run("exit 229").exit_code, 229);
  EXPECT_FALSE(run("exit 229").was_killed) << "as scancel does";
}

TEST(Process, OutputInputAndExitCode) {
  const ProcessOutput said = must(run_process({.command = {"sh", "-c", "cat; echo \"$BERTH_WORD\" >&2; exit 3"},
                                               .input = std::string(200000, 'x'),
                                               .environment = {{"BERTH_WORD", "word"}}}));
  EXPECT_EQ(said.output.size(), 200000u);
  EXPECT_EQ(said.error, "word\n");
  EXPECT_EQ(said.exit_code, 3);
  EXPECT_EQ(said.complaint("sh"), "sh: word");
}

TEST(Process, ADeadlineEndsItAndItsChildren) {
  const ProcessOutput said = must(run_process(
      {.command = {"sh", "-c", "sleep 30 & sleep 30; echo never"}, .deadline = std::chrono::milliseconds(100)}));
  EXPECT_TRUE(said.timed_out);
  EXPECT_FALSE(said.ok());
  EXPECT_EQ(said.output, "");
}

// A parent that ignores SIGCHLD leaves us without exit codes: none is made up.
TEST(Process, AnExitThatTheKernelDidNotKeepIsNoSuccess) {
  std::signal(SIGCHLD, SIG_IGN);
  const Result<ProcessOutput> said = run_process({.command = {"false"}});
  std::signal(SIGCHLD, SIG_DFL);
  EXPECT_EQ(said.status().code(), Code::kUnavailable);
}

TEST(Process, WhatItCannotDoIsSaid) {
  EXPECT_EQ(run_process({.command = {"no-such-program-of-berth"}}).status().code(), Code::kNotFound);
  EXPECT_EQ(run_process({.command = {"sh", "-c", "yes"}, .most_output = 1000}).status().code(), Code::kUnavailable);
  // It reads nothing: no broken pipe here.
  EXPECT_TRUE(must(run_process({.command = {"true"}, .input = std::string(1000000, 'x')})).ok());
}

TEST(Keys, AreReadAsTheyArePrinted) {
  const TaskKey task{12, 3, 0, 41};
  const LaunchKey launch{12, 3, 1};
  EXPECT_EQ(print_key("3fa9c2", task), "berth-3fa9c2-12-3-0-41");
  EXPECT_EQ(print_key("3fa9c2", launch), "berth-3fa9c2-12-3-l1");
  EXPECT_EQ(read_task_key("3fa9c2", print_key("3fa9c2", task)), task);
  EXPECT_EQ(read_launch_key("3fa9c2", print_key("3fa9c2", launch)), launch);
  const TaskKey later{12, 3, 0, 41, 0x7b};
  EXPECT_EQ(print_key("3fa9c2", later), "berth-3fa9c2g7b-12-3-0-41");
  EXPECT_EQ(read_task_key("3fa9c2", print_key("3fa9c2", later)), later);
  EXPECT_EQ(read_launch_key("3fa9c2", "berth-3fa9c2g7b-12-3-l1"), (LaunchKey{12, 3, 1, 0x7b}));
  EXPECT_TRUE(is_name_of("3fa9c2", print_key("3fa9c2", later)));
  EXPECT_FALSE(is_name_of("3fa9c", print_key("3fa9c2", later)));
  const TaskKey longest{999999999999, 9999, 99999, 99999, 0x40000000};
  EXPECT_LE(print_key("3fa9c2d1e5b7", longest).size(), 63u);
  for (const std::string_view other :
       {"berth-abc-12-3-0-41", "berth-3fa9c2-12-3-0", "berth-3fa9c2-12-3-0-x", "berth-3fa9c2-12-3-l1",
        "berth-3fa9c2-12-3-0-", "berth-3fa9c2g-12-3-0-41", "berth-3fa9c2g0-12-3-0-41", "train", ""})
    EXPECT_EQ(read_task_key("3fa9c2", other), std::nullopt) << other;
}

}  // namespace
}  // namespace berth
