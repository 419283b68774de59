#include "shell/arguments.h"

#include <gtest/gtest.h>

#include "tests/unit/shell/example_commands.h"

namespace berth {
namespace {

Arguments parse(std::string_view statement) {
  Result<CommandTable::Call> call = example::table().parse(statement);
  EXPECT_TRUE(call.ok()) << statement << ": " << call.status().message();
  return call.ok() ? std::move(call->arguments) : Arguments();
}

TEST(Arguments, BindListsOptionalsAndWords) {
  const Arguments arguments = parse("CREATE nodes a[1-4], \"b c\" TYPE t RACK r1");
  ASSERT_EQ(arguments.list("names").size(), 2U);
  EXPECT_EQ(arguments.list("names")[0].text, "a[1-4]");
  EXPECT_EQ(arguments.list("names")[1].text, "b c");
  EXPECT_EQ(arguments.text("type"), "t");
  EXPECT_FALSE(arguments.has("pool"));
  EXPECT_EQ(arguments.text_or("pool", "default"), "default");
  EXPECT_EQ(arguments.text("rack"), "r1");
  EXPECT_TRUE(arguments.has_word("NODES"));
  EXPECT_FALSE(arguments.has_word("NODE"));
  EXPECT_EQ(arguments.statement(), "CREATE nodes a[1-4], \"b c\" TYPE t RACK r1");
}

TEST(Arguments, OptionsAreTypedAndDefaulted) {
  const Arguments arguments = parse("CREATE NODE TYPE a WITH (memory = '40GiB', link = NVLINK, boot = 90s)");
  const Options& options = arguments.options();
  EXPECT_EQ(options.memory("memory"), MiB(40 * 1024));
  EXPECT_EQ(options.text("link"), "nvlink");
  EXPECT_EQ(options.duration("boot"), Seconds(90));
  EXPECT_EQ(options.cpu("cpu"), MilliCpu(1000));
  EXPECT_FALSE(options.given("cpu"));
  EXPECT_TRUE(options.has("cpu"));
  EXPECT_FALSE(options.has("model"));
  EXPECT_FALSE(options.boolean("spare"));
  EXPECT_DOUBLE_EQ(options.real("weight"), 1.0);
}

TEST(Arguments, DefaultsHoldWithoutWith) {
  const Arguments arguments = parse("CREATE NODE TYPE a");
  EXPECT_EQ(arguments.options().memory("memory"), MiB(1024));
  const Status status = arguments.options().fail("memory", Code::kInvalid, "no");
  EXPECT_FALSE(status.span().has_value());
}

TEST(Arguments, GroupsHaveTheirOwnOptions) {
  const Arguments arguments = parse(
      "SUBMIT JOB j IN QUEUE q TASKS (gpu = 8, models = (A100, H100)) TASKS (gpu = 0.5, count = 3, models = T4) WITH "
      "(user = ann)");
  ASSERT_EQ(arguments.groups("tasks").size(), 2U);
  const Options& first = arguments.groups("tasks")[0].options("task");
  const Options& second = arguments.groups("tasks")[1].options("task");
  EXPECT_EQ(first.gpu("gpu"), MilliGpu(8000));
  EXPECT_EQ(first.integer("count"), 1);
  ASSERT_EQ(first.list("models").size(), 2U);
  EXPECT_EQ(first.list("models")[1].text, "H100");
  EXPECT_EQ(second.gpu("gpu"), MilliGpu(500));
  EXPECT_EQ(second.integer("count"), 3);
  EXPECT_EQ(second.list("models").size(), 1U);
  EXPECT_EQ(arguments.options().text("user"), "ann");
  EXPECT_TRUE(arguments.has("tasks"));
}

TEST(Arguments, AlternativesInsideGroups) {
  const Arguments arguments = parse("SIMULATE USING fifo + berth, fgd INTO run1");
  const std::vector<Arguments>& pairs = arguments.groups("pairs");
  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_EQ(pairs[0].text("order"), "fifo");
  EXPECT_EQ(pairs[0].text("score"), "berth");
  EXPECT_FALSE(pairs[1].has("order"));
  EXPECT_EQ(pairs[1].text("score"), "fgd");
}

TEST(Arguments, RestIsTheTextAsTyped) {
  const Arguments arguments = parse("SELECT  a, 'x  y' -- why\n FROM t");
  EXPECT_EQ(arguments.text("query"), "a, 'x  y' -- why\n FROM t");
}

TEST(Arguments, ErrorsPointAtArguments) {
  const Arguments arguments = parse("DROP NODE n17");
  const Status status = arguments.fail("name", Code::kNotFound, "unknown node 'n17'", "did you mean 'n16'?");
  EXPECT_EQ(status.span()->offset, 10U);
  EXPECT_EQ(status.span()->length, 3U);
}

}  // namespace
}  // namespace berth
